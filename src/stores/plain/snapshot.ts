import { keyName, type PlainSession, type PlainState, reachedLists } from "./model.ts"

/** A session as JSON data, for a driver that keeps it elsewhere. */
export type SessionSnapshot = Omit<PlainSession, "positions" | "taken"> & {
  taken: [id: string, item: { hash: string; time: number }][]
}

export function takeSnapshot(session: PlainSession): SessionSnapshot {
  const { positions: _positions, taken, ...rest } = session
  return { ...rest, taken: [...taken] }
}

/** Puts a session into the state as it was when the snapshot was taken, in place of the one that is there. */
export function putSession(state: PlainState, snapshot: SessionSnapshot): PlainSession {
  const session: PlainSession = {
    ...snapshot,
    positions: new Map(snapshot.messages.map((message, position) => [message.body.id, position])),
    taken: new Map(snapshot.taken),
  }
  dropSession(state, session.info.id)
  const key = keyName(session.info)
  if (key !== undefined) state.keys.set(key, session.info.id)
  for (const segment of usedSegments(session)) state.segments.add(segment)
  state.sessions.set(session.info.id, session)
  state.version = Math.max(state.version, session.newest)
  return session
}

/** Forgets a session, as if it had never been put; its segments stay in use. */
export function dropSession(state: PlainState, sessionID: string): void {
  const session = state.sessions.get(sessionID)
  if (!session) return
  const key = keyName(session.info)
  if (key !== undefined && state.keys.get(key) === sessionID) state.keys.delete(key)
  state.sessions.delete(sessionID)
}

/** The session's own segments and those that its messages were written in. */
function usedSegments(session: PlainSession): Set<string> {
  const segments = new Set([session.segment, ...session.left.map((tail) => tail.segment)])
  for (const messages of reachedLists(session)) {
    for (const { origin } of messages) segments.add(origin.slice(0, origin.lastIndexOf("/")))
  }
  return segments
}
