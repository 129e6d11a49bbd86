import { expect } from "vitest"
import type { ConfigInput, SessionHandle, Stemma } from "../../../src/index.ts"
import { outputTokensMax } from "../../../src/run/context/context-window.ts"
import { contextProblems } from "../context-problems.ts"
import type { Draw } from "../draw.ts"
import { assertValid, type RunScene, runScene } from "../run-scene.ts"
import { Marks, marksIn, marksOfItems } from "./marks.ts"
import { type Limit, overheadTokens, type Seen, WindowedModel } from "./model.ts"

/** A session and the marks that its history must show, tracked by the test. */
export interface Played {
  id: string
  visible: Set<string>
  /** The marks that were visible before the pending revert. */
  beforeRevert?: Set<string>
  /** The approximate tokens of the first prompt. */
  firstTokens: number
}

/** The expectations of one operation, for the checks after it. */
export interface Operation {
  /** Marks that must be in the history afterwards, and marks that may be. */
  must: Set<string>
  may: Set<string>
  /** Marks of the prompts. The newest prompt that was taken is in the context. */
  promptMarks: string[]
  /** The approximate tokens of the prompts. */
  promptTokens: number
  /** The model refuses the context as too long, whatever its size. */
  isRefused?: boolean
}

const files = {
  "big.txt": Array.from({ length: 3000 }, (_, line) => `Line ${line} of a long file, plain words.`).join(
    "\n",
  ),
}

/** A random story of several sessions on one store. All invariants are checked after each operation. */
export class Play implements AsyncDisposable {
  readonly scene: RunScene
  readonly model: WindowedModel
  readonly config: ConfigInput
  readonly marks = new Marks()
  readonly sessions: Played[] = []
  stemma: Stemma
  current: Played
  /** The next unread line of the long file. */
  line = 1

  private constructor(
    scene: RunScene,
    setting: { model: WindowedModel; config: ConfigInput; first: Played },
  ) {
    this.scene = scene
    this.stemma = scene.stemma
    this.model = setting.model
    this.config = setting.config
    this.current = setting.first
    this.sessions.push(setting.first)
  }

  static async begin(draw: Draw): Promise<Play> {
    const model = new WindowedModel(drawLimit(draw), draw.one([undefined, undefined, 1, 1, 0.8, 1.25]))
    const config = drawConfig(draw, model)
    const scene = await runScene({ config, files, models: { scripted: () => model } })
    const session = await scene.stemma.sessions.create()
    const first: Played = { id: session.id, visible: new Set(), firstTokens: 0 }
    return new Play(scene, { model, config, first })
  }

  async session(played = this.current): Promise<SessionHandle> {
    return this.stemma.sessions.get(played.id)
  }

  /** Closes and reopens Stemma, which interrupts running work. */
  async reopen(draw: Draw): Promise<void> {
    await Promise.all([this.stemma.close(), this.stemma.close()])
    if (draw.chance(30)) this.model.limit = drawLimit(draw)
    this.stemma = await this.scene.again()
  }

  /** Runs an operation, and checks its model calls and the resulting history. */
  async operate(work: (operation: Operation) => Promise<void>): Promise<void> {
    const operation: Operation = { must: new Set(), may: new Set(), promptMarks: [], promptTokens: 0 }
    const from = this.model.seen.length
    this.model.planned = []
    await work(operation)
    const { current } = this
    const allowed = current.visible.union(operation.must).union(operation.may)
    const seen = this.model.seen.slice(from)
    for (const one of seen) this.#checkSeen(one, operation, allowed)
    checkPrompt(seen, operation.promptMarks)
    await this.#checkHistory(operation)
  }

  #checkSeen({ request, tokens, limit }: Seen, operation: Operation, allowed: Set<string>): void {
    expect(contextProblems(request.messages)).toEqual([])
    expect(request.messages.length).toBeGreaterThan(0)
    expect(request.messages.at(-1)!.role).not.toBe("assistant")
    const foreign = marksIn([request.messages, request.system]).difference(allowed)
    expect([...foreign], `a ${request.purpose} shows what is hidden or not of this session`).toEqual([])
    const overhead = overheadTokens(request)
    if (request.purpose !== "step") expect(tokens).toBeLessThanOrEqual(limit.context)
    else if (this.#isExact && this.mustFit(operation, { overhead, limit })) {
      expect(tokens, "the context fits").toBeLessThanOrEqual(this.#room(limit, overhead) * 1.02 + 64)
    }
  }

  /** The token count from which a compaction is due. A threshold leaves 4,000 tokens for messages. */
  #room({ context, output }: Limit, overhead: number): number {
    const usable = context - Math.min(output, outputTokensMax, Math.floor(context / 2))
    return Math.min(usable, Math.max(this.config.compaction?.threshold ?? usable, overhead + 4_000))
  }

  /** False if the prompt leaves no room for a summary and a ledger, or if compaction is switched off. */
  mustFit({ promptTokens }: Operation, { overhead, limit }: { overhead: number; limit: Limit }): boolean {
    if (this.config.compaction?.auto === false) return false
    const room = this.#room(limit, overhead)
    const first = this.config.keepFirstMessage ? this.current.firstTokens : 0
    const needed = overhead + promptTokens + first + Math.max(400, room / 8) + room / 8 + 300
    return needed * (this.model.counts ?? 1) <= room
  }

  /**
   * True if the model counts tokens as we estimate them. Otherwise the model may refuse a context before its counts are
   * known.
   */
  get #isExact(): boolean {
    return (this.model.counts ?? 1) === 1
  }

  async #checkHistory(operation: Operation): Promise<void> {
    const session = await this.session()
    await assertValid(session)
    const shown = marksOfItems(await session.messages())
    const { current } = this
    current.visible = current.visible.union(operation.must).union(operation.may.intersection(shown))
    expect([...shown].sort()).toEqual([...current.visible].sort())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stemma.close()
    await this.scene[Symbol.asyncDispose]()
  }
}

/** The prompt is always in the context; after a compaction in its turn, at least in the summary or the ledger. */
function checkPrompt(seen: readonly Seen[], marks: readonly string[]): void {
  for (const { request } of seen) {
    if (request.purpose !== "step") continue
    const shown = marksIn(request.messages)
    expect(marks.length === 0 || marks.some((mark) => shown.has(mark)), `${marks} is shown`).toBe(true)
  }
}

function drawLimit(draw: Draw): { context: number; output: number } {
  const context = draw.one([4_000, 6_000, 8_000, 12_000, 16_000, 90_000, 90_000])
  return { context, output: draw.one([1_000, 500, context]) }
}

function drawConfig(draw: Draw, { limit }: WindowedModel): ConfigInput {
  const compaction = draw.one<ConfigInput["compaction"]>([
    {},
    {},
    { keepTurns: 1 + draw.below(3) },
    { threshold: Math.floor(limit.context / 3) },
    { prune: false },
    { auto: false },
  ])
  return {
    model: "scripted/m",
    title: false,
    snapshot: false,
    compaction,
    agent: { build: { prompt: "You work." } },
    // The descriptions of all tools would fill half of a small window.
    tools: { "*": false, read: true, todowrite: true },
    permission: { edit: "allow", bash: "allow" },
    ...(draw.chance(30) && { maxHistory: 3 + draw.below(6) }),
    ...(draw.chance(30) && { keepFirstMessage: true }),
  }
}
