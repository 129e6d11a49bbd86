import type { LanguageModelV4, LanguageModelV4StreamPart, SharedV4ProviderOptions } from "@ai-sdk/provider"
import type { JsonObject, ModelRef, Price } from "../../protocol/index.ts"
import type { FinishReason, Model, ModelEvent, ModelRequest } from "../model.ts"
import { ModelError } from "../model-error.ts"
import { classifyError, cutOff } from "../provider/classify-error.ts"
import type { Variants } from "../provider/provider-options.ts"
import type { Api } from "../provider/providers.ts"
import { callOptions, tokensOf } from "./call-options.ts"
import { ownToolNames } from "./fit-names.ts"
import type { Mask } from "./mask-secrets.ts"
import { createPromptConverter, type PromptConverter } from "./prompt.ts"

export interface AdapterOptions {
  model: LanguageModelV4
  api: Api
  ref: ModelRef
  limit: { context: number; output: number }
  price?: Price
  /** The name under which the package looks up its options. */
  namespace: string
  /** Model options of the config. */
  options?: JsonObject
  variants?: Variants
  mask: Mask
  /** Where the key comes from, for error texts. */
  keyName?: string
  /** False if the server refuses a request that contains earlier reasoning. */
  takesReasoning?: boolean
}

/** Adapts a model of the AI SDK. Only this file, `call-options.ts` and `prompt.ts` use that interface. */
export function fromLanguageModel(options: AdapterOptions): Model {
  const { ref, limit, price } = options
  const toPrompt = createPromptConverter(options)
  return {
    ref,
    limit,
    ...(price && { price }),
    stream(request) {
      const begin = () => new AnswerIterator({ ...options, request, toPrompt })
      return { [Symbol.asyncIterator]: begin, each: (take) => begin().each(take) }
    },
  }
}

interface AnswerOptions extends AdapterOptions {
  request: ModelRequest
  toPrompt: PromptConverter
}

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/** How long the response body may go on after the model's `finish` before the connection is closed. */
const drainTimeoutMs = 1_000

/** One call. An iterator written by hand, because an async generator costs several times as much for each delta. */
class AnswerIterator implements AsyncIterator<ModelEvent, undefined> {
  readonly #options: AnswerOptions
  readonly #connection = new AbortController()
  #reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart> | undefined
  #responseHeaders: Record<string, string> | undefined
  #isDone = false
  #hasContent = false
  /** When the pending read began; 0 while the caller handles an event. */
  #waitingSinceMs = 0
  #timer: NodeJS.Timeout | undefined
  /** The reason for which this class ended the call. Errors thrown after it are only a consequence. */
  #broken: ModelError | undefined
  #rejectStart: ((error: ModelError) => void) | undefined
  readonly #toolNames: Map<string, string> | undefined
  /** Provider metadata of open texts and reasonings, by id. */
  readonly #metadata = new Map<string, JsonObject>()

  constructor(options: AnswerOptions) {
    this.#options = options
    this.#toolNames = ownToolNames(options.request.tools)
  }

  async next(): Promise<IteratorResult<ModelEvent, undefined>> {
    if (this.#isDone) return end
    let event: ModelEvent | undefined
    try {
      const reader = this.#reader ?? (await this.#start())
      while (event === undefined) event = this.#taken(await this.#read(reader))
    } catch (error) {
      throw this.#failed(error)
    }
    return { done: false, value: event }
  }

  /** Needs one promise for each event; a `for await` loop needs several. */
  async each(take: (event: ModelEvent) => Promise<void> | undefined): Promise<void> {
    let isTaking = false
    try {
      const reader = await this.#start()
      while (!this.#isDone) {
        const event = this.#taken(await this.#read(reader))
        if (event === undefined) continue
        isTaking = true
        const waiting = take(event)
        if (waiting) await waiting
        isTaking = false
      }
    } catch (error) {
      if (!isTaking) throw this.#failed(error)
      await this.return()
      throw error
    }
  }

  #read(reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>) {
    this.#waitingSinceMs = performance.now()
    return reader.read()
  }

