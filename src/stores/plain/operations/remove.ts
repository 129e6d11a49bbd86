import type { InboxItem } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import { keptSessionsMax } from "../../limits.ts"
import type { Removal } from "../../store.ts"
import { type Applied, applyChange, type Change } from "../change.ts"
import { namesOf, type PlainMessage, type PlainSession, type PlainState, reachedLists } from "../model.ts"
import { ancestors, findSession, sessionsInOrder } from "../read/find.ts"
import { withDescendants } from "../read/tree.ts"

/** A removal that was applied, and the blobs that nothing refers to any more. */
export interface RemovalMade {
  applied: Applied
  removal: Omit<Removal, "blobs">
  freedBlobs: string[]
}

export function removeSession(state: PlainState, sessionID: string, options: { nowMs: number }): RemovalMade {
  const removed = withDescendants(state, findSession(state, sessionID))
  const removedMessages = messagesByOrigin(removed)
  const inboxes = removed.flatMap((session) => session.inbox)
  const applied = applyChange(state, (change) => {
    // Children are removed before their parents, so that the ancestors of each session can still be recorded.
    for (const session of removed.toReversed()) removeOne(change, session, options)
    change.removed.reverse()
  })
  const kept = new Set<string>()
  const sharingSessions: string[] = []
  for (const session of sessionsInOrder(state)) {
    const shared = reachedLists(session)
      .flat()
      .filter((message) => removedMessages.has(message.origin))
    for (const message of shared) kept.add(message.origin)
    if (shared.length > 0) sharingSessions.push(session.info.id)
  }
  for (const origin of kept) removedMessages.delete(origin)
  return {
    applied,
    removal: {
      sessions: applied.removed,
      messages: removedMessages.size,
      kept: { messages: kept.size, sessions: sharingSessions.slice(0, keptSessionsMax) },
    },
    freedBlobs: unreferencedBlobs(state, [...messageBlobs(removedMessages.values()), ...inboxBlobs(inboxes)]),
  }
}

/** Returns every message that the sessions reach, once. */
function messagesByOrigin(sessions: PlainSession[]): Map<string, PlainMessage> {
  const messages = new Map<string, PlainMessage>()
  for (const session of sessions) {
    for (const message of reachedLists(session).flat()) messages.set(message.origin, message)
  }
  return messages
}

/**
 * Removes one session. An import that was never published leaves no record, so that the import can start again with the
 * same id.
 */
function removeOne(change: Change, session: PlainSession, options: { nowMs: number }): void {
  const { state, undo } = change
  const { id, parentID, directory } = session.info
  if (!session.importing) {
    undo.mapSet(state.tombstones, id, {
      sessionID: id,
      serial: session.serial,
      version: change.version,
      parentID,
      directory,
      ancestors: ancestors(state, session),
      time: options.nowMs,
    })
  }
  for (const name of namesOf(session.info)) undo.mapDelete(state.names, name)
  undo.mapDelete(state.sessions, id)
  change.removed.push(id)
}

export function messageBlobs(messages: Iterable<PlainMessage>): Set<string> {
  const hashes = new Set<string>()
  for (const message of messages) {
    for (const part of message.parts) for (const hash of blobRefs(part.body)) hashes.add(hash)
  }
  return hashes
}

function inboxBlobs(items: InboxItem[]): Set<string> {
  return new Set(items.flatMap((item) => (item.type === "prompt" ? item.parts.flatMap(blobRefs) : [])))
}

/** Returns all blobs that messages and inbox items refer to. */
export function referencedBlobs(state: PlainState): Set<string> {
  const hashes = new Set<string>()
  for (const session of state.sessions.values()) {
    for (const hash of messageBlobs(reachedLists(session).flat())) hashes.add(hash)
    for (const hash of inboxBlobs(session.inbox)) hashes.add(hash)
  }
  return hashes
}

/** Returns the given blobs that nothing refers to, each once. */
export function unreferencedBlobs(state: PlainState, hashes: Iterable<string>): string[] {
  const candidates = new Set(hashes)
  if (candidates.size === 0) return []
  const referenced = referencedBlobs(state)
  return [...candidates].filter((hash) => !referenced.has(hash))
}
