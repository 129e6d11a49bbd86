import { noLeftTail, noMessage, noSession } from "../../refusals.ts"
import type { PlainMessage, PlainSession, PlainState, PlainTail } from "../model.ts"

/** A session that is in the store, also while it is being imported. */
export function findSession(state: PlainState, sessionID: string): PlainSession {
  const session = state.sessions.get(sessionID)
  if (session) return session
  throw noSession(sessionID)
}

/** A session that everybody sees. */
export function findVisible(state: PlainState, sessionID: string): PlainSession {
  const session = state.sessions.get(sessionID)
  if (session && !session.importing) return session
  throw noSession(sessionID)
}

export function findPosition(session: PlainSession, messageID: string): number {
  const position = session.positions.get(messageID)
  if (position === undefined) throw noMessage(session.info.id, messageID)
  return position
}

export function findTail(session: PlainSession, segment: string): PlainTail {
  const tail = session.left.find((candidate) => candidate.segment === segment)
  if (tail) return tail
  throw noLeftTail(session.info.id, segment)
}

/** The last message, if it is open. */
export function openMessage(session: PlainSession): PlainMessage | undefined {
  const last = session.messages.at(-1)
  return last && !last.sealed ? last : undefined
}

/** All sessions in order of creation. */
export function inOrder(state: PlainState): PlainSession[] {
  return [...state.sessions.values()].sort((a, b) => a.serial - b.serial)
}

/** The ids above a session, from its parent upward. */
export function ancestors(state: PlainState, session: PlainSession): string[] {
  const ids = new Set([session.info.id])
  let parentID = session.info.parentID
  // Files that somebody edited may name each other as parents.
  while (parentID !== undefined && !ids.has(parentID)) {
    ids.add(parentID)
    parentID = state.sessions.get(parentID)?.info.parentID
  }
  return [...ids].slice(1)
}
