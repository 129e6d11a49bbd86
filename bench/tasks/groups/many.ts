import type { Bench } from "../../bench.ts"
import { interleave, median } from "../../measure.ts"
import { makeSetup } from "../../run/setup.ts"
import { type Done, openCrew } from "../crew.ts"
import { readsOfChild, readWork, taskWork } from "../work.ts"

const warmUpRounds = 1

/** Parents with eight children each, all at the same time, beside the same number of plain sessions and calls. */
export async function benchMany(bench: Bench): Promise<void> {
  const parents = bench.quick ? 10 : 100
  const children = 8
  // The counterpart of a parent reads as many files as the parent has children; the counterpart of a child reads the
  // child's files.
  const reads = [...Array(parents).fill(children), ...Array(parents * children).fill(readsOfChild)]
  await using setup = await makeSetup()
  await using tasks = await openCrew(setup, "tasks")
  await using plain = await openCrew(setup, "plain")
  let withTasks: Done | undefined
  let without: Done | undefined
  const settle = async () => {
    withTasks = (await tasks.settle()) ?? withTasks
    without = (await plain.settle()) ?? without
  }
  const cpu = { tasks: [] as number[], plain: [] as number[] }
  const timings = await interleave(
    {
      tasks: () => withCpu(cpu.tasks, () => tasks.run(taskWork({ parents, children }))),
      plain: () => withCpu(cpu.plain, () => plain.run(readWork(reads))),
    },
    { rounds: bench.quick ? 3 : 6, warmUpRounds, batch: 1, between: settle },
  )
  await settle()
  checkSame(withTasks!, without!)
  const { sessions } = without!
  bench.add({
    name: `${parents} parents with ${children} children each, beside ${sessions} plain sessions`,
    value: timings.tasks.medianMs,
    p90: timings.tasks.p90Ms,
    raw: timings.plain.medianMs,
    first: timings.tasks.firstMs,
    unit: "ms",
    target: { timesRawAtMost: 1.3 },
  })
  bench.add({
    name: "CPU of a session, beside a plain one",
    value: median(cpu.tasks.slice(warmUpRounds)) / sessions,
    raw: median(cpu.plain.slice(warmUpRounds)) / sessions,
    unit: "ms",
  })
  const commits = { value: withTasks!.commits, raw: without!.commits, unit: "" }
  bench.add({ name: `commits of all ${sessions}, beside plain sessions`, ...commits })
}

/** Each crew has checked its calls. This checks that both made the same calls, except for the task calls. */
function checkSame(tasks: Done, plain: Done): void {
  const counts = ({ sessions, calls }: Done) => [sessions, calls.model, calls.task + calls.read].join()
  if (counts(tasks) !== counts(plain)) throw new Error(`Tasks: ${counts(tasks)}; plain: ${counts(plain)}.`)
}

/** Adds the CPU time of all threads of this process, in milliseconds. */
async function withCpu(times: number[], work: () => Promise<void>): Promise<void> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  times.push((user + system) / 1000)
}
