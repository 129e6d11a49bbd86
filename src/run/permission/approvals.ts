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

/** A tool call was refused. The model reads the message. */
export class PermissionRefused extends Error {
  /** A person rejected the call without feedback: the run ends. */
  readonly endsRun: boolean

  constructor(message: string, options?: { endsRun?: boolean }) {
    super(message)
    this.name = "PermissionRefused"
    this.endsRun = options?.endsRun ?? false
  }
}

interface OpenQuestion {
  request: PermissionRequest
  wanted: Wanted
  judge: () => Promise<PermissionCheck>
  settle: (answer: { reply: PermissionReply; feedback?: string }) => void
}

export interface AskOptions {
  wanted: Wanted
  /** Loads the permission rules as they are now. */
  judge: () => Promise<PermissionCheck>
  /** The permission rules, if the caller has just loaded them. */
  known?: PermissionCheck
  tool?: { name: string; messageID: string; callID: string }
  signal: AbortSignal
  /** `always` is not possible for this question: it counts as `once`. */
  onceOnly?: boolean
  /** The sender of the prompt cannot be asked. The question is refused even if another person is present. */
  isUnattended?: boolean | undefined
}

/**
 * The permission questions of one run. Each question is a stored row, with an event, before the run waits for its
 * answer.
 */
export class Approvals {
  readonly #engine: Engine
  readonly #writer: RunWriter
  readonly #project: Project
  readonly #setup: () => Promise<Setup>
  readonly #onGranted: (() => void) | undefined
  readonly #pending = new Map<string, OpenQuestion>()
  /** Open questions of the previous writer. A tool call that asks the same again gets the inherited question. */
  readonly #inheritedRequests: PermissionRequest[] = []

  constructor(options: {
    engine: Engine
    writer: RunWriter
    project: Project
    setup: () => Promise<Setup>
    /** Called after an `always` answer: questions of other sessions may now be allowed too. */
    onGranted?: (() => void) | undefined
  }) {
    this.#engine = options.engine
    this.#writer = options.writer
    this.#project = options.project
    this.#setup = options.setup
    this.#onGranted = options.onGranted
  }

  /** Takes over the open questions of an interrupted run. */
  inherit(requests: readonly PermissionRequest[]): void {
    this.#inheritedRequests.push(...requests)
  }

