import type { Config } from "../../../config/files/schema.ts"
import type { ModelEvent } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { sizeText } from "../../../models/response/bounded-response.ts"
import type { JsonObject, PartBody, Tokens } from "../../../protocol/index.ts"
import { estimateTokens } from "../../../session/index.ts"
import type { Op } from "../../../stores/commit.ts"
import type { OpenMessage } from "../open-message.ts"
import { plainData } from "../plain-data.ts"
import type { Step } from "../step-plan.ts"
import type { Call } from "../tools/tool-calls.ts"
import { areTokens } from "./valid-tokens.ts"

/** How many texts, reasonings and files an answer may have. No useful answer has as many. */
const partsMax = 10_000

const deltaUnitsMax = 64 * 1024

type StreamedPart = Extract<PartBody, { type: "text" | "reasoning" | "tool" }>

/** Collects the events of one model call as parts of the open message. */
export class StreamedAnswer {
  readonly #plan: Step
  readonly #openMessage: OpenMessage
  /** By the id in the model's events. */
  readonly #parts = new Map<string, StreamedPart>()
  readonly calls: Call[] = []
  /** The ids of the parts of complete calls. */
  readonly #called = new Set<string>()
  readonly #bounds: Config["answer"]
  readonly #files: { mime: string; bytes: Uint8Array }[] = []
  #bytes = 0
  /** The bytes of each call's arguments so far, by the id in the model's events. */
  readonly #argumentBytes = new Map<string, number>()
  #toolParts = 0
  #otherParts = 0
  /** The part that grew last, with the id in the model's events: saves a lookup for most deltas. */
  #lastGrown: { id: string; part: StreamedPart } | undefined
  reason = "other"
  usage: Tokens | undefined

  constructor(plan: Step) {
    this.#plan = plan
    this.#openMessage = plan.openMessage
    this.#bounds = plan.setup.loaded.config.answer
  }

