import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import { openStage, readSession, type SessionRead } from "../stage.ts"

/**
 * The memory that a stalled reader may hold: at most 10,000 frames or 16 Mi units of text wait for it (32 MB at two
 * bytes a unit), and as much again for what was made of them.
 */
const stalledMB = 60

interface Round extends SessionRead {
  peakMB: number
}

/** A long answer with one reader and one stalled reader, beside the same without the stalled reader. */
export async function benchStalled(bench: Bench, built: BuiltPackage): Promise<void> {
  const marks = bench.quick ? 20_000 : 200_000
  const rounds = bench.quick ? 1 : 5
  await using stage = await openStage(built)
  const alone: Round[] = []
  const beside: Round[] = []
  for (let round = 0; round <= rounds; round++) {
    for (const isStalledToo of round % 2 === 0 ? [false, true] : [true, false]) {
      await stage.stemma.ask("collect")
      const read = await readSession(stage, { marks }, { kind: "rows", isStalledToo })
      const peakMB = await stage.stemma.ask("peakMB")
      bench.progress(
        `${isStalledToo ? "with" : "without"} it: ${Math.round(read.runMs)} ms, ${Math.round(peakMB)} MB`,
      )
      // The first round warms up.
      if (round > 0) (isStalledToo ? beside : alone).push({ ...read, peakMB })
    }
  }
  const of = (reads: Round[], value: (read: Round) => number) => median(reads.map(value))
  const count = marks.toLocaleString("en-US")
  bench.add({
    name: `peak of memory during ${count} deltas with a stalled reader, beside without`,
    value: of(beside, ({ peakMB }) => peakMB),
    raw: of(alone, ({ peakMB }) => peakMB),
    unit: "MB",
    target: { overRawAtMost: stalledMB },
  })
  bench.add({
    name: "run with a stalled reader, beside without",
    value: of(beside, ({ runMs }) => runMs),
    raw: of(alone, ({ runMs }) => runMs),
    unit: "ms",
    target: { timesRawAtMost: 1.1 },
  })
  bench.add({
    name: "until the other reader had all of it, beside without",
    value: of(beside, ({ results }) => results[0]!.elapsedMs),
    raw: of(alone, ({ results }) => results[0]!.elapsedMs),
    unit: "ms",
    target: { timesRawAtMost: 1.1 },
  })
}
