import { grantScope } from "../../config/permission/grants.ts"
import {
  type InboxItem,
  type PermissionReply,
  PermissionRequest,
  parseOrInvalid,
  type Rule,
  type StemmaEvent,
} from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Wanted } from "../../tools/tool.ts"
import type { Engine } from "../engine.ts"
import type { Project, Setup } from "../project.ts"
import type { RunWriter } from "../schedule/writer.ts"
import { plainData } from "../step/plain-data.ts"
import type { PermissionCheck } from "./permission-check.ts"

/** Why something was not permitted. The message is for the model. */
export class PermissionRefused extends Error {
  /** A person said no and nothing else: the run ends. */
  readonly endsRun: boolean

  constructor(message: string, options?: { endsRun?: boolean }) {
    super(message)
    this.name = "PermissionRefused"
    this.endsRun = options?.endsRun ?? false
  }
}

interface Pending {
  request: PermissionRequest
  wanted: Wanted
  judge: () => Promise<PermissionCheck>
  settle: (answer: { reply: PermissionReply; feedback?: string }) => void
}

export interface AskOptions {
  wanted: Wanted
  /** Loads the rules as they are now. */
  judge: () => Promise<PermissionCheck>
  /** The rules, if they were loaded a moment ago. */
  known?: PermissionCheck
  tool?: { name: string; messageID: string; callID: string }
  signal: AbortSignal
  /** An answer for good makes no sense: it counts as once. */
  onceOnly?: boolean
  /** Whoever sent the prompt cannot be asked, though others may be there. */
  isUnattended?: boolean | undefined
}

/** The questions of one run. Each is a durable row with an event before anybody waits for its answer. */
export class Approvals {
  readonly #engine: Engine
  readonly #writer: RunWriter
  readonly #project: Project
  readonly #setup: () => Promise<Setup>
  readonly #onGranted: (() => void) | undefined
  readonly #pending = new Map<string, Pending>()
  /** Questions that the writer before this one left: asked again, they are the same question. */
  readonly #left: PermissionRequest[] = []

  constructor(options: {
    engine: Engine
    writer: RunWriter
    project: Project
    setup: () => Promise<Setup>
    /** Called when a person has allowed something for good: others may wait for the same. */
    onGranted?: (() => void) | undefined
  }) {
    this.#engine = options.engine
    this.#writer = options.writer
    this.#project = options.project
    this.#setup = options.setup
    this.#onGranted = options.onGranted
  }

  /** Takes over the questions of a run that was cut off. */
  inherit(requests: readonly PermissionRequest[]): void {
    this.#left.push(...requests)
  }

