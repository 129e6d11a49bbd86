import { noLeftTail, noMessage, noSession } from "../../refusals.ts"
import type { PlainMessage, PlainSession, PlainState, PlainTail } from "../model.ts"

/** Returns a session, also while it is being imported. `not_found` if it does not exist. */
export function findSession(state: PlainState, sessionID: string): PlainSession {
  const session = state.sessions.get(sessionID)
  if (session) return session
  throw noSession(sessionID)
}

/** Returns a visible session. `not_found` if it does not exist or is being imported. */
export function findVisible(state: PlainState, sessionID: string): PlainSession {
  const session = state.sessions.get(sessionID)
  if (session && !session.importing) return session
  throw noSession(sessionID)
}

/** Returns the position of a message in the present history. `not_found` if the history does not have it. */
export function findPosition(session: PlainSession, messageID: string): number {
  const position = session.positions.get(messageID)
  if (position === undefined) throw noMessage(session.info.id, messageID)
  return position
}

/** Returns a left tail of the session. `not_found` if there is none for this segment. */
export function findTail(session: PlainSession, segment: string): PlainTail {
  const tail = session.left.find((candidate) => candidate.segment === segment)
  if (tail) return tail
  throw noLeftTail(session.info.id, segment)
}

/** Returns the last message if it is open. */
export function openMessage(session: PlainSession): PlainMessage | undefined {
  const last = session.messages.at(-1)
  return last && !last.sealed ? last : undefined
}

/** Returns all sessions in order of creation. */
export function sessionsInOrder(state: PlainState): PlainSession[] {
  return [...state.sessions.values()].sort((a, b) => a.serial - b.serial)
}

/** Returns the ids of a session's ancestors, from its parent upward. */
export function ancestors(state: PlainState, session: PlainSession): string[] {
  const ids = new Set([session.info.id])
  let parentID = session.info.parentID
  // Sessions in files that were edited by hand may name each other as parents.
  while (parentID !== undefined && !ids.has(parentID)) {
    ids.add(parentID)
    parentID = state.sessions.get(parentID)?.info.parentID
  }
  return [...ids].slice(1)
}
