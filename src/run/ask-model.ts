import { setImmediate } from "node:timers/promises"
import type { ModelEvent, ModelRequest } from "../models/model.ts"
import { ModelError } from "../models/model-error.ts"
import { type JsonObject, noTokens, type PartBody, type Tokens } from "../protocol/index.ts"
import { type ContextMessage, costOf, estimateTokens } from "../session/index.ts"
import type { Op } from "../stores/commit.ts"
import { withGrace } from "./grace.ts"
import type { OpenMessage } from "./open-message.ts"
import { readAllowed } from "./prompt-files.ts"
import { givenUp, retryDelayMs, waitMs } from "./retry.ts"
import type { Step } from "./step-plan.ts"
import { systemPrompt } from "./system-prompt.ts"
import type { Call } from "./tool-calls.ts"

export interface Asked {
  calls: Call[]
  /** What is left to commit, with the seal: the end of an answer without calls. */
  ops: Op[]
}

/**
 * Asks the model and writes what it says into the open message, again where the failure can pass. A try that failed
 * leaves nothing but its retry part. Throws the ModelError that was the last.
 */
export async function askModel(plan: Step): Promise<Asked> {
  const { run, open } = plan
  const request = requestOf(plan)
  for (let attempt = 1; ; attempt++) {
    const keep = open.parts.length
    try {
      return await oneTry(plan, request)
    } catch (error) {
      if (!(error instanceof ModelError) || run.signal.aborted) throw error
      const { timing } = run.engine
      const delayMs = retryDelayMs(error, attempt, { timing, random: Math.random })
      if (delayMs === undefined) throw givenUp(error, attempt, { timing })
      const now = run.engine.clock.now()
      const part: PartBody = {
        id: run.engine.newID("part"),
        type: "retry",
        attempt,
        error: error.toMessageError(plan.model.ref),
        time: { created: now },
      }
      open.stop()
      await run.writer.commit([...open.flushOps(), open.truncateOp(keep), open.putOp(part)])
      const next = Math.ceil(now + delayMs)
      run.engine.hub.setStatus(run.sessionID, { type: "retry", attempt, message: error.message, next })
      await waitMs(delayMs, run.signal)
      run.engine.hub.setStatus(run.sessionID, { type: "busy" })
    }
  }
}

function requestOf(plan: Step): ModelRequest {
  const { run, setup, agent, user, model } = plan
  const { config } = setup.loaded
  const maxHistory = run.session.maxHistory ?? config.maxHistory
  const variant = user.variant ?? agent.variant
  return {
    purpose: "step",
    system: systemPrompt({
      agent,
      setup,
      workspace: run.project.workspace,
      user,
      nowMs: run.engine.clock.now(),
      isLastStep: plan.isLastStep,
    }),
    messages: goingOn(run.memo.context({ ...(maxHistory !== undefined && { maxHistory }) })),
    tools: plan.offered,
    ...(plan.isLastStep && { toolChoice: "none" as const }),
    ...(model.limit.output > 0 && { maxOutputTokens: Math.min(model.limit.output, outputTokensMax) }),
    ...(agent.temperature !== undefined && { temperature: agent.temperature }),
    ...(agent.topP !== undefined && { topP: agent.topP }),
    ...(variant !== undefined && { variant }),
    ...(agent.options && { options: agent.options }),
    readFile: (url) => fileBytes(plan, url),
    signal: run.signal,
    idleTimeoutMs: config.idleTimeoutMs,
  }
}

const outputTokensMax = 32_000
const answerUnitsMax = 32 * 1024 * 1024
/** What a fast model says is there all at once: after this long others get their turn, and those who listen theirs. */
const sliceMs = 5
const eventsPerLook = 16
const goOnText = "[Your answer was cut off here. Go on from where it ends; do not repeat it.]"

/** An answer that was cut off is gone on with: most providers refuse to be asked by their own model. */
function goingOn(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  if (messages.at(-1)?.role !== "assistant") return messages
  return [...messages, { role: "user", content: [{ type: "text", text: goOnText }] }]
}

