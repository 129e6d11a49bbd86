import { expect, test } from "vitest"
import { type Message, noTokens, type Row } from "../../protocol/index.ts"
import { inEventOrder } from "./row-order.ts"

const sessionID = "ses_1"

function messageRow(version: number, position: number, sealed: boolean): Row {
  const message: Message = {
    id: `msg_${position}`,
    sessionID,
    role: "assistant",
    time: { created: 1 },
    parentID: "msg_0",
    modelID: "demo-1",
    providerID: "demo",
    agent: "build",
    path: { cwd: "/project", root: "/" },
    cost: 0,
    tokens: noTokens(),
  }
  return { type: "message", version, sessionID, position, sealed, parts: 1, message }
}

function partRow(version: number, position: number, { index = 0 } = {}): Row {
  const part = {
    id: `prt_${index}`,
    type: "text" as const,
    text: "",
    sessionID,
    messageID: `msg_${position}`,
  }
  return { type: "part", version, sessionID, position, index, part }
}

const history = (version: number): Row => ({ type: "history", version, sessionID, epoch: 1, keep: 0 })
const short = (row: Row) => `${row.type}${"position" in row ? ` ${row.position}` : ""} v${row.version}`

test("a message comes before its parts, its end after them, and messages are in order of position", () => {
  const rows = [partRow(1, 0), messageRow(2, 0, true), partRow(3, 1), messageRow(4, 1, false)]
  expect(inEventOrder(rows).map(short)).toEqual(["part 0 v1", "message 0 v2", "message 1 v4", "part 1 v3"])
})

test("parts are in order of index, not in order of change", () => {
  const rows = [messageRow(1, 0, false), ...[2, 0, 1].map((index, at) => partRow(at + 1, 0, { index }))]
  const indexes = inEventOrder(rows).flatMap((row) => (row.type === "part" ? [row.index] : []))
  expect(indexes).toEqual([0, 1, 2])
})

test("rows from before a history move stay before it", () => {
  const rows = [messageRow(1, 5, false), partRow(2, 5), history(3), messageRow(4, 0, false), partRow(4, 0)]
  expect(inEventOrder(rows).map(short)).toEqual([
    "message 5 v1",
    "part 5 v2",
    "history v3",
    "message 0 v4",
    "part 0 v4",
  ])
})
