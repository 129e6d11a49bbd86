import type { Bench } from "../../bench.ts"
import { median } from "../../measure.ts"
import { askChild } from "../child.ts"
import type { AtOnceAnswer } from "../children/at-once.ts"
import type { BesideAnswer } from "../children/side-by-side.ts"
import { makeSetup, setupArgs } from "../setup.ts"

/** The cost of turns of many sessions for a process, each group in a separate process. */
export async function benchMany(bench: Bench): Promise<void> {
  await benchSideBySide(bench)
  await benchAtOnce(bench)
}

async function benchSideBySide(bench: Bench): Promise<void> {
  const rounds = bench.quick ? 3 : 12
  await using setup = await makeSetup()
  const args = [...setupArgs(setup), String(rounds)]
  const { stemma, doStream } = await askChild<BesideAnswer>("side-by-side.ts", args)
  bench.add({
    name: "CPU of a turn, 20 sessions by 5 turns, beside doStream",
    value: median(stemma.slice(1)),
    raw: median(doStream.slice(1)),
    first: stemma[0]!,
    unit: "ms",
    target: { under: 6 },
  })
}

async function benchAtOnce(bench: Bench): Promise<void> {
  const sessions = bench.quick ? 100 : 1000
  await using setup = await makeSetup()
  const args = [...setupArgs(setup), String(sessions)]
  const answer = await askChild<AtOnceAnswer>("at-once.ts", args)
  const name = `${sessions.toLocaleString("en-US")} sessions at once`
  bench.add({ name: `${name}: failed`, value: answer.failed, unit: "", target: { atMost: 0 } })
  bench.add({
    name: `${name}: peak of memory`,
    value: answer.peakMB,
    first: answer.beforeMB,
    unit: "MB",
    target: { under: 400 },
  })
  bench.add({ name: `${name}: until the last reply`, value: answer.elapsedMs, unit: "ms" })
  bench.add({ name: `${name}: CPU of a turn`, value: answer.cpuMs / sessions, unit: "ms" })
}