async function fileBytes(plan: Step, url: string): Promise<Uint8Array> {
  if (url.startsWith("blob:")) return plan.run.engine.store.blobs.get(url.slice("blob:".length))
  return readAllowed(url, { workspace: plan.run.project.workspace, decide: plan.decide })
}

async function oneTry(plan: Step, request: ModelRequest): Promise<Asked> {
  const { run } = plan
  const answer = new Answer(plan)
  // A model that is deaf to the signal is given up too.
  await withGrace(listen(plan, request, answer), run.signal, run.engine.timing.toolGraceMs)
  run.signal.throwIfAborted()
  const ops = [...(await answer.endOps()), ...accountOps(plan, answer)]
  const { calls } = answer
  // One commit says that the model has ended, what it wants done and what it cost: each exactly once.
  if (calls.length === 0) return { calls, ops }
  await run.writer.commit(ops)
  return { calls, ops: [] }
}

async function listen(plan: Step, request: ModelRequest, answer: Answer): Promise<void> {
  const { signal } = plan.run
  let sliceEnd = performance.now() + sliceMs
  let taken = 0
  for await (const event of plan.model.stream(request)) {
    if (signal.aborted) return
    answer.take(event)
    if (++taken % eventsPerLook !== 0 || performance.now() < sliceEnd) continue
    await setImmediate()
    sliceEnd = performance.now() + sliceMs
  }
}

function accountOps(plan: Step, answer: Answer): Op[] {
  const { run, open, model } = plan
  const tokens = answer.usage ?? answer.estimate()
  const cost = model.price ? costOf(tokens, model.price) : 0
  const isCut = answer.reason === "length" && answer.calls.length === 0
  // A model that ends for calls and has made none has ended.
  const ended = answer.reason === "tool-calls" ? "other" : answer.reason
  const finish = answer.calls.length > 0 ? "tool-calls" : ended
  const message = open.messageOp({
    finish,
    tokens,
    cost,
    ...(isCut && {
      error: {
        name: "MessageOutputLengthError" as const,
        data: { message: "The answer reached the model's longest output." },
      },
    }),
  })
  const spent: Op = { op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }
  // The seal has the message too.
  return answer.calls.length > 0 ? [message, spent] : [spent]
}

type SaidPart = Extract<PartBody, { type: "text" | "reasoning" | "tool" }>

/** What a model says, part by part. */
class Answer {
  readonly #plan: Step
  readonly #open: OpenMessage
  /** By the id that the model's events give them. */
  readonly #parts = new Map<string, SaidPart>()
  readonly calls: Call[] = []
  readonly #files: { mime: string; bytes: Uint8Array }[] = []
  #units = 0
  reason = "other"
  usage: Tokens | undefined

  constructor(plan: Step) {
    this.#plan = plan
    this.#open = plan.open
  }

