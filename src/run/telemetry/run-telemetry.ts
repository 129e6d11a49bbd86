import type { Attributes } from "@opentelemetry/api"
import type { Model, ModelRequest } from "../../models/model.ts"
import { type MessageError, type ModelRef, noTokens, type Tokens } from "../../protocol/index.ts"
import { addTokens } from "../../session/index.ts"
import { cutText } from "../../tools/output.ts"
import type { Engine } from "../engine.ts"
import { ModelCallTelemetry, ToolCallTelemetry } from "./call-telemetry.ts"
import {
  errorTypeOf,
  finishAttributes,
  inputContent,
  modelAttributes,
  requestAttributes,
  usageAttributes,
} from "./gen-ai.ts"
import { otherName, type RunOutcome } from "./metrics.ts"
import type { TraceContext, TracedSpan } from "./tracing.ts"

/** Call ids come from the model and can be of any length. */
const callIDUnitsMax = 128

interface Turn {
  span: TracedSpan | undefined
  tokens: Tokens
  /** The end of the last step. */
  last?: { finish: string; error?: MessageError }
}

export interface ModelCallOptions {
  agent: string
  model: Model
  request: ModelRequest
  mask: (text: string) => string
  /** For a call outside the turn: its parent span. */
  outside?: { parent: TraceContext | undefined }
}

export interface ToolCallOptions {
  partID: string
  callID: string
  tool: string
  /** False for a name that the model made up. */
  isKnown: boolean
  mask: (text: string) => string
}

/** Metrics and spans of one session's run. No method throws, and none waits except for the tracing API to load. */
export class RunTelemetry {
  readonly #engine: Engine
  readonly #sessionID: string
  #turn: Turn | undefined
  /** The parent span of work outside a turn. */
  #caller: TraceContext | undefined
  #stepStartedMs: number | undefined
  /** The spans of the running tool calls, by part id. */
  readonly #calls = new Map<string, TracedSpan>()

  constructor(options: { engine: Engine; sessionID: string }) {
    this.#engine = options.engine
    this.#sessionID = options.sessionID
  }

