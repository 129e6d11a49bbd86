import type { Bench } from "../../bench.ts"
import { median, percentile } from "../../measure.ts"
import { askChild } from "../child.ts"
import type { FirstAnswer } from "../children/first-turn.ts"
import { makeSetup, setupArgs } from "../setup.ts"

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
}