  /** Closes inherited questions that nobody asked again, but for those about prompts that are not taken yet. */
  async dropInherited(): Promise<void> {
    if (this.#left.length === 0) return
    const waiting = new Set((await this.#engine.store.inbox(this.#writer.sessionID)).map(({ id }) => id))
    const left = this.#left.splice(0)
    this.#left.push(...left.filter(({ tool }) => tool && waiting.has(tool.messageID)))
    const open = left.filter((request) => request.reply === undefined && !this.#left.includes(request))
    if (open.length > 0)
      await this.#writer.commit(open.map((request) => this.#replyOp(request, { reply: "reject" })))
  }

  /** Returns if it is permitted, else throws PermissionRefused. */
  async ask(options: AskOptions): Promise<void> {
    const { wanted, tool } = options
    const decision = (options.known ?? (await options.judge())).decide(wanted, tool?.name)
    if (decision.action === "allow") return
    if (decision.action === "deny") throw forbidden(wanted, decision.rule)
    const known = this.#inherited(options)
    if (known?.reply !== undefined) return this.#conclude(known, options)
    if (known === undefined && (options.isUnattended || !this.#engine.presence.isListening)) {
      throw new PermissionRefused(
        `Not allowed: ${describe(wanted)} needs a person's permission, and nobody is there to ask.`,
      )
    }
    await this.#conclude(await this.#wait(options, known), options)
    // What was forbidden while the person thought about it is not lifted by the answer.
    const after = (await options.judge()).decide(wanted, tool?.name)
    if (after.action === "deny") throw forbidden(wanted, after.rule)
  }

  /** An answer that came in. False if no such question is open here. */
  async answer(item: Extract<InboxItem, { type: "answer" }>): Promise<boolean> {
    const take: Op = { op: "inbox.take", sessionID: item.sessionID, itemID: item.id }
    const answer = { reply: item.reply, ...(item.feedback !== undefined && { feedback: item.feedback }) }
    const left = this.#left.findIndex((request) => request.id === item.permissionID)
    const pending = this.#pending.get(item.permissionID)
    const request = pending?.request ?? this.#left[left]
    if (!request || request.reply !== undefined) {
      await this.#writer.commit([take])
      return false
    }
    if (item.reply === "always") await this.#grant(request)
    await this.#writer.commit([take, this.#replyOp(request, answer)])
    if (left >= 0) this.#left[left] = { ...request, ...answer }
    pending?.settle(answer)
    if (item.reply === "always") {
      await this.recheck()
      this.#onGranted?.()
    }
    if (item.reply === "reject" && item.feedback === undefined) await this.#rejectOthers()
    return true
  }

  /** Settles what a person's answer elsewhere has allowed meanwhile. */
  async recheck(): Promise<void> {
    for (const { request, wanted, judge, settle } of [...this.#pending.values()]) {
      const tool = typeof request.metadata.tool === "string" ? request.metadata.tool : undefined
      if ((await judge()).decide(wanted, tool).action !== "allow") continue
      if (!this.#pending.has(request.id)) continue
      await this.#writer.commit([this.#replyOp(request, { reply: "always" })])
      settle({ reply: "always" })
    }
  }

  get isWaiting(): boolean {
    return this.#pending.size > 0
  }

  async #wait(options: AskOptions, known: PermissionRequest | undefined): Promise<PermissionRequest> {
    const { wanted, signal } = options
    signal.throwIfAborted()
    const request = known ?? (await this.#request(options))
    const answered = Promise.withResolvers<{ reply: PermissionReply; feedback?: string }>()
    // If the question cannot be put, nobody waits for its answer.
    answered.promise.catch(() => {})
    const stop = () => answered.reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
    this.#engine.metrics.questionOpened()
    this.#pending.set(request.id, { request, wanted, judge: options.judge, settle: answered.resolve })
    try {
      if (!known) await this.#writer.commit([{ op: "permission.put", request }])
      this.#tellAbove(request, { type: "permission.asked", properties: { request } })
      this.#callHandler(request)
      const answer = await answered.promise
      this.#tellReplied(request, answer.reply)
      return { ...request, ...answer }
    } catch (error) {
      this.#tellReplied(request, "reject")
      // The question is over, whoever may still look at it.
      if (!this.#writer.signal.aborted)
        await this.#writer.commit([this.#replyOp(request, { reply: "reject" })])
      throw error
    } finally {
      this.#engine.metrics.questionClosed()
      this.#pending.delete(request.id)
      signal.removeEventListener("abort", stop)
    }
  }

  async #conclude(request: PermissionRequest, options: AskOptions): Promise<void> {
    if (request.reply === "once" || request.reply === "always") return
    if (request.feedback !== undefined && request.feedback.trim() !== "") {
      throw new PermissionRefused(`The person said no to ${describe(options.wanted)}: ${request.feedback}`)
    }
    const setup = await this.#setup()
    throw new PermissionRefused(`The person said no to ${describe(options.wanted)}.`, {
      endsRun: setup.loaded.config.experimental?.continue_loop_on_deny !== true,
    })
  }

  #tellReplied(request: PermissionRequest, reply: PermissionReply): void {
    const { id: permissionID, sessionID } = request
    this.#tellAbove(request, { type: "permission.replied", properties: { sessionID, permissionID, reply } })
  }

  /** Whoever watches a session above hears of it there. */
  #tellAbove({ path = [] }: PermissionRequest, event: StemmaEvent): void {
    if (path.length > 1) this.#engine.hub.question(path.slice(0, -1), event)
  }

  async #request(options: AskOptions): Promise<PermissionRequest> {
    const { wanted, tool } = options
    const now = this.#engine.clock.now()
    const { sessionID } = this.#writer
    const above = await this.#engine.store.parents(sessionID)
    const request = {
      id: this.#engine.newID("permission"),
      sessionID,
      ...(above.length > 0 && { path: [...above.map(({ id }) => id).reverse(), sessionID] }),
      permission: wanted.permission,
      patterns: wanted.patterns,
      always: options.onceOnly || wanted.floor !== undefined ? [] : (wanted.always ?? []),
      metadata: plainData({ ...wanted.metadata, ...(tool && { tool: tool.name }) }, "What a question shows"),
      ...(tool && { tool: { messageID: tool.messageID, callID: tool.callID } }),
      time: { created: now },
    }
    return parseOrInvalid(PermissionRequest, request, "A question")
  }

  /** The same question, asked by the run before this one. */
  #inherited({ wanted, tool }: AskOptions): PermissionRequest | undefined {
    const index = this.#left.findIndex(
      (request) =>
        request.permission === wanted.permission &&
        request.tool?.callID === tool?.callID &&
        request.tool?.messageID === tool?.messageID &&
        JSON.stringify(request.patterns) === JSON.stringify(wanted.patterns),
    )
    return index < 0 ? undefined : this.#left.splice(index, 1)[0]
  }

  async #grant(request: PermissionRequest): Promise<void> {
    const setup = await this.#setup()
    for (const pattern of request.always) {
      await this.#project.grants.add(grantScope(setup.loaded.project), {
        permission: request.permission,
        pattern,
        time: this.#engine.clock.now(),
        sessionID: request.sessionID,
      })
    }
  }

  async #rejectOthers(): Promise<void> {
    for (const { request, settle } of [...this.#pending.values()]) {
      if (!this.#pending.delete(request.id)) continue
      await this.#writer.commit([this.#replyOp(request, { reply: "reject" })])
      settle({ reply: "reject" })
    }
  }

  #replyOp(request: PermissionRequest, answer: { reply: PermissionReply; feedback?: string }): Op {
    const time = { ...request.time, replied: this.#engine.clock.now() }
    return { op: "permission.put", request: { ...request, ...answer, time } }
  }

  #callHandler(request: PermissionRequest): void {
    const { handler } = this.#engine.presence
    if (!handler) return
    const admit = async () => {
      const answer = await handler(request)
      if (!answer || !this.#pending.has(request.id)) return
      await this.#engine.store.admit({
        id: `answer_${request.id}`,
        sessionID: request.sessionID,
        type: "answer",
        time: this.#engine.clock.now(),
        permissionID: request.id,
        ...answer,
      })
    }
    admit().catch(this.#engine.warn)
  }
}

function forbidden(wanted: Wanted, rule: Rule): PermissionRefused {
  return new PermissionRefused(`Not allowed: ${describe(wanted)}. ${reasonOf(wanted, rule)}`)
}

/** A tool that forbids something by itself says why; else it was a rule. */
function reasonOf(wanted: Wanted, rule: Rule): string {
  const { reason } = wanted.metadata ?? {}
  if (wanted.floor === "deny" && typeof reason === "string") return reason
  return `The rule ${rule.permission}: ${rule.pattern} forbids it. Do not try to get around it.`
}

function describe(wanted: Wanted): string {
  const patterns = wanted.patterns.length > 3 ? [...wanted.patterns.slice(0, 3), "..."] : wanted.patterns
  return `${wanted.permission} ${patterns.join(", ")}`.trim()
}
