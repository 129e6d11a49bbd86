import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { StemmaError } from "../../src/protocol/index.ts"
import type { Commit } from "../../src/stores/commit.ts"
import type { Store } from "../../src/stores/store.ts"
import { comparable, difference } from "./answers.ts"
import { type Child, startChild } from "./child-process.ts"
import type { CrashGo, CrashLine } from "./children/crash-child.ts"
import { manualClock } from "./clock.ts"
import { type Driver, driverNamed } from "./drivers.ts"
import { observeSession } from "./observe.ts"
import { randomFrom } from "./seed.ts"

export interface LaneReport {
  kills: number
  acknowledged: number
  /** Commits that were stored although the kill came before their answer. */
  unanswered: number
}

/**
 * Kills one process after another on the same store. A memory store gets every acknowledged call; after each kill the
 * store must have exactly the same content, and each call without an answer must be stored completely or not at all.
 */
export async function crashLane(
  driver: Driver,
  { directory, kills, seed }: { directory: string; kills: number; seed: number },
): Promise<LaneReport> {
  const random = randomFrom(seed)
  const stored = join(directory, "store")
  await mkdir(stored)
  await using oracle = await driverNamed("memory").open("", { clock: manualClock() })
  const lane: Lane = { oracle, fences: new Map(), touched: new Set() }
  const report: LaneReport = { kills: 0, acknowledged: 0, unanswered: 0 }
  const start = (number: number) =>
    startChild("crash-child.ts", {
      output: join(directory, `child-${number}`),
      args: [driver.name],
    })
  let next: Child | undefined = start(0)
  try {
    for (let number = 0; number < kills; number++) {
      const child: Child = next
      next = undefined
      await child.ready
      child.process.send({ directory: stored, number, seed: seed + number } satisfies CrashGo)
      next = number + 1 < kills ? start(number + 1) : undefined
      // Some processes die while they open the store, most of them during their work.
      if (random() >= 0.15) await waitForAnswers(child, Math.floor(random() * 30))
      await delay(random() * 10)
      child.process.kill("SIGKILL")
      await child.ended
      report.kills++
      await checkAfterKill(driver, { stored, number, lane, report, lines: child.lines<CrashLine>() })
      if (!next) break
    }
  } finally {
    await next?.[Symbol.asyncDispose]()
  }
  await using store = await driver.open(stored)
  await compareSessions(lane, store, [...lane.touched])
  await expectWhole(store)
  return report
}

async function waitForAnswers(child: Child, count: number): Promise<void> {
  const isRunning = () => child.process.exitCode === null && child.process.signalCode === null
  const answers = () => child.lines<CrashLine>().filter((line) => "done" in line).length
  while (isRunning() && answers() < count) await delay(2)
}

/** A full check reads everything, and the damage of a kill would still be there at a later check. */
const checkEvery = 4

async function expectWhole(store: Store): Promise<void> {
  const { problems } = await store.check()
  if (problems.length > 0) throw new Error(`${store.name} is damaged: ${problems.join("; ")}`)
}

interface Lane {
  oracle: Store
  /** The oracle has its own fences, because it does not know those of the killed processes. */
  fences: Map<string, number>
  touched: Set<string>
}

type Attempted = Exclude<CrashLine, { done: number } | { failed: string }>

async function checkAfterKill(
  driver: Driver,
  {
    stored,
    number,
    lane,
    report,
    lines,
  }: { stored: string; number: number; lane: Lane; report: LaneReport; lines: CrashLine[] },
): Promise<void> {
  const failed = lines.find((line) => "failed" in line)
  if (failed) throw new Error(`Child ${number} failed by itself: ${failed.failed}`)
  const done = new Set(lines.flatMap((line) => ("done" in line ? [line.done] : [])))
  const attempted = lines.filter((line): line is Attempted => "about" in line)
  const touched = new Set(attempted.flatMap(sessionsOf))
  for (const call of attempted.filter((line) => done.has(line.about))) await replay(lane, call)
  report.acknowledged += done.size

  await using store = await driver.open(stored)
  for (const call of attempted.filter((line) => !done.has(line.about))) {
    if (!(await isThere(lane, store, call))) continue
    await replay(lane, call)
    report.unanswered++
  }
  await compareSessions(lane, store, [...touched])
  if (number % checkEvery === 0) await expectWhole(store)
  for (const id of touched) lane.touched.add(id)
  await commitNext(lane, store, [...touched])
}

function sessionsOf(call: Attempted): string[] {
  if ("admit" in call) return [call.admit.sessionID]
  return call.commit.ops.map((op) =>
    op.op === "session.create" || op.op === "session.fork"
      ? op.session.id
      : op.op === "permission.put"
        ? op.request.sessionID
        : op.sessionID,
  )
}

/** Whether a call that was not acknowledged was stored: each commit adds one to the session's `seq`. */
async function isThere(lane: Lane, store: Store, call: Attempted): Promise<boolean> {
  const id = sessionsOf(call)[0]!
  return (await seqOf(store, id)) > (await seqOf(lane.oracle, id))
}

async function seqOf(store: Store, sessionID: string): Promise<number> {
  try {
    return (await store.session(sessionID)).seq
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return 0
    throw error
  }
}

async function replay(lane: Lane, call: Attempted): Promise<void> {
  if ("admit" in call) {
    await lane.oracle.admit(call.admit)
    return
  }
  const fences: Record<string, number> = {}
  for (const sessionID of Object.keys(call.commit.fences ?? {})) {
    const fence = lane.fences.get(sessionID) ?? (await lane.oracle.claim(sessionID)).fence
    lane.fences.set(sessionID, fence)
    fences[sessionID] = fence
  }
  await lane.oracle.commit({ ...call.commit, fences })
}

async function compareSessions(lane: Lane, store: Store, sessionIDs: string[]): Promise<void> {
  for (const id of sessionIDs) {
    const expected = comparable(await observeSession(lane.oracle, id))
    const found = difference(expected, comparable(await observeSession(store, id)))
    if (found) throw new Error(`${store.name} does not hold what it acknowledged: session ${id}: ${found}`)
  }
}

/** The lease of the dead holder is taken immediately, and the session continues. */
async function commitNext(lane: Lane, store: Store, sessionIDs: string[]): Promise<void> {
  for (const sessionID of sessionIDs.slice(0, 2)) {
    if ((await seqOf(store, sessionID)) === 0) continue
    const lease = await store.claim(sessionID)
    const commit: Commit = {
      ops: [{ op: "session.patch", sessionID, add: { cost: 0.01 } }],
      fences: { [sessionID]: lease.fence },
    }
    await store.commit(commit)
    await replay(lane, { about: 0, commit })
    await store.release(lease)
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
