import { setTimeout as delay } from "node:timers/promises"
import type { Tokens } from "../protocol/index.ts"
import type { FinishReason, ModelEvent, ModelRequest } from "./model.ts"
import { ModelError, type ModelErrorKind } from "./model-error.ts"

export interface PlayedCall {
  tool: string
  /** A string is passed on unchanged, so that a test can play input that is not valid JSON. */
  input: object | string
  id?: string
}

export interface PlayedError {
  kind: ModelErrorKind
  message?: string
  /** After how many deltas the error is thrown, at the latest in place of `finish`; 0 if absent. */
  afterDeltas?: number
  retryAfterMs?: number
  statusCode?: number
}

/** A prepared answer. Its events are: reasoning, text, calls, then the finish or the error. */
export interface PlayedAnswer {
  /** An array lists the deltas; a string is split into words. */
  text?: string | readonly string[]
  reasoning?: string | readonly string[]
  calls?: readonly PlayedCall[]
  usage?: Tokens
  finish?: FinishReason
  /** Delay before the first event. `Infinity` plays a stalled call. */
  delayMs?: number
  /** Delay between two deltas. */
  deltaDelayMs?: number
  error?: PlayedError
}

/** Yields the events of an answer, under the contract of `Model.stream`. */
export async function* playAnswer(answer: PlayedAnswer, request: ModelRequest): AsyncGenerator<ModelEvent> {
  await pause(answer.delayMs ?? 0, request)
  let deltas = 0
  for (const event of eventsOf(answer, request)) {
    if (answer.error && deltas >= (answer.error.afterDeltas ?? 0)) break
    if (isDelta(event) && deltas++ > 0) await pause(answer.deltaDelayMs ?? 0, request)
    throwIfAborted(request.signal)
    yield event
  }
  throwIfAborted(request.signal)
  if (answer.error) throw errorOf(answer.error)
  yield {
    type: "finish",
    reason: answer.finish ?? (answer.calls?.length ? "tool-calls" : "stop"),
    ...(answer.usage && { usage: answer.usage }),
  }
}

/** Awaits `work` until the request is aborted or its idle timeout passes. */
export async function waitFor<T>(work: Promise<T>, request: ModelRequest): Promise<T> {
  const over = new AbortController()
  const signal = AbortSignal.any([request.signal, over.signal])
  const patience = pause(Number.POSITIVE_INFINITY, { ...request, signal })
  try {
    return await Promise.race([work, patience.then(() => work)])
  } finally {
    over.abort()
    patience.catch(() => {})
  }
}

/** Splits a text before its spaces, so that every delta but the first starts with the space before a word. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*\S+\s*$|\s*\S+|\s+/g) ?? []
}

function* eventsOf(answer: PlayedAnswer, request: ModelRequest): Generator<ModelEvent> {
  const reasoning = deltasOf(answer.reasoning)
  if (reasoning.length > 0) {
    const id = "reasoning"
    yield { type: "reasoning-start", id }
    for (const text of reasoning) yield { type: "reasoning-delta", id, text }
    yield { type: "reasoning-end", id }
  }
  const texts = deltasOf(answer.text)
  if (texts.length > 0) {
    const id = "text"
    yield { type: "text-start", id }
    for (const text of texts) yield { type: "text-delta", id, text }
    yield { type: "text-end", id }
  }
  const freeID = callIDs(answer, request)
  for (const call of answer.calls ?? []) {
    const id = call.id ?? freeID()
    const input = typeof call.input === "string" ? call.input : JSON.stringify(call.input)
    yield { type: "tool-input-start", id, tool: call.tool }
    yield { type: "tool-input-delta", id, text: input }
    yield { type: "tool-input-end", id }
    yield { type: "tool-call", id, tool: call.tool, input }
  }
}

function deltasOf(text: string | readonly string[] | undefined): readonly string[] {
  return typeof text === "string" ? wordsOf(text) : (text ?? [])
}

/** Returns a function that makes ids which no call of this context has: providers require unique ids. */
function callIDs(answer: PlayedAnswer, request: ModelRequest): () => string {
  const taken = new Set(answer.calls?.map((call) => call.id))
  let number = 0
  return () => {
    if (number === 0) {
      for (const message of request.messages) {
        if (message.role !== "assistant") continue
        for (const part of message.content) if (part.type === "tool-call") taken.add(part.callID)
      }
      number = request.messages.length
    }
    while (taken.has(`call_${number}`)) number++
    return `call_${number++}`
  }
}

function isDelta({ type }: ModelEvent): boolean {
  return type === "text-delta" || type === "reasoning-delta" || type === "tool-input-delta"
}

/** The longest delay that a timer accepts. */
const timerMsMax = 2 ** 31 - 1

async function pause(
  ms: number,
  { signal, idleTimeoutMs }: Pick<ModelRequest, "signal" | "idleTimeoutMs">,
): Promise<void> {
  throwIfAborted(signal)
  const waitMs = Math.min(ms, idleTimeoutMs)
  if (waitMs > 0) {
    await delay(Math.min(waitMs, timerMsMax), undefined, { signal }).catch(() => throwIfAborted(signal))
  }
  if (ms > 0 && ms >= idleTimeoutMs) {
    throw new ModelError("stalled", `The model gave nothing for ${idleTimeoutMs} ms.`)
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ModelError("aborted", "The call of the model was aborted.")
}

function errorOf({ kind, message, retryAfterMs, statusCode }: PlayedError): ModelError {
  return new ModelError(kind, message ?? `The script says that this call fails (${kind}).`, {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(statusCode !== undefined && { statusCode }),
  })
}
