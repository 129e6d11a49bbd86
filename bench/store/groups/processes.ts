import { type Bench, scratchDirectory } from "../../bench.ts"
import { percentile } from "../../measure.ts"
import { type Child, startChild } from "../child.ts"
import type { WriteAnswer } from "../children/write-child.ts"
import { openStore } from "../open-store.ts"

const processes = 8
const perSecond = 100

/** Several processes that write to one file: at a pace, and as fast as they can. */
export async function benchProcesses(bench: Bench): Promise<void> {
  const paced = { seconds: bench.quick ? 2 : 10, everyMs: 1000 / perSecond }
  const fast = { seconds: bench.quick ? 2 : 10, everyMs: 0 }
  const own = {
    paced: await writeTogether(bench, "store", paced),
    fast: await writeTogether(bench, "store", fast),
  }
  const raw = {
    paced: await writeTogether(bench, "raw", paced),
    fast: await writeTogether(bench, "raw", fast),
  }
  const label = `${processes} processes, ${perSecond} commits a second each`
  bench.add({
    name: `${label}, p99`,
    value: percentile(own.paced.latenciesMs, 0.99),
    raw: percentile(raw.paced.latenciesMs, 0.99),
    unit: "ms",
    target: { under: 25 },
  })
  bench.add({
    name: `${label}, median`,
    value: percentile(own.paced.latenciesMs, 0.5),
    raw: percentile(raw.paced.latenciesMs, 0.5),
    unit: "ms",
  })
  bench.add({
    name: `${label}, longest stop`,
    value: own.paced.stopMs,
    raw: raw.paced.stopMs,
    unit: "ms",
  })
  bench.add({
    name: `${processes} processes at full speed, longest stop`,
    value: own.fast.stopMs,
    raw: raw.fast.stopMs,
    unit: "ms",
    target: { under: 150 },
  })
  bench.add({
    name: `${processes} processes at full speed, p99`,
    value: percentile(own.fast.latenciesMs, 0.99),
    raw: percentile(raw.fast.latenciesMs, 0.99),
    unit: "ms",
  })
  bench.add({
    name: `${processes} processes at full speed, commits`,
    value: own.fast.latenciesMs.length / fast.seconds,
    raw: raw.fast.latenciesMs.length / fast.seconds,
    unit: "/s",
  })
  bench.add({
    name: `${processes} processes at full speed, slowest against fastest`,
    value: own.fast.fairness,
    raw: raw.fast.fairness,
    unit: "",
  })
}

interface Together {
  latenciesMs: number[]
  stopMs: number
  /** Commits of the process with the fewest, as a share of the commits of the process with the most. */
  fairness: number
}

async function writeTogether(
  bench: Bench,
  way: "store" | "raw",
  { seconds, everyMs }: { seconds: number; everyMs: number },
): Promise<Together> {
  bench.progress(`${processes} processes write (${way}, ${everyMs === 0 ? "full speed" : "at a pace"})`)
  await using scratch = await scratchDirectory()
  const path = scratch.path("store.db")
  await (await openStore(path)).close()
  await using stack = new AsyncDisposableStack()
  const children: Child<WriteAnswer>[] = []
  for (let number = 0; number < processes; number++) {
    const args = [path, way, String(100 + number), String(everyMs)]
    children.push(stack.use(startChild<WriteAnswer>("write-child.ts", args)))
  }
  await Promise.all(children.map((child) => child.ready))
  const answers = await Promise.all(children.map((child) => child.go(seconds)))
  const counts = answers.map((answer) => answer.latenciesMs.length)
  return {
    latenciesMs: answers.flatMap((answer) => answer.latenciesMs),
    stopMs: Math.max(...answers.map((answer) => answer.stopMs)),
    fairness: Math.min(...counts) / Math.max(...counts),
  }
}