  take(event: ModelEvent): void {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        this.#countBytes(event.text)
        this.#grow(event.id, "text", event.text)
        break
      case "tool-input-delta":
        checkText(event.text)
        this.#countArguments(event.id, event.text)
        this.#countBytes(event.text)
        this.#grow(event.id, "raw", event.text)
        break
      case "text-start":
        this.#beginPart(event.id, this.#textPart("text", event.metadata))
        break
      case "reasoning-start":
        this.#beginPart(event.id, this.#textPart("reasoning", event.metadata))
        break
      case "text-end":
      case "reasoning-end":
        this.#endText(event.id, event.metadata)
        break
      case "tool-input-start":
        this.#beginPart(event.id, this.#toolPart(event.id, event.tool))
        break
      case "tool-input-end":
        break
      case "tool-call":
        this.#takeCall(event)
        break
      case "file":
        if (event.mime === "") throw this.#malformed("a file has no MIME type")
        this.#countPart("file")
        this.#files.push(event)
        break
      case "finish":
        // A complete answer stands, whatever the model says about it. Tokens with wrong counts are estimated instead.
        this.reason = typeof event.reason === "string" ? event.reason : "other"
        if (areTokens(event.usage)) this.usage = event.usage
    }
  }

  /** The operations that remain once the stream has ended: ended texts, tool calls and files. */
  async endOps(): Promise<Op[]> {
    const ops: Op[] = []
    for (const part of this.#parts.values()) {
      if (part.type !== "tool") ops.push(...this.#endTextOps(part))
      else if (!this.#called.has(part.id)) {
        // The input of this call was never completed. The call is kept with the partial input, and its error tells the
        // model that the input is not valid.
        const text = this.#openMessage.grownText(part.id)
        this.calls.push({ partID: part.id, callID: part.callID, tool: part.tool, text })
      }
    }
    const byID = new Map(this.#parts.values().map((part) => [part.id, part]))
    for (const call of this.calls) ops.push(this.#callOp(call, byID.get(call.partID)!))
    for (const { mime, bytes } of this.#files) {
      const hash = await this.#plan.run.engine.store.blobs.put(bytes)
      ops.push(this.#openMessage.putOp({ id: this.#newID(), type: "file", mime, url: `blob:${hash}` }))
    }
    return ops
  }

  /** For providers that do not count tokens. */
  estimateOutputTokens(): number {
    const texts = this.#openMessage.parts.map((part) =>
      part.type === "text" || part.type === "reasoning" ? part.text : "",
    )
    return estimateTokens(texts.join("")) + estimateTokens(this.calls.map(({ text }) => text).join(""))
  }

  #beginPart(id: string, part: StreamedPart): void {
    // Some servers use an id twice. The earlier part stays in the map under its own id, in its old order.
    this.#lastGrown = undefined
    this.#countPart(part.type)
    this.#argumentBytes.delete(id)
    const before = this.#parts.get(id)
    if (before) this.#parts.set(before.id, before)
    this.#parts.set(id, part)
    this.#openMessage.putGrowing(part)
  }

  /** A long delta becomes many: each is copied several times on its way to the store and to subscribers. */
  #grow(id: string, field: "text" | "raw", text: string): void {
    const partID = this.#begunPart(id).id
    for (let at = 0; at < text.length; at += deltaUnitsMax) {
      this.#openMessage.grow(partID, field, text.slice(at, at + deltaUnitsMax))
    }
  }

  /** The model port promises a start event before each delta. Throws if there was none. */
  #begunPart(id: string): StreamedPart {
    if (this.#lastGrown?.id === id) return this.#lastGrown.part
    const part = this.#parts.get(id)
    if (part) {
      this.#lastGrown = { id, part }
      return part
    }
    throw this.#malformed("a delta came before the start of its part")
  }

  #malformed(why: string): ModelError {
    const { providerID, modelID } = this.#plan.model.ref
    return new ModelError("malformed", `The answer of ${providerID}/${modelID} is malformed: ${why}.`)
  }

  /** Metadata that cannot be stored is left out: an answer must not fail for it. */
  #checkedMetadata(metadata: JsonObject | undefined): { metadata?: JsonObject } {
    if (!metadata) return {}
    try {
      const plain: unknown = plainData(metadata, "Its metadata")
      return typeof plain === "object" && plain !== null && !Array.isArray(plain)
        ? { metadata: plain as JsonObject }
        : {}
    } catch {
      return {}
    }
  }

  /** Limits the answer, so that a model that never ends cannot fill the memory. */
  #countBytes(text: string): void {
    checkText(text)
    // In memory a character takes up to two bytes.
    this.#bytes += 2 * text.length
    const { bytesMax } = this.#bounds
    if (this.#bytes > bytesMax) throw this.#tooLarge(`after ${sizeText(bytesMax)}`, "answer.bytesMax")
  }

  #countArguments(id: string, text: string): void {
    const bytes = (this.#argumentBytes.get(id) ?? 0) + Buffer.byteLength(text)
    this.#argumentBytes.set(id, bytes)
    const { argumentBytesMax } = this.#bounds
    if (bytes <= argumentBytesMax) return
    throw this.#tooLarge(
      `because the arguments of one tool call are longer than ${sizeText(argumentBytesMax)}`,
      "answer.argumentBytesMax",
    )
  }

  #countPart(type: PartBody["type"]): void {
    const { callsMax } = this.#bounds
    if (type === "tool" && ++this.#toolParts > callsMax) {
      throw this.#tooLarge(`because it has more than ${callsMax} tool calls`, "answer.callsMax")
    }
    if (type !== "tool" && ++this.#otherParts > partsMax) {
      throw this.#tooLarge(`because it has more than ${partsMax} parts`)
    }
  }

  #tooLarge(why: string, key?: string): ModelError {
    const { providerID, modelID } = this.#plan.model.ref
    const advice = key === undefined ? "" : ` If this is meant, raise ${key} in the config.`
    return new ModelError(
      "refused",
      `The answer of ${providerID}/${modelID} was stopped ${why}, and what had arrived is kept.${advice}`,
    )
  }

  #textPart(type: "text" | "reasoning", metadata: JsonObject | undefined) {
    const time = { start: this.#plan.run.engine.clock.now() }
    return { id: this.#newID(), type, text: "", time, ...this.#checkedMetadata(metadata) }
  }

  #toolPart(callID: string, tool: string) {
    const state = { status: "pending" as const, input: {}, raw: "" }
    const id = this.#newID()
    // Some servers leave out the id or the name. A history needs both.
    return { id, type: "tool" as const, callID: callID || `call_${id}`, tool: tool || "unnamed", state }
  }

  #endText(id: string, metadata: JsonObject | undefined): void {
    const part = this.#parts.get(id)
    if (!part || part.type === "tool") return
    const checked = this.#checkedMetadata(metadata)
    const ended = { ...part, ...(metadata && { metadata: { ...part.metadata, ...checked.metadata } }) }
    this.#parts.set(id, ended)
    // The end of a text needs no commit of its own. The signature of reasoning does: if the rest of the answer never
    // comes, the provider would refuse the stored reasoning without it.
    if (metadata && part.type === "reasoning") this.#openMessage.putGrowing(ended)
  }

  #endTextOps(part: Extract<PartBody, { type: "text" | "reasoning" }>): Op[] {
    const start = part.time?.start ?? 0
    return this.#openMessage.endTextOps({
      ...part,
      time: { start, end: Math.max(start, this.#plan.run.engine.clock.now()) },
    })
  }

  #takeCall(event: Extract<ModelEvent, { type: "tool-call" }>): void {
    if (typeof event.input !== "string") throw this.#malformed("a tool call has no input")
    let part = this.#parts.get(event.id)
    if (part?.type !== "tool" || this.#called.has(part.id)) {
      part = this.#toolPart(event.id, event.tool)
      this.#beginPart(event.id, part)
    }
    this.#argumentBytes.delete(event.id)
    this.#countArguments(event.id, event.input)
    if (event.metadata) this.#parts.set(event.id, { ...part, ...this.#checkedMetadata(event.metadata) })
    this.#called.add(part.id)
    this.calls.push({ partID: part.id, callID: part.callID, tool: part.tool, text: event.input })
  }

  #callOp(call: Call, part: StreamedPart): Op {
    return this.#openMessage.putOp({
      ...(part as Extract<PartBody, { type: "tool" }>),
      state: { status: "pending", input: {}, raw: call.text },
    })
  }

  #newID(): string {
    return this.#plan.run.newID("part")
  }
}

/** A custom model may break its contract. */
function checkText(text: unknown): void {
  if (typeof text !== "string")
    throw new ModelError("malformed", "The model sent a delta that is not a text.")
}
