import type { HistoryItem } from "../../../src/protocol/index.ts"
import { HistoryMemo, type MemoContextOptions } from "../../../src/run/context/history-memo.ts"
import { nextSize } from "../../../src/run/context/next-call-tokens.ts"
import type { Bench } from "../../bench.ts"
import type { Target } from "../../figure.ts"
import { interleave, type Timing } from "../../measure.ts"
import { finished } from "../../store/content.ts"
import { importHistory, makeItems } from "../long-history.ts"
import { makeScene, openMemo, type Scene } from "../scene.ts"

const stepRuns = 10

/** The context as a whole, and what a step adds to it. */
export async function benchBuild(bench: Bench): Promise<void> {
  const [few, many] = bench.quick ? [20, 200] : [200, 2_000]
  await using scene = await makeScene()
  const counts = { few: few!, many: many! }
  await benchWhole(bench, scene, counts)
  await benchSteps(bench, scene, { ...counts, name: "a step's context", shown: {} })
  const keepsFirst = { keepsFirst: true }
  await benchSteps(bench, scene, { ...counts, name: "the same, the first prompt kept", shown: keepsFirst })
  const maxHistory = bench.quick ? 15 : 100
  await benchSteps(bench, scene, {
    ...counts,
    name: `the same, trimmed to ${maxHistory}`,
    shown: { maxHistory },
  })
}

interface Counts {
  few: number
  many: number
}

async function benchWhole(bench: Bench, { ids, texts }: Scene, { few, many }: Counts): Promise<void> {
  const build = (items: readonly HistoryItem[]) => () => {
    const memo = new HistoryMemo()
    for (const item of items) memo.add(item)
    memo.context({})
  }
  const timings = await interleave(
    { few: build(makeItems(ids, texts, few)), many: build(makeItems(ids, texts, many)) },
    { rounds: bench.quick ? 5 : 40, warmUpRounds: 10, batch: 1 },
  )
  addBeside(bench, `build and estimate the context of ${many.toLocaleString("en-US")}, beside ${few}`, {
    timings,
    runs: 1,
    target: { timesRawAtMost: 12 },
  })
}

/** After a compaction, as in every long session. */
async function benchSteps(
  bench: Bench,
  scene: Scene,
  { few, many, name, shown }: Counts & { name: string; shown: MemoContextOptions },
): Promise<void> {
  const steps = async (kept: number) => {
    const { store, ids, texts } = scene
    const sessionID = await importHistory(store, scene, { hidden: few, kept })
    const memo = await openMemo(store, sessionID)
    await memo.readFirst(store, sessionID)
    const more = makeItems(ids, texts, 2_000).map(counted)
    memo.context(shown)
    return () => {
      for (let i = 0; i < stepRuns; i++) oneStep(memo, more.pop()!, shown)
    }
  }
  const timings = await interleave(
    { few: await steps(few), many: await steps(many) },
    { rounds: bench.quick ? 5 : 20, warmUpRounds: 5, batch: 1 },
  )
  addBeside(bench, `${name}, ${many.toLocaleString("en-US")} shown, beside ${few}`, {
    timings,
    runs: stepRuns,
    target: { overRawAtMost: 10 },
  })
}

/** An open message, the size of its call, the context for it, and the message as it was sealed. */
function oneStep(memo: HistoryMemo, item: HistoryItem, shown: MemoContextOptions): void {
  memo.add({ ...item, sealed: false, parts: [] })
  nextSize({ memo, shown, prompts: [], overhead: () => 3_000 })
  memo.context(shown)
  memo.replaceLast(item)
}

/** As the provider counts every call of a run. */
function counted(item: HistoryItem): HistoryItem {
  if (item.message.role === "user") return item
  return { ...item, message: finished(item.message) as HistoryItem["message"] }
}

function addBeside(
  bench: Bench,
  name: string,
  options: { timings: Record<"few" | "many", Timing>; runs: number; target: Target },
): void {
  const { timings, runs, target } = options
  bench.add({
    name,
    value: (timings.many.medianMs * 1000) / runs,
    p90: (timings.many.p90Ms * 1000) / runs,
    raw: (timings.few.medianMs * 1000) / runs,
    unit: "us",
    target,
  })
}
