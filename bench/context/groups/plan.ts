import type { HistoryItem } from "../../../src/protocol/index.ts"
import { tailTokensOf } from "../../../src/run/context/context-window.ts"
import type { HistoryMemo } from "../../../src/run/context/history-memo.ts"
import { nextSize } from "../../../src/run/context/next-call-tokens.ts"
import { planPrune, planTail } from "../../../src/session/index.ts"
import type { Bench } from "../../bench.ts"
import { interleave } from "../../measure.ts"
import { assistantMessage } from "../../store/content.ts"
import { asItem, importHistory } from "../long-history.ts"
import { makeScene, openMemo, type Scene, window } from "../scene.ts"

const runs = 20

/** How a run finds out whether there is room, and where a compaction would cut; the context is built already. */
export async function benchPlan(bench: Bench): Promise<void> {
  const messages = bench.quick ? 2_000 : 100_000
  const [few, many] = bench.quick ? [20, 200] : [200, 2_000]
  await using scene = await makeScene()
  bench.progress(`imports ${messages.toLocaleString("en-US")} messages`)
  const open = (hidden: number, kept: number) => openShown(scene, hidden, kept)
  const memos = {
    few: await open(0, few!),
    many: await open(0, many!),
    hidden: await open(messages - many!, many!),
    refused: withOpen(await open(0, many!), scene),
    pruned: withOpen(await open(0, many!), scene, { hasPrune: true }),
  }
  const ways = Object.entries(memos).map(([name, memo]) => [name, () => repeat(() => plan(memo))])
  const timings = await interleave(Object.fromEntries(ways) as Record<keyof typeof memos, () => void>, {
    rounds: bench.quick ? 5 : 40,
    warmUpRounds: 10,
    batch: 1,
  })
  const us = (name: keyof typeof memos) => (timings[name].medianMs * 1000) / runs
  const count = many!.toLocaleString("en-US")
  const p90 = (name: keyof typeof memos) => (timings[name].p90Ms * 1000) / runs
  const add = (name: string, way: keyof typeof memos, rest: { raw: number; timesRawAtMost: number }) => {
    const { raw, timesRawAtMost } = rest
    bench.add({ name, value: us(way), p90: p90(way), raw, unit: "us", target: { timesRawAtMost } })
  }
  const behind = (messages - many!).toLocaleString("en-US")
  add(`plan with ${count} shown and ${behind} hidden, beside none hidden`, "hidden", {
    raw: us("many"),
    timesRawAtMost: 1.3,
  })
  add(`plan with ${count} shown, beside ${few}`, "many", { raw: us("few"), timesRawAtMost: 12 })
  add("plan when the provider has refused the call, beside before it", "refused", {
    raw: us("many"),
    timesRawAtMost: 2,
  })
  add("plan when it has refused it in spite of a prune, beside before it", "pruned", {
    raw: us("many"),
    timesRawAtMost: 2,
  })
}

async function openShown(scene: Scene, hidden: number, kept: number): Promise<HistoryMemo> {
  const memo = await openMemo(scene.store, await importHistory(scene.store, scene, { hidden, kept }))
  memo.context({})
  return memo
}

/** The open message for the answer, which is empty except for prunes of earlier output. */
function withOpen(memo: HistoryMemo, { ids }: Scene, { hasPrune = false } = {}): HistoryMemo {
  const calls = memo.items.flatMap(({ parts }) => parts).filter((part) => part.type === "tool")
  const prune = hasPrune ? { prune: { time: 1, parts: calls.slice(0, 5).map(({ id }) => id) } } : {}
  const parts = [{ id: ids.next("part"), type: "step-start" as const, ...prune }]
  const item: HistoryItem = asItem(
    { message: assistantMessage(ids, memo.last!.message.id), parts },
    memo.count,
  )
  memo.add({ ...item, sealed: false })
  return memo
}

function repeat(work: () => unknown): void {
  for (let i = 0; i < runs; i++) work()
}

/** The same questions in the same order as in a run that has no room. */
function plan(memo: HistoryMemo): number {
  const { tokens } = nextSize({ memo, shown: {}, prompts: [], overhead: () => 3_000 })
  const { start, pruned } = memo.base
  const items = memo.sealed.slice(start)
  planPrune(items, { isPruned: (id) => pruned.has(id) })
  const tailTokens = tailTokensOf(window)
  let sum = tokens
  for (const share of [1, 1 / 4]) {
    const cut = planTail(items, {
      tailTokens: Math.floor(tailTokens * share),
      stepTokensMax: window.limit / 2,
      tokensAt: (index) => memo.tokensAt(start + index),
    })
    for (let index = cut; index < items.length; index++) sum += memo.tokensAt(start + index)
  }
  return sum
}
