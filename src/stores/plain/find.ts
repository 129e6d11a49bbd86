import { StemmaError } from "../../protocol/index.ts"
import type { PlainMessage, PlainSession, PlainState, PlainTail } from "./model.ts"

/** A session that is in the store, also while it is being imported. */
export function findSession(state: PlainState, sessionID: string): PlainSession {
  const session = state.sessions.get(sessionID)
  if (session) return session
  throw new StemmaError(
    "not_found",
    `There is no session ${sessionID}. Check the id, or list the sessions.`,
    {
      details: { sessionID },
    },
  )
}

/** A session that everybody sees. */
export function findVisible(state: PlainState, sessionID: string): PlainSession {
  const session = findSession(state, sessionID)
  if (!session.importing) return session
  throw new StemmaError("not_found", `Session ${sessionID} is still being imported. Publish it first.`, {
    details: { sessionID },
  })
}

export function findPosition(session: PlainSession, messageID: string): number {
  const position = session.positions.get(messageID)
  if (position === undefined) throw noMessage(session, messageID)
  return position
}

export function noMessage(session: PlainSession, messageID: string): StemmaError {
  const sessionID = session.info.id
  return new StemmaError(
    "not_found",
    `There is no message ${messageID} in session ${sessionID}. Read the history for the ids it has.`,
    { details: { sessionID, messageID } },
  )
}

export function findTail(session: PlainSession, segment: string): PlainTail {
  const tail = session.left.find((candidate) => candidate.segment === segment)
  if (tail) return tail
  throw new StemmaError(
    "not_found",
    `Session ${session.info.id} left no tail ${segment}. Its history.left lists the tails it has.`,
    { details: { sessionID: session.info.id, left: segment } },
  )
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
  const ids: string[] = []
  let parentID = session.info.parentID
  while (parentID !== undefined) {
    ids.push(parentID)
    parentID = state.sessions.get(parentID)?.info.parentID
  }
  return ids
}
