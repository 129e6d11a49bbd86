import type { Row } from "../../protocol/index.ts"
import { reduceRow } from "./reduce.ts"
import { emptyView, type SessionView } from "./view.ts"

/** The views of all sessions in a tree or a directory, by session id. Removed ones stay, marked, so that no old row brings them back. */
export type Forest = Map<string, SessionView>

export function emptyForest(): Forest {
  return new Map()
}

/** Puts a row into the view of its session, made if need be. Gives that view if it changed. */
export function reduceForest(forest: Forest, row: Row): SessionView | undefined {
  const known = forest.get(row.sessionID)
  const view = known ?? emptyView()
  if (!known) forest.set(row.sessionID, view)
  return reduceRow(view, row) ? view : undefined
}
