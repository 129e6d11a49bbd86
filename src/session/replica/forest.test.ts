import { expect, test } from "vitest"
import type { Row } from "../../protocol/index.ts"
import { session } from "../samples.ts"
import { emptyForest, reduceForest } from "./forest.ts"

function row(sessionID: string, version: number): Row {
  return { type: "session", version, sessionID, session: session({}, { id: sessionID }) }
}

test("a forest has a view for each session that it got a row of", () => {
  const forest = emptyForest()
  const root = reduceForest(forest, row("ses_root", 1))
  const child = reduceForest(forest, row("ses_child", 2))
  expect(reduceForest(forest, row("ses_root", 1))).toBeUndefined()
  expect(reduceForest(forest, row("ses_root", 3))).toBe(root)
  expect([...forest.entries()]).toEqual([
    ["ses_root", root],
    ["ses_child", child],
  ])
})

test("a removed session is not brought back by an old row", () => {
  const forest = emptyForest()
  reduceForest(forest, row("ses_root", 1))
  reduceForest(forest, {
    type: "removed",
    version: 5,
    sessionID: "ses_root",
    directory: "/home/user/project",
  })
  expect(reduceForest(forest, row("ses_root", 4))).toBeUndefined()
  expect(forest.get("ses_root")!.removed).toBe(true)
})
