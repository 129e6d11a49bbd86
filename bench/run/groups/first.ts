import type { Bench } from "../../bench.ts"
import { median, percentile } from "../../measure.ts"
import { makeIds } from "../../store/content.ts"
import { importSession } from "../../store/history.ts"
import { askChild } from "../child.ts"
import type { FirstAnswer } from "../children/first-turn.ts"
import type { LongFirstAnswer } from "../children/long-first-turn.ts"
import { makeSetup, openBenchStemma, type Setup, setupArgs } from "../setup.ts"

/** The first turn of a process, in fresh processes on the same data. */
export async function benchFirst(bench: Bench): Promise<void> {
  const processes = bench.quick ? 2 : 9
  await using setup = await makeSetup()
  const answers: FirstAnswer[] = []
  for (let i = 0; i < processes; i++) {
    answers.push(await askChild<FirstAnswer>("first-turn.ts", setupArgs(setup)))
  }
  const add = (name: string, field: keyof FirstAnswer) => {
    const values = answers.map((answer) => answer[field])
    bench.add({ name, value: median(values), p90: percentile(values, 0.9), first: values[0]!, unit: "ms" })
  }
  add("import", "importMs")
  add("open", "openMs")
  add("first turn, session made", "turnMs")
  add("second turn", "secondMs")
  add("from the start of the process to the first reply", "totalMs")
  await benchLongHistory(bench, setup)
}

/** The first turn of a session with a long history: with all of it in the context, and with a compaction. */
async function benchLongHistory(bench: Bench, setup: Setup): Promise<void> {
  const messages = bench.quick ? 1000 : 10_000
  const processes = bench.quick ? 1 : 5
  const kinds = [
    { contextLimit: 10_000_000, what: "all in the context" },
    { contextLimit: bench.quick ? 16_000 : 128_000, what: "compacted" },
  ]
  for (const { contextLimit, what } of kinds) {
    const answers: LongFirstAnswer[] = []
    for (let i = 0; i < processes; i++) {
      const sessionID = await importMessages(setup, { messages, seed: i })
      const args = [...setupArgs(setup), sessionID, String(contextLimit)]
      answers.push(await askChild<LongFirstAnswer>("long-first-turn.ts", args))
    }
    const values = answers.map(({ firstMs }) => firstMs)
    bench.add({
      name: `first turn of a process, ${messages.toLocaleString("en-US")} messages, ${what}`,
      value: median(values),
      p90: percentile(values, 0.9),
      raw: median(answers.map(({ secondMs }) => secondMs)),
      unit: "ms",
      target: { under: 1000 },
    })
  }
}

async function importMessages(
  setup: Setup,
  { messages, seed }: { messages: number; seed: number },
): Promise<string> {
  await using stemma = await openBenchStemma(setup)
  const { directory } = setup
  const { sessionID } = await importSession(stemma.store, makeIds(100 + seed), {
    messages,
    session: { directory },
  })
  return sessionID
}
