import { describe, expect, test } from "vitest"
import type { PartOf, ToolState } from "../../protocol/index.ts"
import { completed, failed, part, pending, running, text, tool } from "../samples.ts"
import { interruptTool } from "./interrupt.ts"
import { prunedNotice, prunedParts, toolPairs } from "./tool-pairs.ts"

function pairOf(state: ToolState, isPruned = false) {
  return toolPairs({ isPruned: () => isPruned })(tool("prt_a", state) as PartOf<"tool">)
}

describe("a call and its result", () => {
  test("have the same call id", () => {
    expect(pairOf(completed("out"))).toEqual({
      call: { type: "tool-call", callID: "call_prt_a", tool: "read", input: { path: "a.ts" } },
      result: { type: "tool-result", callID: "call_prt_a", tool: "read", isError: false, output: "out" },
    })
    expect(pairOf(failed).result).toMatchObject({ isError: true, output: "no such file" })
  })

  test("are a pair even if there never was a result", () => {
    for (const state of [pending, running]) {
      expect(pairOf(state).result).toMatchObject({
        isError: true,
        output: expect.stringContaining("interrupted"),
      })
    }
  })

  test("get a unique call id if another call has the same one", () => {
    const pair = toolPairs({ isPruned: () => false })
    const named = ["x", "x", "x_2", "x"].map((callID) =>
      pair(tool("prt_a", failed, { callID }) as PartOf<"tool">),
    )
    expect(named.map(({ call }) => call.callID)).toEqual(["x", "x_2", "x_2_2", "x_3"])
    expect(named.map(({ result }) => result.callID)).toEqual(["x", "x_2", "x_2_2", "x_3"])
  })

  test("include the files that the tool returned", () => {
    const file = { type: "file", mime: "image/png", url: "data:," } as const
    const state = { ...completed("out"), attachments: [{ ...file, id: "prt_x" }] } as ToolState
    expect(pairOf(state).result.attachments).toEqual([file])
    expect(pairOf(state, true).result).not.toHaveProperty("attachments")
  })

  test("hide output that was pruned, here or before an import, but never an error", () => {
    const elsewhere = { ...completed("long"), time: { start: 1, end: 2, compacted: 3 } } as ToolState
    expect(pairOf(elsewhere).result.output).toBe(prunedNotice)
    expect(pairOf(completed("long"), true).result.output).toBe(prunedNotice)
    expect(pairOf(failed, true).result.output).toBe("no such file")
  })
})

test("prune marks are found in every step-start part", () => {
  const mark = (id: string, ...parts: string[]) => part("step-start", id, { prune: { time: 1, parts } })
  const parts = [
    text("prt_a", "x"),
    mark("prt_b", "prt_1"),
    part("step-start", "prt_c", {}),
    mark("prt_d", "prt_2", "prt_1"),
  ]
  expect([...prunedParts(parts)]).toEqual(["prt_1", "prt_2"])
})

test("an interrupted call is settled and a settled one stays", () => {
  expect(interruptTool(pending, 9)).toMatchObject({ status: "error", input: {}, time: { start: 9, end: 9 } })
  expect(interruptTool(running, 9)).toMatchObject({
    status: "error",
    input: { path: "a.ts" },
    time: { start: 5, end: 9 },
  })
  expect(interruptTool(running, 1)).toMatchObject({ time: { start: 5, end: 5 } })
  expect(interruptTool(failed, 9)).toBe(failed)
})
