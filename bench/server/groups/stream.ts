import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import type { ReadResult } from "../children/readers.ts"
import { openStage, readRelay, readSession } from "../stage.ts"

const warmUpRounds = 3

/** A long answer at full speed, to one reader. */
export async function benchStream(bench: Bench, built: BuiltPackage): Promise<void> {
  const rounds = bench.quick ? 2 : 8
  const marks = bench.quick ? 20_000 : 50_000
  await using stage = await openStage(built)
  const read = {
    relay: () => readRelay(stage, { marks }),
    rows: async () => (await readSession(stage, { marks }, { kind: "rows" })).results[0]!,
    opencode: async () => (await readSession(stage, { marks }, { kind: "opencode" })).results[0]!,
  }
  const kinds = Object.keys(read) as (keyof typeof read)[]
  const results: Record<keyof typeof read, ReadResult[]> = { relay: [], rows: [], opencode: [] }
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const result = await read[kind]()
      if (round >= warmUpRounds) results[kind].push(result)
    }
  }
  const rate = (kind: keyof typeof read) =>
    median(results[kind].map(({ elapsedMs }) => (marks / elapsedMs) * 1000))
  const worst = (kind: keyof typeof read) =>
    Math.max(...results[kind].map(({ longestGapMs }) => longestGapMs))
  const names = { rows: "rows", opencode: "the OpenCode client's events" }
  for (const kind of ["rows", "opencode"] as const) {
    const count = marks.toLocaleString("en-US")
    bench.add({
      name: `${count} deltas at full speed, ${names[kind]}, beside the relay`,
      value: rate(kind),
      raw: rate("relay"),
      unit: "/s",
      target: { timesRawAtLeast: 0.2 },
    })
    bench.add({
      name: `longest gap between two arrivals, worst of ${rounds} rounds`,
      value: worst(kind),
      raw: worst("relay"),
      unit: "ms",
      target: { atMost: 50 },
    })
    bench.add({
      name: "of the deltas, in the last tenth of the time",
      value: 100 * median(results[kind].map(({ lastTenthShare }) => lastTenthShare)),
      raw: 100 * median(results.relay.map(({ lastTenthShare }) => lastTenthShare)),
      unit: "%",
      target: { atMost: 20 },
    })
    bench.add({
      name: "arrivals in which they came",
      value: median(results[kind].map(({ arrivals }) => arrivals)),
      raw: median(results.relay.map(({ arrivals }) => arrivals)),
      unit: "",
    })
  }
}