  #taken({ done, value }: { done: boolean; value?: LanguageModelV4StreamPart }): ModelEvent | undefined {
    this.#waitingSinceMs = 0
    if (this.#broken) throw this.#broken
    if (done || value === undefined) throw cutOff(this.#options)
    return this.#eventOf(value)
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    if (!this.#isDone) {
      this.#release()
      this.#break(this.#aborted())
    }
    return end
  }

  async #start(): Promise<ReadableStreamDefaultReader<LanguageModelV4StreamPart>> {
    const { request, model } = this.#options
    if (request.signal.aborted) throw this.#aborted()
    request.signal.addEventListener("abort", this.#onAbort)
    this.#waitingSinceMs = performance.now()
    this.#watch(request.idleTimeoutMs)
    const broken = new Promise<never>((_, reject) => {
      this.#rejectStart = reject
    })
    const opened = this.#open(model)
    opened.catch(() => undefined)
    const { stream, response } = await Promise.race([opened, broken])
    this.#rejectStart = undefined
    this.#responseHeaders = response?.headers
    this.#reader = stream.getReader()
    if (this.#broken) throw this.#broken
    return this.#reader
  }

  async #open(model: LanguageModelV4) {
    const { request, toPrompt } = this.#options
    const prompt = await toPrompt(request)
    const result = await model.doStream(callOptions(this.#options, prompt, this.#connection.signal))
    // The caller stopped waiting while the request was sent.
    if (this.#broken) result.stream.cancel().catch(() => undefined)
    return result
  }

  readonly #onAbort = (): void => this.#break(this.#aborted())

  /**
   * One timer for the whole call: when it fires, it checks when the pending read began. No timer is set for each delta.
   */
  #watch(timeoutMs: number): void {
    if (!(timeoutMs > 0) || timeoutMs > 0x7fffffff) return
    const look = (): void => {
      const since = this.#waitingSinceMs
      const waitedMs = since === 0 ? 0 : performance.now() - since
      if (waitedMs >= timeoutMs) this.#break(this.#stalled(timeoutMs))
      else this.#timer = setTimeout(look, Math.ceil(timeoutMs - waitedMs))
    }
    this.#timer = setTimeout(look, timeoutMs)
  }

  #break(error: ModelError): void {
    this.#broken ??= error
    this.#rejectStart?.(error)
    // Cancelling settles a pending read even if the provider's stream ignores the signal.
    this.#disconnect()
  }

  #disconnect(): void {
    this.#reader?.cancel().catch(() => undefined)
    this.#connection.abort()
  }

  #release(): void {
    this.#isDone = true
    clearTimeout(this.#timer)
    this.#options.request.signal.removeEventListener("abort", this.#onAbort)
    this.#metadata.clear()
  }

  #failed(error: unknown): ModelError {
    const { ref, mask, keyName } = this.#options
    const responseHeaders = this.#responseHeaders
    this.#release()
    this.#disconnect()
    return this.#broken ?? classifyError(error, { ref, mask, keyName, responseHeaders })
  }