  /** Begins a turn. Without `promptID`, an interrupted turn is continued. The caller must await a returned promise. */
  begin(turn: { promptID?: string; agent: string; model: ModelRef }): Promise<void> | undefined {
    const { metrics, tracing } = this.#engine
    metrics.runStarted()
    const begun: Turn = {
      span: undefined,
      tokens: noTokens(),
      ...(turn.promptID === undefined && { last: { finish: "interrupted" } }),
    }
    this.#turn = begun
    const open = () => {
      const { promptID, agent, model } = turn
      begun.span = tracing.start(`invoke_agent ${agent}`, {
        kind: "internal",
        attributes: { ...this.#attributes("invoke_agent", agent), ...modelAttributes(model) },
        parent: promptID === undefined ? undefined : tracing.take(promptID),
      })
    }
    const loading = tracing.prepare()
    if (loading) return loading.then(open)
    open()
    return undefined
  }

  /** Links the turn's span to the spans in which the given prompts, taken within the turn, were sent. */
  join(prompts: readonly { id: string }[]): void {
    for (const { id } of prompts) {
      const context = this.#engine.tracing.take(id)
      if (context) this.#turn?.span?.link(context)
    }
  }

  /** Makes the caller's active span the parent of work outside a turn. */
  joinCaller(): Promise<void> | undefined {
    const { tracing } = this.#engine
    const join = () => {
      this.#caller = tracing.active()
    }
    const loading = tracing.prepare()
    if (loading) return loading.then(join)
    join()
    return undefined
  }

  stepBegan(): void {
    this.#stepStartedMs = performance.now()
  }

  /** Does nothing for a step without `stepBegan`: a step of a dead process that recovery only repairs. */
  stepEnded({ finish, error }: { finish: string; error?: MessageError | undefined }): void {
    const startedMs = this.#stepStartedMs
    if (startedMs === undefined) return
    this.#stepStartedMs = undefined
    this.#engine.metrics.stepEnded(finish, performance.now() - startedMs)
    if (this.#turn) this.#turn.last = { finish, ...(error && { error }) }
  }

  /** Ends the turn with the outcome of its last step, unless `otherwise` is given. Does nothing without a turn. */
  end(otherwise?: { outcome: RunOutcome; error?: unknown }): void {
    const turn = this.#turn
    if (!turn) return
    this.#turn = undefined
    this.#stepStartedMs = undefined
    const outcome = otherwise?.outcome ?? outcomeOf(turn.last)
    this.#engine.metrics.runEnded(outcome)
    const { span, last, tokens } = turn
    if (!span) return
    span.set({ ...(last && finishAttributes(last.finish)), ...usageAttributes(tokens) })
    if (outcome !== "stop") {
      const type = otherwise ? errorTypeOf(otherwise.error) : (last?.error?.name ?? outcome)
      span.fail({ type: outcome === "error" ? type : outcome, message: outcomeMessages[outcome] })
    }
    span.end()
  }

  /** The parent for spans that start now. */
  get context(): TraceContext | undefined {
    return this.#turn ? this.#turn.span?.context : this.#caller
  }

  modelCall(options: ModelCallOptions): ModelCallTelemetry {
    const { metrics, tracing } = this.#engine
    const { agent, model, request, mask, outside } = options
    const span = tracing.start(`chat ${model.ref.modelID}`, {
      kind: "client",
      attributes: {
        ...this.#attributes("chat", agent),
        ...modelAttributes(model.ref),
        ...requestAttributes(request),
      },
      parent: outside ? outside.parent : this.context,
    })
    const { showsContent } = tracing
    if (span && showsContent) span.set(inputContent(request, mask))
    const turn = outside ? undefined : this.#turn
    const onSpent = (tokens: Tokens) => {
      if (turn) turn.tokens = addTokens(turn.tokens, tokens)
    }
    return new ModelCallTelemetry({ metrics, span, showsContent, mask, ref: model.ref, onSpent })
  }

  toolCall({ partID, callID, tool, isKnown, mask }: ToolCallOptions): ToolCallTelemetry {
    const { metrics, tracing } = this.#engine
    const name = isKnown ? tool : otherName
    const span = tracing.start(`execute_tool ${name}`, {
      kind: "internal",
      attributes: {
        ...this.#attributes("execute_tool"),
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": cutText(callID, callIDUnitsMax),
        "gen_ai.tool.type": "function",
      },
      parent: this.context,
    })
    if (span) this.#calls.set(partID, span)
    const { showsContent } = tracing
    const onEnd = () => this.#calls.delete(partID)
    return new ToolCallTelemetry({ metrics, span, showsContent, mask, tool: name, onEnd })
  }

  /**
   * A running tool call sends a prompt to another session: the span of its answer becomes a child of the call's span.
   */
  keepContextFor({ partID, promptID }: { partID: string; promptID: string }): void {
    const span = this.#calls.get(partID)
    if (span) this.#engine.tracing.keep(promptID, span.context)
  }

  #attributes(operation: string, agent?: string): Attributes {
    return {
      "gen_ai.operation.name": operation,
      "gen_ai.conversation.id": this.#sessionID,
      ...(agent !== undefined && { "gen_ai.agent.name": agent }),
    }
  }
}

const outcomeMessages: Record<RunOutcome, string> = {
  stop: "",
  error: "The run failed.",
  aborted: "The run was aborted.",
  interrupted: "The run was interrupted: its process closed, or another process took the session over.",
}

/** A turn without a step was refused. A turn whose last step has tool calls was interrupted after them. */
function outcomeOf(last: Turn["last"]): RunOutcome {
  if (!last) return "error"
  if (last.finish === "aborted") return "aborted"
  if (last.finish === "interrupted" || last.finish === "tool-calls") return "interrupted"
  // An answer that reached the output limit is still an answer.
  return last.error && last.error.name !== "MessageOutputLengthError" ? "error" : "stop"
}
