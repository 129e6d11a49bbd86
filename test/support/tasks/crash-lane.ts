import { join } from "node:path"
import { createID, openStore, type Store } from "../../../src/index.ts"
import { type Child, startChild } from "../child-process.ts"
import { type ModelServer, startModelServer } from "../model-server/server.ts"
import { pairProblems } from "../run/answers.ts"
import { toolParts } from "../run/history-problems.ts"
import { endOf, leftBehind, phaseOf } from "../run/left-behind.ts"
import { randomFrom } from "../seed.ts"
import { taskAnswer } from "./answers.ts"
import { finish } from "./finish.ts"
import { type Moment, writes } from "./moments.ts"
import { makeTaskScene, openTaskScene, type TaskScene, taskPaths } from "./scene.ts"
import type { TaskGo, TaskLine, TaskProgress } from "./task-child.ts"
import { type Asked, childOf, examineTree, type Results } from "./tree-problems.ts"

/** The maximum number of commits between two kills, and the time between two commits. */
const commitsMax = 320
const commitsEarly = 12
const commitMs = 25
/** The maximum delay of a kill after its write. */
const laterMs = 150
/**
 * A parent whose own messages were interrupted this often in one turn is not killed again: one more kill would end the
 * turn.
 */
const ownCutsMax = 3
const deathsMin = 3
const deathsMax = 6

export interface TaskCrashReport {
  kills: number
  /** The phases in which the parents were killed. */
  phases: Record<string, number>
  parents: number
  results: Results
  /** Calls of agents that were interrupted while they ran. */
  cutOff: number
}

export interface TaskCrashOptions {
  directory: string
  kills: number
  seed: number
  /** The first word of the prompts. */
  word: "manage" | "direct"
  /**
   * `time`: another process kills it at any moment. `write`: it kills itself right before or after a certain write.
   */
  by: "time" | "write"
  /** How many processes wait for the same answer at the same time; a kill hits one of them. */
  processes: number
}

/**
 * Kills one process after another during an answer that needs subagents, until every answer is finished, and checks the
 * whole tree.
 */
export async function taskCrashLane(options: TaskCrashOptions): Promise<TaskCrashReport> {
  await using server = await startModelServer({ fallback: taskAnswer })
  const scene = { root: options.directory, baseURL: server.baseURL }
  await makeTaskScene(scene)
  await using lane = new Lane({ ...options, scene, server })
  await lane.run()
  return lane.report
}

interface Victim extends Asked {
  deaths: number
  /** The moments at which its processes kill themselves. */
  moments: Moment[]
}

/** A process that has its orders. */
interface Worker {
  child: Child
  commits: number
  isOver: boolean
}

class Lane implements AsyncDisposable {
  readonly report: TaskCrashReport = {
    kills: 0,
    phases: {},
    parents: 0,
    results: { completed: 0, failed: 0, unbegun: 0 },
    cutOff: 0,
  }
  readonly #options: TaskCrashOptions & { scene: TaskScene; server: ModelServer }
  readonly #random: () => number
  /** Processes that were started and have not ended yet. */
  readonly #alive = new Set<Child>()
  #started = 0

  constructor(options: TaskCrashOptions & { scene: TaskScene; server: ModelServer }) {
    this.#options = options
    this.#random = randomFrom(options.seed)
  }

