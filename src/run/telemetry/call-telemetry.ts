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

interface CallTelemetry {
  metrics: Metrics
  /** Undefined if no tracer provider is registered. */
  span: TracedSpan | undefined
  /** True if the span may contain messages, tool input and tool output. */
  showsContent: boolean
  mask: (text: string) => string
}

export interface ModelAnswer {
  tokens: Tokens
  cost: number
  finish: string
  /** The parts of the answer, if the caller has them. */
  parts?: () => readonly PartBody[]
}

/** Fixed status texts for failed calls. A tool's own error text may contain anything, so spans do not have it. */
const failures: Record<string, string> = {
  aborted: "The call was aborted.",
  interrupted: "The call was interrupted: its process closed.",
  invalid_input: "The input is not valid for the tool.",
  permission_refused: "The call was not permitted.",
}

/** The span and metrics of one model call. */
export class ModelCallTelemetry {
  readonly #call: CallTelemetry
  readonly #ref: ModelRef
  readonly #startedMs = performance.now()
  readonly #onSpent: (tokens: Tokens) => void

  constructor(options: CallTelemetry & { ref: ModelRef; onSpent: (tokens: Tokens) => void }) {
    this.#call = options
    this.#ref = options.ref
    this.#onSpent = options.onSpent
  }

  within<T>(work: () => T): T {
    const { span } = this.#call
    return span ? span.within(work) : work()
  }

  /** The first event of the model arrived. */
  began(): void {
    const ms = performance.now() - this.#startedMs
    this.#call.metrics.firstToken(this.#ref, ms)
    this.#call.span?.set({ "gen_ai.response.time_to_first_chunk": ms / 1000 })
  }

  done({ tokens, cost, finish, parts }: ModelAnswer): void {
    const { metrics, span, showsContent, mask } = this.#call
    metrics.spent(this.#ref, { tokens, cost })
    this.#onSpent(tokens)
    if (!span) return
    span.set({ ...usageAttributes(tokens), ...finishAttributes(finish) })
    if (showsContent && parts) span.set(outputContent({ parts: parts(), finish }, mask))
  }

  fail(error: unknown): void {
    const { span, mask } = this.#call
    if (!span) return
    const type = errorTypeOf(error)
    span.fail({ type, message: failures[type] ?? statusText(error, mask) })
  }

  end(): void {
    this.#call.span?.end()
  }
}

/** The span and metrics of one tool call. */
export class ToolCallTelemetry {
  readonly #call: CallTelemetry
  readonly #tool: string
  readonly #onEnd: () => void
  #failure = "tool_error"

  /** `tool`: the name under which the call is counted. */
  constructor(options: CallTelemetry & { tool: string; onEnd: () => void }) {
    this.#call = options
    this.#tool = options.tool
    this.#onEnd = options.onEnd
  }

  within<T>(work: () => T): T {
    const { span } = this.#call
    return span ? span.within(work) : work()
  }

  /** Sets the reason for which the call will end with an error. */
  fail(why: { error: unknown } | { type: "invalid_input" }): void {
    const type = "type" in why ? why.type : errorTypeOf(why.error)
    this.#failure = type === "_OTHER" ? "tool_error" : type
  }

  /** An unsettled call is not counted: another process continues it, or it was lost with its run. */
  end(state: ToolState): void {
    const { metrics, span, showsContent, mask } = this.#call
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