  take(event: ModelEvent): void {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        this.#count(event.text)
        this.#open.grow(this.#begun(event.id).id, "text", event.text)
        break
      case "tool-input-delta":
        this.#count(event.text)
        this.#open.grow(this.#begun(event.id).id, "raw", event.text)
        break
      case "text-start":
        this.#begin(event.id, this.#textPart("text", event.metadata))
        break
      case "reasoning-start":
        this.#begin(event.id, this.#textPart("reasoning", event.metadata))
        break
      case "text-end":
      case "reasoning-end":
        this.#endText(event.id, event.metadata)
        break
      case "tool-input-start":
        this.#begin(event.id, this.#toolPart(event.id, event.tool))
        break
      case "tool-input-end":
        break
      case "tool-call":
        this.#call(event)
        break
      case "file":
        this.#files.push(event)
        break
      case "finish":
        this.reason = event.reason
        this.usage = event.usage
    }
  }

  /** What is left to write once the stream has ended. */
  async endOps(): Promise<Op[]> {
    const ops: Op[] = []
    for (const part of this.#parts.values()) {
      if (part.type !== "tool") ops.push(...this.#ended(part))
      else if (!this.calls.some((call) => call.partID === part.id)) {
        // A call that was begun and never finished: its input, as far as it goes, tells the model so.
        const text = this.#open.grown(part.id)
        this.calls.push({ partID: part.id, callID: part.callID, tool: part.tool, text })
      }
    }
    for (const call of this.calls) ops.push(this.#callOp(call))
    for (const { mime, bytes } of this.#files) {
      const hash = await this.#plan.run.engine.store.blobs.put(bytes)
      ops.push(this.#open.putOp({ id: this.#newID(), type: "file", mime, url: `blob:${hash}` }))
    }
    return ops
  }

  /** For providers that do not count. */
  estimate(): Tokens {
    const written = this.#open.parts.map((part) =>
      part.type === "text" || part.type === "reasoning" ? part.text : "",
    )
    const output =
      estimateTokens(written.join("")) + estimateTokens(this.calls.map(({ text }) => text).join(""))
    return { ...noTokens(), output }
  }

  #begin(id: string, part: SaidPart): void {
    // Some servers give an id twice: what had it before keeps its place.
    const before = this.#parts.get(id)
    if (before) this.#parts.set(before.id, before)
    this.#parts.set(id, part)
    this.#open.putGrowing(part)
  }

  /** Models promise a start before each delta; a stream that breaks it is as good as broken. */
  #begun(id: string): SaidPart {
    const part = this.#parts.get(id)
    if (part) return part
    const { providerID, modelID } = this.#plan.model.ref
    throw new ModelError(
      "malformed",
      `The answer of ${providerID}/${modelID} made no sense: it went on with what it had not begun.`,
    )
  }

  /** A model that never ends must not fill the memory. */
  #count(text: string): void {
    this.#units += text.length
    if (this.#units <= answerUnitsMax) return
    const { providerID, modelID } = this.#plan.model.ref
    throw new ModelError(
      "refused",
      `The answer of ${providerID}/${modelID} is longer than any sensible one; it was ended.`,
    )
  }

  #textPart(type: "text" | "reasoning", metadata: JsonObject | undefined) {
    const time = { start: this.#plan.run.engine.clock.now() }
    return { id: this.#newID(), type, text: "", time, ...(metadata && { metadata }) }
  }

  #toolPart(callID: string, tool: string) {
    const state = { status: "pending" as const, input: {}, raw: "" }
    const id = this.#newID()
    // Some servers forget the id, or the name; a history needs both.
    return { id, type: "tool" as const, callID: callID || `call_${id}`, tool: tool || "unnamed", state }
  }

  #endText(id: string, metadata: JsonObject | undefined): void {
    const part = this.#parts.get(id)
    if (!part || part.type === "tool") return
    const ended = { ...part, ...(metadata && { metadata: { ...part.metadata, ...metadata } }) }
    this.#parts.set(id, ended)
    // The end of a text is worth no commit of its own. But reasoning without its signature is refused by the provider,
    // also if the rest of the answer never comes.
    if (metadata && part.type === "reasoning") this.#open.putGrowing(ended)
  }

  #ended(part: Extract<PartBody, { type: "text" | "reasoning" }>): Op[] {
    const start = part.time?.start ?? 0
    return this.#open.endTextOps({
      ...part,
      time: { start, end: Math.max(start, this.#plan.run.engine.clock.now()) },
    })
  }

  #call(event: Extract<ModelEvent, { type: "tool-call" }>): void {
    let part = this.#parts.get(event.id)
    const isCalled = this.calls.some(({ partID }) => partID === part?.id)
    if (part?.type !== "tool" || isCalled) {
      part = this.#toolPart(event.id, event.tool)
      this.#begin(event.id, part)
    }
    if (event.metadata) this.#parts.set(event.id, { ...part, metadata: event.metadata })
    this.calls.push({ partID: part.id, callID: part.callID, tool: part.tool, text: event.input })
  }

  #callOp(call: Call): Op {
    const part = this.#parts.values().find(({ id }) => id === call.partID)
    return this.#open.putOp({
      ...(part as Extract<PartBody, { type: "tool" }>),
      state: { status: "pending", input: {}, raw: call.text },
    })
  }

  #newID(): string {
    return this.#plan.run.engine.newID("part")
  }
}
