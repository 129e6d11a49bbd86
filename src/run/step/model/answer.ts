import type { ModelEvent } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { type JsonObject, type PartBody, Tokens } from "../../../protocol/index.ts"
import { estimateTokens } from "../../../session/index.ts"
import type { Op } from "../../../stores/commit.ts"
import type { OpenMessage } from "../open-message.ts"
import { plainData } from "../plain-data.ts"
import type { Step } from "../step-plan.ts"
import type { Call } from "../tools/tool-calls.ts"

const answerUnitsMax = 32 * 1024 * 1024

type SaidPart = Extract<PartBody, { type: "text" | "reasoning" | "tool" }>

/** What a model says, part by part. */
export class Answer {
  readonly #plan: Step
  readonly #open: OpenMessage
  /** By the id that the model's events give them. */
  readonly #parts = new Map<string, SaidPart>()
  readonly calls: Call[] = []
  readonly #files: { mime: string; bytes: Uint8Array }[] = []
  #units = 0
  /** The one that grew last, by the id of the model's events. */
  #growing: { id: string; part: SaidPart } | undefined
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
        if (event.mime === "") throw this.#nonsense("it gave a file of no kind")
        this.#files.push(event)
        break
      case "finish":
        this.reason = event.reason
        // Counts that make no sense are as good as none.
        if (Tokens.safeParse(event.usage).success) this.usage = event.usage
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

  /** About how many tokens were said, for providers that do not count. */
  estimate(): number {
    const written = this.#open.parts.map((part) =>
      part.type === "text" || part.type === "reasoning" ? part.text : "",
    )
    return estimateTokens(written.join("")) + estimateTokens(this.calls.map(({ text }) => text).join(""))
  }

  #begin(id: string, part: SaidPart): void {
    // Some servers give an id twice: what had it before keeps its place.
    this.#growing = undefined
    const before = this.#parts.get(id)
    if (before) this.#parts.set(before.id, before)
    this.#parts.set(id, part)
    this.#open.putGrowing(part)
  }

  /** Models promise a start before each delta; a stream that breaks it is as good as broken. */
  #begun(id: string): SaidPart {
    if (this.#growing?.id === id) return this.#growing.part
    const part = this.#parts.get(id)
    if (part) {
      this.#growing = { id, part }
      return part
    }
    throw this.#nonsense("it went on with what it had not begun")
  }

  #nonsense(why: string): ModelError {
    const { providerID, modelID } = this.#plan.model.ref
    return new ModelError("malformed", `The answer of ${providerID}/${modelID} made no sense: ${why}.`)
  }

  /** What is no data cannot be kept. */
  #metadata(metadata: JsonObject | undefined): { metadata?: JsonObject } {
    if (!metadata) return {}
    try {
      return { metadata: plainData(metadata, "Its metadata") }
    } catch {
      throw this.#nonsense("its metadata is no data")
    }
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
    return { id: this.#newID(), type, text: "", time, ...this.#metadata(metadata) }
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
    const known = this.#metadata(metadata)
    const ended = { ...part, ...(metadata && { metadata: { ...part.metadata, ...known.metadata } }) }
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
    if (typeof event.input !== "string") throw this.#nonsense("a call has no input")
    let part = this.#parts.get(event.id)
    const isCalled = this.calls.some(({ partID }) => partID === part?.id)
    if (part?.type !== "tool" || isCalled) {
      part = this.#toolPart(event.id, event.tool)
      this.#begin(event.id, part)
    }
    if (event.metadata) this.#parts.set(event.id, { ...part, ...this.#metadata(event.metadata) })
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
