import { join } from "node:path"
import { createID, type HistoryItem, openStore, type Session, type Stemma } from "../../../src/index.ts"
import { type Child, startChild } from "../child-process.ts"
import type { CompactionGo, CompactionLine } from "../children/compaction-child.ts"
import { type Answer, type ModelServer, startModelServer } from "../model-server/server.ts"
import { until } from "../run-scene.ts"
import { pairProblems } from "./answers.ts"
import { compactionAnswer, compactionConfig, isCompactionRequest } from "./compaction-answers.ts"
import { compactionPart, compactionsIn, endsOf, fillTurns } from "./compactions.ts"
import { makeShared, openShared, type SharedScene, sharedPaths } from "./scene.ts"

export interface Prompted {
  messageID: string
  text: string
}

export function prompted(text: string): Prompted {
  return { messageID: createID("message", Date.now()), text }
}

/** Processes that share a store and die in the middle of compactions. */
export class CompactionDeaths implements AsyncDisposable {
  readonly scene: SharedScene
  readonly server: ModelServer
  #children = 0

  private constructor(scene: SharedScene, server: ModelServer) {
    this.scene = scene
    this.server = server
  }

  static async open(options: { directory: string; summary?: Answer }): Promise<CompactionDeaths> {
    const { directory, summary } = options
    const server = await startModelServer({ fallback: compactionAnswer(summary ? { summary } : {}) })
    const scene = { root: directory, baseURL: server.baseURL, snapshots: false }
    await makeShared(scene)
    return new CompactionDeaths(scene, server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close()
  }

  /** A session with this many turns of 600 tokens; 25 turns need no compaction yet, 40 do. */
  async session(turns: number): Promise<{ id: string; items: readonly HistoryItem[] }> {
    await using stemma = await this.reopen()
    const session = await stemma.sessions.create()
    await fillTurns(session, { turns })
    return { id: session.id, items: await session.messages() }
  }

  async reopen(options: { recover?: boolean } = {}): Promise<Stemma> {
    return openShared(this.scene, { ...options, config: compactionConfig })
  }

  start(): Child {
    const output = join(this.scene.root, `child-${this.#children++}`)
    return startChild("compaction-child.ts", { output, limitMs: 60_000 })
  }

  async go(child: Child, go: Omit<CompactionGo, "scene">): Promise<void> {
    await child.ready
    child.process.send({ scene: this.scene, ...go } satisfies CompactionGo)
  }

  /** Kills a process once its model was asked for a summary. */
  async killInSummary(go: Omit<CompactionGo, "scene">): Promise<void> {
    await using child = this.start()
    const asked = this.compactions()
    await this.go(child, go)
    await until("the summariser is asked", () => this.compactions() > asked)
    child.process.kill("SIGKILL")
    await child.ended
    expectNoFailure(child)
  }

  /** How often a summary was requested. */
  compactions(): number {
    return this.server.requests.filter(isCompactionRequest).length
  }

  /** The state that dead processes left, before any process repairs it. */
  async left(sessionID: string) {
    await using store = await openStore({ path: sharedPaths(this.scene).database })
    const { items } = await store.history(sessionID, { limit: 1000 })
    return { items, session: await store.session(sessionID), inbox: await store.inbox(sessionID) }
  }

  /** Finds problems in a session in which nothing runs any more. */
  async problems(stemma: Stemma, sessionID: string, prompts: readonly Prompted[]): Promise<string[]> {
    const handle = await stemma.sessions.get(sessionID)
    const items = await handle.messages()
    const session = await handle.info()
    return [
      ...items.flatMap(({ sealed, message }) => (sealed ? [] : [`${message.id} is open`])),
      ...prompts.flatMap((prompt) => promptProblems(items, prompt)),
      ...sizeProblems(items),
      ...moneyProblems(items, session),
      ...(session.time.compacting === undefined ? [] : ["it says that it compacts"]),
      ...(await stemma.store.inbox(sessionID)).map(({ type }) => `${type} was left lying`),
      ...this.server.requests.flatMap(({ body }) => pairProblems(body)),
      ...(await stemma.store.check()).problems,
    ]
  }
}

export function expectNoFailure(child: Child): void {
  const failed = child.lines<CompactionLine>().find((line) => "failed" in line)
  if (failed) throw new Error(`A process failed by itself: ${failed.failed} ${child.errors()}`)
}

function promptProblems(items: readonly HistoryItem[], { messageID, text }: Prompted): string[] {
  const times = items.filter(({ message }) => message.id === messageID).length
  const ends = endsOf(items, messageID)
  const whole = ends.filter(({ finish }) => finish !== "interrupted")
  const problems = times === 1 ? [] : [`${text} is there ${times} times`]
  if (whole.length === 1 && whole[0]!.finish === "stop") return problems
  return [...problems, `${text} was answered with ${ends.map(({ finish }) => finish).join() || "nothing"}`]
}

function sizeProblems(items: readonly HistoryItem[]): string[] {
  return compactionsIn(items).flatMap((item) => {
    const { tokensBefore = 0, tokensAfter = 0, summary } = compactionPart(item)
    return summary !== undefined && tokensAfter >= tokensBefore
      ? [`${item.message.id} made nothing smaller`]
      : []
  })
}

function moneyProblems(items: readonly HistoryItem[], session: Session): string[] {
  const answers = items.flatMap(({ message }) => (message.role === "assistant" ? [message] : []))
  const cost = answers.reduce((sum, message) => sum + message.cost, 0)
  const output = answers.reduce((sum, message) => sum + message.tokens.output, 0)
  const problems: string[] = []
  if (Math.abs(cost - session.cost) > 1e-9) problems.push(`cost is ${session.cost}, of the messages ${cost}`)
  if (output !== session.tokens.output)
    problems.push(`output is ${session.tokens.output}, of the messages ${output}`)
  return problems
}
