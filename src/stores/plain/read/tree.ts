import type { Session } from "../../../protocol/index.ts"
import { type PlainSession, type PlainState, sessionInfo } from "../model.ts"
import { ancestors, findVisible, sessionsInOrder } from "./find.ts"
import { copyJson } from "./json.ts"

export function readTree(state: PlainState, rootID: string): Session[] {
  const visible = withDescendants(state, findVisible(state, rootID)).filter((session) => !session.importing)
  return copyJson(visible.map(sessionInfo))
}

export function readParents(state: PlainState, sessionID: string): Session[] {
  const above = ancestors(state, findVisible(state, sessionID)).map((id) => state.sessions.get(id))
  return copyJson(above.filter((session) => session !== undefined).map(sessionInfo))
}

/** Returns the session and all its descendants in order of creation, each parent before its children. */
export function withDescendants(state: PlainState, root: PlainSession): PlainSession[] {
  const children = childrenByParent(state)
  const orderBySession = new Map([[root, root.serial]])
  for (const [session, order] of orderBySession) {
    for (const child of children.get(session.info.id) ?? []) {
      // A parent whose state file was lost and that was adopted again has a higher serial than its children.
      if (!orderBySession.has(child)) orderBySession.set(child, Math.max(child.serial, order))
    }
  }
  return [...orderBySession].sort(([, a], [, b]) => a - b).map(([session]) => session)
}

function childrenByParent(state: PlainState): Map<string | undefined, PlainSession[]> {
  return Map.groupBy(sessionsInOrder(state), (session) => session.info.parentID)
}
