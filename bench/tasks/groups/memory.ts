import type { Bench } from "../../bench.ts"
import { makeSetup } from "../../run/setup.ts"
import { type Crew, openCrew } from "../crew.ts"
import { taskWork } from "../work.ts"

/** After about this many short sessions, the cache of resting sessions is full. Until then, memory is expected to grow. */
const rememberedMax = 2000

/** The memory that tasks leave after they have ended. */
export async function benchMemory(bench: Bench): Promise<void> {
  const size = { parents: bench.quick ? 10 : 100, children: 8 }
  const sessions = size.parents * (1 + size.children)
  const full = bench.quick ? 2 : Math.ceil(rememberedMax / sessions) + 1
  const rounds = bench.quick ? 1 : 3
  await using setup = await makeSetup()
  await using crew = await openCrew(setup, "tasks")
  const heapsMB: number[] = []
  for (let round = 1; round <= full + rounds; round++) {
    await crew.run(taskWork(size))
    heapsMB.push(await restingHeapMB(crew))
    bench.progress(`after round ${round}: ${heapsMB.at(-1)!.toFixed(1)} MB`)
  }
  const value = heapsMB.at(-1)!
  const raw = heapsMB[full - 1]!
  bench.add({
    name: `heap after ${full + rounds} rounds of ${sessions} sessions, beside after ${full}`,
    value,
    raw,
    first: heapsMB[0]!,
    unit: "MB",
    target: { timesRawAtMost: 1.05 },
  })
  const kept = ((value - raw) * 1e6) / (rounds * sessions)
  bench.add({ name: "heap kept of a session that ended", value: kept, unit: "bytes" })
}

/** Nothing runs, deferred work is done, and no cache holds unused objects. */
async function restingHeapMB(crew: Crew): Promise<number> {
  await crew.settle()
  await new Promise((resolve) => setTimeout(resolve, restMs))
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}

/** The store indexes a little later, and subscribers are removed a little later. */
const restMs = 1500
