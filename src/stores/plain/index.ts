export { applyCommit } from "./apply.ts"
export { type Applied, applyChange, Change, type Touched } from "./change.ts"
export { changedRows, readChanges } from "./changes.ts"
export { checkState } from "./check.ts"
export { abandonedImports, type CollectedState, collectState, type KnownBlob } from "./collect.ts"
export { ancestors, findPosition, findSession, findVisible, inOrder, openMessage } from "./find.ts"
export { admitItem } from "./inbox.ts"
export { copyJson } from "./json.ts"
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
export { newestNotes, notesOf, notesUpTo } from "./note.ts"
export { readHistory, readInbox, readPermissions, readSession, readSessions, readTodos } from "./read.ts"
export { type RedactionMade, redactContent } from "./redact.ts"
export { messageBlobs, type RemovalMade, referencedBlobs, removeSession, unreferenced } from "./remove.ts"
export { searchSessions } from "./search.ts"
export { readParents, readTree, withDescendants } from "./tree.ts"