  async run(): Promise<void> {
    const { kills, processes } = this.#options
    let spare = this.#startChild()
    while (this.report.kills < kills) {
      const victim = this.#newVictim(this.report.parents++)
      const workers: Worker[] = []
      for (let isOver = false; !isOver && this.report.kills < kills && victim.moments.length > 0; ) {
        const moment = victim.moments.shift()!
        while (workers.length < processes) {
          workers.push(await this.#send(spare, victim, moment))
          spare = this.#startChild()
        }
        await this.#kill(workers)
        victim.deaths++
        ;({ isOver } = await this.#examine(victim))
      }
      await this.#settle(victim)
      for (const { child } of workers) await this.#end(child)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of [...this.#alive]) await this.#end(child)
  }

  #startChild(): Child {
    const { directory } = this.#options
    const output = join(directory, `child-${this.#started++}`)
    const child = startChild("../tasks/task-child.ts", { output })
    this.#alive.add(child)
    return child
  }

  async #send(child: Child, victim: Victim, moment: Moment): Promise<Worker> {
    const { scene, by } = this.#options
    const { sessionID, messageID, prompt } = victim
    await child.ready
    const worker: Worker = { child, commits: 0, isOver: false }
    const end = () => {
      worker.isOver = true
    }
    child.process.on("message", (said: TaskProgress) => {
      if (said === "commit") worker.commits++
      else end()
    })
    child.ended.then(end, end)
    const go: TaskGo = { scene, sessionID, messageID, prompt, ...(by === "write" && { dieAt: moment }) }
    child.process.send(go)
    return worker
  }

  /** Kills one of the workers. */
  async #kill(workers: Worker[]): Promise<void> {
    const isByTime = this.#options.by === "time"
    const done = sum(workers)
    const most = this.#random() < 0.15 ? commitsEarly : commitsMax
    const more = isByTime ? this.#random() * most : Number.POSITIVE_INFINITY
    const delayMs = this.#random() * commitMs
    const index = Math.floor(this.#random() * workers.length)
    while (sum(workers) < done + more && !workers.some(({ isOver }) => isOver)) await pause(5)
    if (isByTime) await pause(delayMs)
    const [worker] = workers.splice(index, 1)
    await this.#end(worker!.child)
    this.report.kills++
  }

  /** The moments in the order in which a process reaches them. */
  #moments(): Moment[] {
    const deaths = deathsMin + Math.floor(this.#random() * (deathsMax - deathsMin + 1))
    const moments = Array.from({ length: deaths }, (): Moment => {
      const write = writes[Math.floor(this.#random() * writes.length)]!
      const count = Math.floor(this.#random() * (write === "sealed" || write === "asked" ? 2 : 3))
      const when = this.#random()
      const isLater = write === "asked" || when > 0.7
      return { write, count, when: isLater ? { laterMs: when * laterMs } : when < 0.35 ? "before" : "after" }
    })
    return moments.sort((a, b) => writes.indexOf(a.write) - writes.indexOf(b.write))
  }

  async #end(child: Child): Promise<void> {
    child.process.kill("SIGKILL")
    await child.ended
    this.#alive.delete(child)
    const failed = child.lines<TaskLine>().find((line) => "failed" in line)
    if (failed) throw new Error(`A process failed by itself: ${failed.failed} ${child.errors()}`)
  }

  /** Checks the state that the dead processes left, before any process repairs it. */
  async #examine(victim: Victim): Promise<{ isOver: boolean }> {
    const { sessionID, messageID } = victim
    await using store = await openStore({ path: taskPaths(this.#options.scene).database })
    const left = await leftBehind(store, sessionID)
    const phase = phaseOf(left)
    this.report.phases[phase] = (this.report.phases[phase] ?? 0) + 1
    await this.#checkNames(store, victim)
    const cuts = left.items.filter(
      ({ message, sealed }) => message.role === "assistant" && isCut(message, sealed),
    )
    return { isOver: endOf(left.items, messageID) !== undefined || cuts.length >= ownCutsMax }
  }

  /** Every child is named by exactly one call of its parent, whichever process died when. */
  async #checkNames(store: Store, { sessionID, prompt }: Victim): Promise<void> {
    const tree = await store.tree(sessionID).catch(() => [])
    for (const { id, parentID } of tree.slice(1)) {
      const { items } = await leftBehind(store, parentID!)
      const by = toolParts(items).filter((call) => childOf(call) === id)
      if (by.length !== 1) throw new Error(`${prompt}: child ${id} is named by ${by.length} calls`)
    }
  }

  async #settle(victim: Victim): Promise<void> {
    const { scene, server } = this.#options
    const warnings: unknown[] = []
    const isSentAgain = this.#random() < 0.5
    await using stemma = await openTaskScene(scene, {
      recover: true,
      onWarning: (error) => warnings.push(error),
    })
    await finish(stemma, victim, { isSentAgain })
    const { problems, results, cutOff } = await examineTree(stemma, scene, victim)
    problems.push(...warnings.map((warning) => `warned: ${warning}`))
    problems.push(...server.requests.splice(0).flatMap(({ body }) => pairProblems(body)))
    if (problems.length > 0) {
      throw new Error(`${victim.prompt} after ${victim.deaths} deaths:\n${problems.join("\n")}`)
    }
    this.report.results.completed += results.completed
    this.report.results.failed += results.failed
    this.report.results.unbegun += results.unbegun
    this.report.cutOff += cutOff
  }

  #newVictim(number: number): Victim {
    const now = Date.now()
    return {
      sessionID: createID("session", now),
      messageID: createID("message", now),
      prompt: `${this.#options.word} ${number}`,
      deaths: 0,
      moments: this.#moments(),
    }
  }
}

/** A message that was interrupted while its model streamed, or that will be marked as interrupted. */
function isCut(message: object, sealed: boolean): boolean {
  const { finish } = message as { finish?: string }
  return sealed ? finish === "interrupted" : finish === undefined
}

function sum(workers: readonly Worker[]): number {
  return workers.reduce((commits, worker) => commits + worker.commits, 0)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