  /** Rejects inherited questions that no call asked again, except those about prompts that are still in the inbox. */
  async dropInherited(): Promise<void> {
    if (this.#inheritedRequests.length === 0) return
    const waiting = new Set((await this.#engine.store.inbox(this.#writer.sessionID)).map(({ id }) => id))
    const all = this.#inheritedRequests.splice(0)
    this.#inheritedRequests.push(...all.filter(({ tool }) => tool && waiting.has(tool.messageID)))
    const open = all.filter(
      (request) => request.reply === undefined && !this.#inheritedRequests.includes(request),
    )
    if (open.length > 0)
      await this.#writer.commit(open.map((request) => this.#replyOp(request, { reply: "reject" })))
  }

  /** Returns if the call is permitted, else throws PermissionRefused. */
  async ask(options: AskOptions): Promise<void> {
    const { wanted, tool } = options
    const decision = (options.known ?? (await options.judge())).decide(wanted, tool?.name)
    if (decision.action === "allow") return
    if (decision.action === "deny") throw forbiddenError(wanted, decision.rule)
    const inherited = this.#takeInherited(options)
    if (inherited?.reply !== undefined) return this.#throwIfRejected(inherited, options)
    if (inherited === undefined && (options.isUnattended || !this.#engine.presence.isPresent)) {
      throw new PermissionRefused(
        `Not allowed: ${describe(wanted)} needs a person's permission, and no person is there to ask.`,
      )
    }
    await this.#throwIfRejected(await this.#waitForAnswer(options, inherited), options)
    // A rule that was added while the question was open still applies.
    const after = (await options.judge()).decide(wanted, tool?.name)
    if (after.action === "deny") throw forbiddenError(wanted, after.rule)
  }

  /** Handles an answer from the inbox. False if this run has no such open question. */
  async answer(item: Extract<InboxItem, { type: "answer" }>): Promise<boolean> {
    const take: Op = { op: "inbox.take", sessionID: item.sessionID, itemID: item.id }
    const answer = { reply: item.reply, ...(item.feedback !== undefined && { feedback: item.feedback }) }
    const isMeant = (request: PermissionRequest) => request.id === item.permissionID
    const request = this.#pending.get(item.permissionID)?.request ?? this.#inheritedRequests.find(isMeant)
    if (!request || request.reply !== undefined) {
      await this.#writer.commit([take])
      return false
    }
    if (item.reply === "always") await this.#grant(request)
    await this.#writer.commit([take, this.#replyOp(request, answer)])
    // An inherited question may have been asked again during the commit: it is then pending and no longer inherited.
    const index = this.#inheritedRequests.findIndex(isMeant)
    if (index >= 0) this.#inheritedRequests[index] = { ...request, ...answer }
    this.#pending.get(item.permissionID)?.settle(answer)
    if (item.reply === "always") {
      await this.recheck()
      this.#onGranted?.()
    }
    if (item.reply === "reject" && item.feedback === undefined) await this.#rejectOthers()
    return true
  }

  /** Settles the open questions that the rules and grants allow by now. */
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

  async #waitForAnswer(
    options: AskOptions,
    inherited: PermissionRequest | undefined,
  ): Promise<PermissionRequest> {
    const { wanted, signal } = options
    signal.throwIfAborted()
    const request = inherited ?? (await this.#newRequest(options))
    const answered = Promise.withResolvers<{ reply: PermissionReply; feedback?: string }>()
    // If the commit of the question fails, nothing awaits this promise, so a rejection must not be unhandled.
    answered.promise.catch(() => {})
    const stop = () => answered.reject(signal.reason)
    signal.addEventListener("abort", stop, { once: true })
    this.#engine.metrics.questionOpened()
    this.#pending.set(request.id, { request, wanted, judge: options.judge, settle: answered.resolve })
    try {
      if (!inherited) await this.#writer.commit([{ op: "permission.put", request }])
      this.#sendToAncestors(request, { type: "permission.asked", properties: { request } })
      this.#callHandler(request)
      const answer = await answered.promise
      this.#sendReplied(request, answer.reply)
      return { ...request, ...answer }
    } catch (error) {
      this.#sendReplied(request, "reject")
      // The question is over: close it in the store, so that clients no longer show it as open.
      if (!this.#writer.signal.aborted)
        await this.#writer.commit([this.#replyOp(request, { reply: "reject" })])
      throw error
    } finally {
      this.#engine.metrics.questionClosed()
      this.#pending.delete(request.id)
      signal.removeEventListener("abort", stop)
    }
  }

  async #throwIfRejected(request: PermissionRequest, options: AskOptions): Promise<void> {
    if (request.reply === "once" || request.reply === "always") return
    if (request.feedback !== undefined && request.feedback.trim() !== "") {
      throw new PermissionRefused(`A person rejected ${describe(options.wanted)}: ${request.feedback}`)
    }
    const setup = await this.#setup()
    throw new PermissionRefused(`A person rejected ${describe(options.wanted)}.`, {
      endsRun: setup.loaded.config.experimental?.continue_loop_on_deny !== true,
    })
  }

  #sendReplied(request: PermissionRequest, reply: PermissionReply): void {
    const { id: permissionID, sessionID } = request
    this.#sendToAncestors(request, {
      type: "permission.replied",
      properties: { sessionID, permissionID, reply },
    })
  }

  /** Sends the event to the subscribers of the ancestor sessions too. */
  #sendToAncestors({ path = [] }: PermissionRequest, event: StemmaEvent): void {
    if (path.length > 1) this.#engine.hub.question(path.slice(0, -1), event)
  }

  async #newRequest(options: AskOptions): Promise<PermissionRequest> {
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
      metadata: plainData(
        { ...wanted.metadata, ...(tool && { tool: tool.name }) },
        "The metadata of a permission question",
      ),
      ...(tool && { tool: { messageID: tool.messageID, callID: tool.callID } }),
      time: { created: now },
    }
    return parseOrInvalid(PermissionRequest, request, "A permission question")
  }

  /** Removes and returns the inherited question that asks the same. */
  #takeInherited({ wanted, tool }: AskOptions): PermissionRequest | undefined {
    const index = this.#inheritedRequests.findIndex(
      (request) =>
        request.permission === wanted.permission &&
        request.tool?.callID === tool?.callID &&
        request.tool?.messageID === tool?.messageID &&
        JSON.stringify(request.patterns) === JSON.stringify(wanted.patterns),
    )
    return index < 0 ? undefined : this.#inheritedRequests.splice(index, 1)[0]
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

function forbiddenError(wanted: Wanted, rule: Rule): PermissionRefused {
  return new PermissionRefused(`Not allowed: ${describe(wanted)}. ${reasonOf(wanted, rule)}`)
}

/** The reason that the tool gives for its own refusal, else the rule that denies the call. */
function reasonOf(wanted: Wanted, rule: Rule): string {
  const { reason } = wanted.metadata ?? {}
  if (wanted.floor === "deny" && typeof reason === "string") return reason
  return `The rule ${rule.permission}: ${rule.pattern} forbids it. Do not try to work around it.`
}

function describe(wanted: Wanted): string {
  const patterns = wanted.patterns.length > 3 ? [...wanted.patterns.slice(0, 3), "..."] : wanted.patterns
  return `${wanted.permission} ${patterns.join(", ")}`.trim()
}
