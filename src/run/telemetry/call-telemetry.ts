import { isSettled, type ModelRef, type PartBody, type Tokens, type ToolState } from "../../protocol/index.ts"
import {
  callContent,
  errorTypeOf,
  finishAttributes,
  outputContent,
  statusText,
  usageAttributes,
} from "./gen-ai.ts"
import type { Metrics } from "./metrics.ts"
import type { TracedSpan } from "./tracing.ts"

interface Watched {
  metrics: Metrics
  /** Absent while nobody traces. */
  span: TracedSpan | undefined
  /** Whether what is said may stand in the span. */
  showsContent: boolean
  mask: (text: string) => string
}

export interface ModelAnswer {
  tokens: Tokens
  cost: number
  finish: string
  /** What was said, where it is at hand. */
  parts?: () => readonly PartBody[]
}

/** What a span says of a call that failed. What a tool says may be anything, so it is none of that. */
const failures: Record<string, string> = {
  aborted: "The call was aborted.",
  interrupted: "The call was cut off: its process closed.",
  invalid_input: "The call does not fit the tool.",
  permission_refused: "The call was not permitted.",
}

/** One call of a model. */
export class ModelCallTelemetry {
  readonly #watched: Watched
  readonly #ref: ModelRef
  readonly #startedMs = performance.now()
  readonly #onSpent: (tokens: Tokens) => void

  constructor(options: Watched & { ref: ModelRef; onSpent: (tokens: Tokens) => void }) {
    this.#watched = options
    this.#ref = options.ref
    this.#onSpent = options.onSpent
  }

  within<T>(work: () => T): T {
    const { span } = this.#watched
    return span ? span.within(work) : work()
  }

  /** The model has begun to answer. */
  began(): void {
    const ms = performance.now() - this.#startedMs
    this.#watched.metrics.firstToken(this.#ref, ms)
    this.#watched.span?.set({ "gen_ai.response.time_to_first_chunk": ms / 1000 })
  }

  done({ tokens, cost, finish, parts }: ModelAnswer): void {
    const { metrics, span, showsContent, mask } = this.#watched
    metrics.spent(this.#ref, { tokens, cost })
    this.#onSpent(tokens)
    if (!span) return
    span.set({ ...usageAttributes(tokens), ...finishAttributes(finish) })
    if (showsContent && parts) span.set(outputContent({ parts: parts(), finish }, mask))
  }

  fail(error: unknown): void {
    const { span, mask } = this.#watched
    if (!span) return
    const type = errorTypeOf(error)
    span.fail({ type, message: failures[type] ?? statusText(error, mask) })
  }

  end(): void {
    this.#watched.span?.end()
  }
}

/** One call of a tool. */
export class ToolCallTelemetry {
  readonly #watched: Watched
  readonly #tool: string
  readonly #onEnd: () => void
  #failure = "tool_error"

  /** `tool`: the name to count it under. */
  constructor(options: Watched & { tool: string; onEnd: () => void }) {
    this.#watched = options
    this.#tool = options.tool
    this.#onEnd = options.onEnd
  }

  within<T>(work: () => T): T {
    const { span } = this.#watched
    return span ? span.within(work) : work()
  }

  /** Why it will have no result but an error. */
  fail(why: { error: unknown } | { type: "invalid_input" }): void {
    const type = "type" in why ? why.type : errorTypeOf(why.error)
    this.#failure = type === "_OTHER" ? "tool_error" : type
  }

  /** A call that is not settled goes on elsewhere, or was lost with its run: it does not count. */
  end(state: ToolState): void {
    const { metrics, span, showsContent, mask } = this.#watched
    this.#onEnd()
    const isCompleted = state.status === "completed"
    if (isSettled(state)) metrics.callEnded(this.#tool, isCompleted ? "completed" : "error")
    if (!span) return
    if (showsContent) span.set(callContent(state, mask))
    if (!isCompleted)
      span.fail({ type: this.#failure, message: failures[this.#failure] ?? "The tool failed." })
    span.end()
  }
}
