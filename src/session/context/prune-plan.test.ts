import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { HistoryItem, Part, ToolState } from "../../protocol/index.ts"
import { assistant, completed, failed, history, part, running, text, tool, user } from "../samples.ts"
import { estimateTokens } from "../usage/tokens.ts"
import { type PruneLimits, planPrune, prunedTimes, standardPruneLimits } from "./prune-plan.ts"

/** One turn for each list: a prompt, and a step with these calls. */
function turns(...calls: Part[][]): HistoryItem[] {
  return history(
    ...calls.flatMap(
      (parts, at): Parameters<typeof history> => [
        [user(`msg_u${at}`), text(`prt_u${at}`, "more")],
        [assistant(`msg_a${at}`), ...parts],
      ],
    ),
  )
}

const words = (count: number) => "word ".repeat(count)
const call = (id: string, count: number, fields: { tool?: string } = {}) =>
  tool(id, completed(words(count)), fields)
const none = () => false
const limits: PruneLimits = { protectTokens: 100, minimumTokens: 50 }
const plan = (items: HistoryItem[], isPruned: (id: string) => boolean = none) =>
  planPrune(items, { isPruned, limits })?.parts

describe("a prune", () => {
  test("hides output older than the newest protectTokens tokens, oldest first", () => {
    const items = turns([call("a", 200), call("b", 200)], [call("c", 40)], [call("d", 40)], [])
    expect(plan(items)).toEqual(["a", "b"])
    expect(planPrune(items, { isPruned: none, limits })!.tokens).toBe(2 * estimateTokens(words(200)))
  })

  test("leaves the last two turns alone, however long their output is", () => {
    expect(plan(turns([call("a", 900)], [call("b", 900)]))).toBeUndefined()
    expect(plan(turns([call("a", 900)], [call("b", 900)], []))).toEqual(["a"])
    // A synthetic prompt after a compaction does not begin a turn.
    const items = turns([call("a", 900)], [call("b", 900)])
    items.push(...history([user("msg_go"), text("prt_go", "Go on.", { synthetic: true })]))
    expect(plan(items)).toBeUndefined()
  })

  test("leaves skills, errors, unfinished calls and output that is already hidden", () => {
    const others = [call("skill", 900, { tool: "skill" }), tool("failed", failed), tool("running", running)]
    const before = { ...completed(words(900)), time: { start: 1, end: 2, compacted: 3 } } as ToolState
    const items = turns([...others, tool("before", before), call("a", 900)], [call("b", 90)], [], [])
    expect(plan(items)).toEqual(["a"])
    expect(plan(items, (id) => id === "a")).toBeUndefined()
  })

  test("is not planned when it would free too few tokens", () => {
    const items = turns([call("a", 40)], [call("b", 100)], [], [])
    expect(plan(items)).toBeUndefined()
  })

  test("protects 40,000 tokens and frees at least 20,000 by default", () => {
    expect(standardPruneLimits).toEqual({ protectTokens: 40_000, minimumTokens: 20_000 })
    const some = turns([call("a", 19_000)], [call("b", 40_000)], [], [])
    expect(planPrune(some, { isPruned: none })).toBeUndefined()
    const more = turns([call("a", 21_000)], [call("b", 40_000)], [], [])
    expect(planPrune(more, { isPruned: none })?.parts).toEqual(["a"])
  })

  test("never hides the newest output that it protects, nor the same twice", () => {
    const sizes = fc.array(fc.array(fc.nat(200), { maxLength: 3 }), { maxLength: 12 })
    fc.assert(
      fc.property(sizes, (drawn) => {
        const items = turns(
          ...drawn.map((counts, turn) => counts.map((count, at) => call(`prt_${turn}_${at}`, count))),
        )
        const first = planPrune(items, { isPruned: none, limits })
        if (!first) return
        expect(first.tokens).toBeGreaterThan(limits.minimumTokens)
        const outputs = items.flatMap(({ parts }) => parts.flatMap(outputOf))
        const last = outputs.findLastIndex(({ id }) => id === first.parts.at(-1))
        const newer = outputs.slice(last).reduce((sum, { output }) => sum + estimateTokens(output), 0)
        expect(newer).toBeGreaterThan(limits.protectTokens)
        const again = planPrune(items, { isPruned: (id) => first.parts.includes(id), limits })
        for (const id of again?.parts ?? []) expect(first.parts).not.toContain(id)
      }),
    )
  })
})

function outputOf(each: Part): { id: string; output: string }[] {
  if (each.type !== "tool" || each.state.status !== "completed") return []
  return [{ id: each.id, output: each.state.output }]
}

test("the time when output was hidden is the time of the first mark that hides it", () => {
  const items = history(
    [assistant("msg_a"), part("step-start", "s1", { prune: { time: 5, parts: ["a"] } })],
    [assistant("msg_b"), part("step-start", "s2", { prune: { time: 9, parts: ["a", "b"] } })],
  )
  expect([...prunedTimes(items)]).toEqual([
    ["a", 5],
    ["b", 9],
  ])
})
