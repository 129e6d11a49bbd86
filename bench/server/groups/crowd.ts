import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { openStage, readSession, type SessionRead, type Stage } from "../stage.ts"

const processes = 3
const memoryMB = 400
const deliveryMs = 40

/** One session with many readers, beside the same with one reader. */
export async function benchCrowd(bench: Bench, built: BuiltPackage): Promise<void> {
  const crowd = bench.quick ? 50 : 500
  await using stage = await openStage(built, { readers: processes })
  await benchPace(bench, stage, {
    name: "1,000 deltas a second",
    crowd,
    answer: { marks: bench.quick ? 1000 : 5000, perSecond: 1000 },
    rounds: bench.quick ? 1 : 3,
    isJudged: true,
  })
  await benchPace(bench, stage, {
    name: "full speed",
    crowd,
    answer: { marks: bench.quick ? 10_000 : 50_000 },
    rounds: bench.quick ? 1 : 3,
  })
}

interface Pace {
  name: string
  crowd: number
  answer: { marks: number; perSecond?: number }
  rounds: number
  /** Figures at full speed have no target: a machine cannot move the bytes for all readers in that time. */
  isJudged?: boolean
}

async function benchPace(bench: Bench, stage: Stage, throttle: Pace): Promise<void> {
  const { name, crowd, answer, rounds, isJudged } = throttle
  const one: SessionRead[] = []
  const many: SessionRead[] = []
  let serverCpuMs = 0
  const startMB = await stage.stemma.ask("collect")
  for (let round = 0; round <= rounds; round++) {
    const single = await readSession(stage, answer, { kind: "rows" })
    const before = await stage.stemma.ask("cpuMs")
    const all = await readSession(stage, answer, { kind: "rows", readers: crowd })
    // The first round warms up.
    if (round === 0) continue
    serverCpuMs += (await stage.stemma.ask("cpuMs")) - before
    one.push(single)
    many.push(all)
    bench.progress(
      `${name}: ${Math.round(single.runMs)} ms with one, ${Math.round(all.runMs)} ms with ${crowd}`,
    )
  }
  const runMs = (reads: SessionRead[]) => median(reads.map((read) => read.runMs))
  // Each process has about the same number of readers: the slowest process counts.
  const slowest = (reads: SessionRead[], field: "medianMs" | "p90Ms" | "p99Ms") =>
    median(reads.map(({ results }) => Math.max(...results.map((result) => result[field]))))
  bench.add({
    name: `run at ${name} with ${crowd} readers, beside one`,
    value: runMs(many),
    raw: runMs(one),
    unit: "ms",
    ...(isJudged && { target: { timesRawAtMost: 1.1 } }),
  })
  bench.add({
    name: `delivery at ${name} with ${crowd} readers`,
    value: slowest(many, "medianMs"),
    p90: slowest(many, "p90Ms"),
    raw: slowest(one, "medianMs"),
    unit: "ms",
    ...(isJudged && { target: { under: deliveryMs } }),
  })
  const readerCpuMs = median(many.map(({ results }) => results.reduce((sum, { cpuMs }) => sum + cpuMs, 0)))
  const value = serverCpuMs / rounds
  bench.add({
    name: `CPU of the server at ${name}, beside that of the readers`,
    value,
    raw: readerCpuMs,
    unit: "ms",
  })
  bench.add({
    name: `memory of the server at ${name} with ${crowd} readers`,
    value: await stage.stemma.ask("peakMB"),
    first: startMB,
    unit: "MB",
    ...(isJudged && { target: { under: memoryMB } }),
  })
}
