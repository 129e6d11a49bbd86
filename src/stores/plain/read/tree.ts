import type { Session } from "../../../protocol/index.ts"
import { type PlainSession, type PlainState, sessionInfo } from "../model.ts"
import { ancestors, findVisible, inOrder } from "./find.ts"
import { copyJson } from "./json.ts"

export function readTree(state: PlainState, rootID: string): Session[] {
  const visible = withDescendants(state, findVisible(state, rootID)).filter((session) => !session.importing)
  return copyJson(visible.map(sessionInfo))
}

export function readParents(state: PlainState, sessionID: string): Session[] {
  const above = ancestors(state, findVisible(state, sessionID)).map((id) => state.sessions.get(id))
  return copyJson(above.filter((session) => session !== undefined).map(sessionInfo))
}

/** The session and its children, and theirs, in order of creation, and each parent before its children. */
export function withDescendants(state: PlainState, root: PlainSession): PlainSession[] {
  const children = childrenByParent(state)
  const places = new Map([[root, root.serial]])
  for (const [session, place] of places) {
    for (const child of children.get(session.info.id) ?? []) {
      // A parent that was taken in anew, after its file was lost, has a higher serial than its children.
      if (!places.has(child)) places.set(child, Math.max(child.serial, place))
    }
  }
  return [...places].sort(([, a], [, b]) => a - b).map(([session]) => session)
}

function childrenByParent(state: PlainState): Map<string | undefined, PlainSession[]> {
  return Map.groupBy(inOrder(state), (session) => session.info.parentID)
}
