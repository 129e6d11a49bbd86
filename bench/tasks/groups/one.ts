import type { Bench } from "../../bench.ts"
import { interleave, type Timing } from "../../measure.ts"
import { makeSetup } from "../../run/setup.ts"
import { type Crew, type Done, openCrew } from "../crew.ts"
import { readsOfChild, readWork, taskWork, type Work } from "../work.ts"

const task = (agent?: string) => taskWork({ parents: 1, children: 1, ...(agent && { agent }) })
const alone = () => readWork([readsOfChild])

/** A parent with one child, beside a plain session that makes the child's calls. Without targets. */
export async function benchOne(bench: Bench): Promise<void> {
  await using setup = await makeSetup()
  await using tasks = await openCrew(setup, "tasks")
  await using plain = await openCrew(setup, "plain")
  const timings = await interleave(
    {
      task: () => tasks.run(task()),
      writing: () => tasks.run(task("general")),
      alone: () => plain.run(alone()),
    },
    {
      rounds: bench.quick ? 10 : 100,
      warmUpRounds: 20,
      batch: 1,
      between: async () => {
        await tasks.settle()
        await plain.settle()
      },
    },
  )
  await tasks.settle()
  await plain.settle()
  const besideAlone = ({ medianMs: value, p90Ms: p90, firstMs: first }: Timing) => ({
    value,
    p90,
    raw: timings.alone.medianMs,
    first,
    unit: "ms",
  })
  bench.add({
    name: "task, its parent included, beside a plain session of two steps",
    ...besideAlone(timings.task),
  })
  bench.add({ name: "the same with an agent that may write: two snapshots", ...besideAlone(timings.writing) })
  const withTask = await watch(tasks, task())
  const without = await watch(plain, alone())
  const name = "of a task, its parent included, beside a plain session"
  bench.add({ name: `events ${name}`, value: withTask.events, raw: without.events, unit: "" })
  bench.add({ name: `commits ${name}`, value: withTask.commits, raw: without.commits, unit: "" })
}

/** Counts the events of a subscriber to all sessions until everything is idle again. */
async function watch(crew: Crew, job: Work): Promise<{ events: number; commits: number }> {
  const subscription = crew.stemma.subscribe()
  await subscription.ready
  let events = 0
  const counting = (async () => {
    for await (const frame of subscription) if ("event" in frame) events++
  })()
  await crew.run(job)
  const done: Done = (await crew.settle())!
  await new Promise((resolve) => setTimeout(resolve, lastEventsMs))
  subscription.close()
  await counting
  return { events, commits: done.commits }
}

/** Events arrive a little after the changes that they report. */
const lastEventsMs = 500
