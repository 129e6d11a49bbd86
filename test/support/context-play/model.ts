import type { Model, ModelEvent, ModelRequest } from "../../../src/models/model.ts"
import { type PlayedAnswer, playAnswer } from "../../../src/models/play-answer.ts"
import type { Tokens } from "../../../src/protocol/index.ts"
import { estimateSystemTokens, estimateToolTokens } from "../../../src/run/context/next-call-tokens.ts"
import { estimateContextTokens, estimateTokens } from "../../../src/session/index.ts"

export interface Limit {
  context: number
  output: number
}

/** A request, and its tokens by the model's own count. */
export interface Seen {
  request: ModelRequest
  tokens: number
  /** The limit at the time of the request. */
  limit: Limit
}

export type Answering = (request: ModelRequest) => PlayedAnswer | Promise<PlayedAnswer>

/**
 * A model with a context window: it refuses a context that does not fit, as providers do. Steps get the planned
 * answers, and then a plain text; a request for a summary gets `summary`.
 */
export class WindowedModel implements Model {
  readonly ref = { providerID: "scripted", modelID: "m" }
  limit: Limit
  readonly seen: Seen[] = []
  /** Answers to the next steps. */
  planned: Answering[] = []
  summary: Answering = () => ({ text: "A summary." })
  /** The model's tokens for one token of our estimate; undefined if the model reports no usage. */
  readonly counts: number | undefined

  constructor(limit: Limit, counts?: number) {
    this.limit = limit
    this.counts = counts
  }

  stream(request: ModelRequest): AsyncIterable<ModelEvent> {
    const tokens = Math.ceil(requestTokens(request) * (this.counts ?? 1))
    this.seen.push({ request, tokens, limit: this.limit })
    return this.#play(request, tokens)
  }

  async *#play(request: ModelRequest, tokens: number): AsyncGenerator<ModelEvent> {
    const message = `The prompt is too long: ${tokens} tokens > ${this.limit.context} maximum.`
    const tooLong: PlayedAnswer = { error: { kind: "context", message } }
    const answer = tokens > this.limit.context ? tooLong : await this.#answer(request)
    const usage = this.counts === undefined ? undefined : this.#usage(answer, { tokens, factor: this.counts })
    yield* playAnswer({ ...answer, ...(usage && { usage }) }, request)
  }

  #usage(answer: PlayedAnswer, { tokens, factor }: { tokens: number; factor: number }): Tokens {
    const count = (said: unknown) =>
      Math.ceil(estimateTokens(said === undefined ? "" : String(said)) * factor)
    return {
      input: tokens,
      output: count(answer.text) + count(answer.calls && JSON.stringify(answer.calls)),
      reasoning: count(answer.reasoning),
      cache: { read: 0, write: 0 },
    }
  }

  async #answer(request: ModelRequest): Promise<PlayedAnswer> {
    if (request.purpose !== "step") return this.summary(request)
    return (await this.planned.shift()?.(request)) ?? { text: "Done." }
  }
}

export function requestTokens(request: ModelRequest): number {
  return request.messages.reduce(
    (sum, message) => sum + estimateContextTokens(message),
    overheadTokens(request),
  )
}

/** The tokens of everything that is sent beside the messages. */
export function overheadTokens({ system, tools }: ModelRequest): number {
  return estimateSystemTokens(system) + estimateToolTokens(tools)
}
