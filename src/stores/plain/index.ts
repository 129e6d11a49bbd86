export { applyCommit } from "./apply.ts"
export { type Applied, applyChange, Change, type ChangedSession } from "./change.ts"
export { checkState } from "./check.ts"
export { abandonedImports, type CollectedState, collectState, type KnownBlob } from "./collect.ts"
export {
  type Claimant,
  checkFence,
  claimLease,
  isHeldByOther,
  liveLease,
  releaseLease,
  renewLease,
} from "./lease.ts"
export * from "./model.ts"
export { admitItem } from "./operations/inbox.ts"
export { newestNotes, notesOf, notesUpTo } from "./operations/note.ts"
export { type RedactionMade, redactContent } from "./operations/redact.ts"
export {
  messageBlobs,
  type RemovalMade,
  referencedBlobs,
  removeSession,
  unreferencedBlobs,
} from "./operations/remove.ts"
export { changedRows, readChanges } from "./read/changes.ts"
export {
  ancestors,
  findPosition,
  findSession,
  findVisible,
  openMessage,
  sessionsInOrder,
} from "./read/find.ts"
export { copyJson } from "./read/json.ts"
export { readHistory, readInbox, readPermissions, readSession, readSessions, readTodos } from "./read/read.ts"
export { searchSessions } from "./read/search.ts"
export { readParents, readTree, withDescendants } from "./read/tree.ts"
