import { join } from "node:path"
import { openStore } from "../../../src/index.ts"
import { type Child, startChild } from "../child-process.ts"
import type { RunGo, RunLine, RunProgress } from "../children/run-child.ts"
import { type ModelServer, startModelServer } from "../model-server/server.ts"
import { randomFrom } from "../seed.ts"
import { runAnswer } from "./answers.ts"
import { endOf, leftBehind, phaseOf } from "./left-behind.ts"
import { reopen } from "./reopen.ts"
import { makeShared, type SharedScene, sharedPaths } from "./scene.ts"
import { lostTexts, momentBefore, seenUntil } from "./seen.ts"
import { newVictim, type Victim } from "./victim.ts"

/** Text that was shown this long before the kill, while the process ran, must be in the store. */
const shownMs = 100
/** The approximate time to open and take a prompt, and the number of commits until the answer is complete. */
const openMs = 300
const runCommits = 40
/**
 * Two commits are seldom further apart than `commitMs`; half of the kills use the longer delay, to find missed commits.
 */
const commitMs = 50
const missedMs = 300

export interface RunCrashReport {
  kills: number
  /** The phases in which the runs were killed. */
  phases: Record<string, number>
  /** How the answers ended, with `recover` and without. */
  outcomes: Record<string, number>
  /** Parts whose text was shown long enough before the kill. */
  texts: number
  /**
   * Texts that were shown long enough before the kill, and are not stored because their process did not get CPU time.
   */
  starved: number
  /** The longest time from opening to the first commit under a new lease. */
  takeoverMaxMs: number
}

export interface RunCrashOptions {
  directory: string
  kills: number
  seed: number
  snapshots: boolean
  /** `time`: another process kills it at any moment. `commit`: it kills itself right before or after a commit. */
  by: "time" | "commit"
}

/**
 * Kills one process after another during an answer, sometimes several that try to finish the same one, and checks the
 * stored state: reopened with `recover`, or without it and with a new prompt.
 */
export async function runCrashLane(options: RunCrashOptions): Promise<RunCrashReport> {
  await using server = await startModelServer({ fallback: runAnswer })
  const scene = { root: options.directory, baseURL: server.baseURL, snapshots: options.snapshots }
  await makeShared(scene)
  const lane = new Lane({ ...options, scene, server })
  await lane.run()
  return lane.report
}

class Lane {
  readonly report: RunCrashReport = {
    kills: 0,
    phases: {},
    outcomes: {},
    texts: 0,
    starved: 0,
    takeoverMaxMs: 0,
  }
  readonly #options: RunCrashOptions & { scene: SharedScene; server: ModelServer }
  readonly #random: () => number

  constructor(options: RunCrashOptions & { scene: SharedScene; server: ModelServer }) {
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async run(): Promise<void> {
    const { kills } = this.#options
    let victim = this.#newVictim(0)
    let next: Child | undefined = this.#startChild(0)
    try {
      for (let number = 0; next; number++) {
        const child: Child = next
        next = undefined
        await child.ready
        const killed = this.#kill(child, victim)
        next = number + 1 < kills ? this.#startChild(number + 1) : undefined
        await killed
        const { isOver } = await this.#examine(victim)
        if (!isOver && next && this.#random() < 0.4) continue
        await this.#settle(victim)
        victim = this.#newVictim(number + 1)
      }
    } finally {
      await next?.[Symbol.asyncDispose]()
    }
  }

  #startChild(number: number): Child {
    const { directory } = this.#options
    return startChild("run-child.ts", {
      output: join(directory, `child-${number}`),
    })
  }

  async #kill(child: Child, victim: Victim): Promise<void> {
    const { by, scene } = this.#options
    const { sessionID, prompts } = victim
    const isEarly = this.#random() < 0.15
    const isSoon = this.#random() < 0.5
    const delayMs = this.#random() * (isEarly ? openMs : isSoon ? commitMs : missedMs)
    const when = this.#random() < 0.5 ? "before" : "after"
    const commit = Math.floor(this.#random() * runCommits)
    const progressed = progressOf(child, { commits: by === "time" ? commit : runCommits * 2 })
    child.process.send({
      scene,
      sessionID,
      prompts,
      recover: victim.deaths > 0,
      ...(by === "commit" && { dieAt: { commit, when } }),
    } satisfies RunGo)
    if (by === "commit" || !isEarly) await progressed
    if (by === "time") await delay(delayMs)
    const killedAt = nowMs()
    child.process.kill("SIGKILL")
    await child.ended
    this.report.kills++
    victim.deaths++
    const lines = child.lines<RunLine>()
    const failed = lines.find((line) => "failed" in line)
    if (failed) throw new Error(`A process failed by itself: ${failed.failed} ${child.errors()}`)
    const diedAt = Math.min(killedAt, lines.at(-1)?.atMs ?? 0)
    victim.seen.push(...seenUntil(lines, momentBefore(lines, { atMs: diedAt, runMs: shownMs })))
    victim.seenByClock.push(...seenUntil(lines, (by === "time" ? killedAt : diedAt) - shownMs))
  }

  /** Checks the state that the dead processes left, before any process repairs it. */
  async #examine(victim: Victim): Promise<{ isOver: boolean }> {
    await using store = await openStore({ path: sharedPaths(this.#options.scene).database })
    const left = await leftBehind(store, victim.sessionID)
    count(this.report.phases, phaseOf(left))
    const lost = lostTexts(victim.seen, left.items)
    if (lost.length > 0) throw new Error(`Text that was shown is lost: ${lost.join("; ")}`)
    return { isOver: victim.prompts.every(({ messageID }) => endOf(left.items, messageID) !== undefined) }
  }

  async #settle(victim: Victim): Promise<void> {
    const { scene, server } = this.#options
    const recover = this.#random() < 0.5
    const isSentAgain = this.#random() < 0.5
    const { finish, takeoverMs, starved } = await reopen(victim, { scene, server, recover, isSentAgain })
    count(this.report.outcomes, `${recover ? "recover" : "repair"}: ${finish ?? "never sent"}`)
    this.report.texts += victim.seen.length
    this.report.starved += starved
    this.report.takeoverMaxMs = Math.max(this.report.takeoverMaxMs, takeoverMs)
  }

  #newVictim(number: number): Victim {
    return newVictim(number, { hasSecond: this.#random() < 0.3 })
  }
}

/** Resolves when a child has made this many commits, is done, or is dead. */
function progressOf(child: Child, { commits }: { commits: number }): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  let seen = 0
  child.process.on("message", (said: RunProgress) => {
    if (said === "commit") seen++
    if (said === "done" || seen >= commits) resolve()
  })
  child.ended.then(() => resolve(), resolve)
  if (commits === 0) resolve()
  return promise
}

function count(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