  #eventOf(part: LanguageModelV4StreamPart): ModelEvent | undefined {
    switch (part.type) {
      case "text-delta":
        if (part.providerMetadata !== undefined) this.#remember(part.id, part.providerMetadata)
        if (part.delta === "") return undefined
        this.#hasContent = true
        return { type: "text-delta", id: part.id, text: part.delta }
      case "reasoning-delta":
        if (part.providerMetadata !== undefined) this.#remember(part.id, part.providerMetadata)
        if (part.delta === "") return undefined
        this.#hasContent = true
        return { type: "reasoning-delta", id: part.id, text: part.delta }
      case "tool-input-delta":
        return { type: "tool-input-delta", id: part.id, text: part.delta }
      case "text-start":
      case "reasoning-start": {
        const metadata = this.#remember(part.id, part.providerMetadata)
        if (metadata && part.type === "reasoning-start") this.#hasContent = true
        return { type: part.type, id: part.id, ...(metadata && { metadata }) }
      }
      case "text-end":
      case "reasoning-end": {
        const metadata = this.#remember(part.id, part.providerMetadata)
        this.#metadata.delete(part.id)
        return { type: part.type, id: part.id, ...(metadata && { metadata }) }
      }
      case "tool-input-start":
        if (part.providerExecuted) return undefined
        return { type: "tool-input-start", id: part.id, tool: this.#toolName(part.toolName) }
      case "tool-input-end":
        return { type: "tool-input-end", id: part.id }
      case "tool-call": {
        if (part.providerExecuted) return undefined
        this.#hasContent = true
        const metadata = part.providerMetadata as JsonObject | undefined
        // Some servers send an empty string for a call without arguments.
        const input = part.input.trim() === "" ? "{}" : part.input
        return {
          type: "tool-call",
          id: part.toolCallId,
          tool: this.#toolName(part.toolName),
          input,
          ...(metadata && { metadata }),
        }
      }
      case "file": {
        if (part.data.type !== "data") return undefined
        this.#hasContent = true
        const { data } = part.data
        return {
          type: "file",
          mime: part.mediaType,
          bytes: typeof data === "string" ? Buffer.from(data, "base64") : data,
        }
      }
      case "finish":
        return this.#finish(part)
      case "error":
        throw part.error
      default:
        return undefined
    }
  }

  #finish(part: Extract<LanguageModelV4StreamPart, { type: "finish" }>): ModelEvent {
    const unified = part.finishReason.unified
    if (unified === "interrupted") throw cutOff(this.#options)
    const usage = tokensOf(part.usage)
    const isSilent = usage === undefined || usage.output + usage.reasoning === 0
    if (!this.#hasContent && isSilent && emptyReasons.has(unified)) {
      throw new ModelError("malformed", `The answer of ${this.#name()} was empty.`)
    }
    this.#release()
    this.#drain()
    const metadata = part.providerMetadata as JsonObject | undefined
    const hasMetadata = Object.values(metadata ?? {}).some((value) => Object.keys(value ?? {}).length > 0)
    return {
      type: "finish",
      reason: finishReasons.has(unified) ? unified : "other",
      ...(usage && { usage }),
      ...(hasMetadata && { metadata }),
    }
  }

  /** Reads the rest of the body, so that the connection can be reused. */
  #drain(): void {
    const timer = setTimeout(() => this.#disconnect(), drainTimeoutMs).unref()
    const reader = this.#reader!
    const readOn = async () => {
      while (!(await reader.read()).done);
    }
    readOn()
      .catch(() => this.#disconnect())
      .finally(() => clearTimeout(timer))
  }

  /** Merges metadata into that of an open text or reasoning, by provider, and returns the result. */
  #remember(id: string, added: SharedV4ProviderOptions | undefined): JsonObject | undefined {
    const before = this.#metadata.get(id)
    if (added === undefined) return before
    const merged: JsonObject = { ...before }
    for (const [provider, values] of Object.entries(added)) {
      merged[provider] = { ...(before?.[provider] as JsonObject | undefined), ...values }
    }
    this.#metadata.set(id, merged)
    return merged
  }

  #toolName(said: string): string {
    return this.#toolNames?.get(said) ?? said
  }

  #name(): string {
    const { ref } = this.#options
    return `${ref.providerID}/${ref.modelID}`
  }

  #aborted(): ModelError {
    return new ModelError("aborted", "The call was aborted.")
  }

  #stalled(timeoutMs: number): ModelError {
    return new ModelError("stalled", `Nothing came from ${this.#name()} for ${timeoutMs / 1000} s.`)
  }
}

const finishReasons: ReadonlySet<string> = new Set<FinishReason>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
])

/**
 * An answer without content and with one of these reasons counts as empty. Other reasons explain the missing content.
 */
const emptyReasons: ReadonlySet<string> = new Set<FinishReason>(["stop", "other", "tool-calls"])
