import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import type { BuiltPackage } from "../built-package.ts"
import type { ReadResult } from "../children/readers.ts"
import { openStage, readRelay, readSession } from "../stage.ts"
import type { StreamKind } from "../stream-text.ts"

const perSecond = 200
const warmUpRounds = 1
const streams = { rows: "rows", events: "events", opencode: "the OpenCode client's events" } as const

/** From the model's write of a delta until the client has parsed it, at the pace of a fast model. */
export async function benchDelay(bench: Bench, built: BuiltPackage): Promise<void> {
  const rounds = bench.quick ? 1 : 6
  const answer = { marks: bench.quick ? 200 : 600, perSecond }
  await using stage = await openStage(built)
  const read: Record<StreamKind, () => Promise<ReadResult>> = {
    relay: () => readRelay(stage, answer),
    rows: async () => (await readSession(stage, answer, { kind: "rows" })).results[0]!,
    events: async () => (await readSession(stage, answer, { kind: "events" })).results[0]!,
    opencode: async () => (await readSession(stage, answer, { kind: "opencode" })).results[0]!,
  }
  const kinds = Object.keys(read) as StreamKind[]
  const results: Record<StreamKind, ReadResult[]> = { relay: [], rows: [], events: [], opencode: [] }
  for (let round = 0; round < warmUpRounds + rounds; round++) {
    for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
      const result = await read[kind]()
      if (round >= warmUpRounds) results[kind].push(result)
    }
  }
  const of = (kind: StreamKind, field: "medianMs" | "p90Ms" | "p95Ms" | "p99Ms") =>
    median(results[kind].map((result) => result[field]))
  for (const [kind, name] of Object.entries(streams) as [keyof typeof streams, string][]) {
    bench.add({
      name: `delta to client at ${perSecond} a second, ${name}, beside the relay`,
      value: of(kind, "medianMs"),
      p90: of(kind, "p90Ms"),
      raw: of("relay", "medianMs"),
      unit: "ms",
      target: { overRawAtMost: 0.6 },
    })
    bench.add({
      name: `${name}, p95, beside the relay`,
      value: of(kind, "p95Ms"),
      raw: of("relay", "p95Ms"),
      unit: "ms",
      target: { under: 1.5 },
    })
    bench.add({
      name: `${name}, p99, beside the relay`,
      value: of(kind, "p99Ms"),
      raw: of("relay", "p99Ms"),
      unit: "ms",
    })
  }
}
