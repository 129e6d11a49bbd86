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

/** Whoever answers makes them up. */
const callIDUnitsMax = 128

interface Turn {
  span: TracedSpan | undefined
  tokens: Tokens
  /** How the last step ended. */
  last?: { finish: string; error?: MessageError }
}

export interface ModelCallOptions {
  agent: string
  model: Model
  request: ModelRequest
  mask: (text: string) => string
  /** For a call outside the turn: what it belongs to. */
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

/** What is counted and traced of one session's run. Nothing here fails, or waits but for the tracing API to be loaded. */
export class RunTelemetry {
  readonly #engine: Engine
  readonly #sessionID: string
  #turn: Turn | undefined
  /** What is done outside a turn belongs to this. */
  #caller: TraceContext | undefined
  #stepStartedMs: number | undefined
  /** Of the calls that are going on, by part. */
  readonly #calls = new Map<string, TracedSpan>()

  constructor(options: { engine: Engine; sessionID: string }) {
    this.#engine = options.engine
    this.#sessionID = options.sessionID
  }

  /** A prompt is about to be answered; without one, an answer that was cut off is gone on with. To be awaited if it is a promise. */
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

  /** Prompts that are taken within the turn: what they were sent in has to do with it. */
  join(prompts: readonly { id: string }[]): void {
    for (const { id } of prompts) {
      const context = this.#engine.tracing.take(id)
      if (context) this.#turn?.span?.link(context)
    }
  }

  /** What is done outside a turn belongs to what its caller is doing. */
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

  /** Does nothing for a step that was not begun here: it is only repaired. */
  stepEnded({ finish, error }: { finish: string; error?: MessageError | undefined }): void {
    const startedMs = this.#stepStartedMs
    if (startedMs === undefined) return
    this.#stepStartedMs = undefined
    this.#engine.metrics.stepEnded(finish, performance.now() - startedMs)
    if (this.#turn) this.#turn.last = { finish, ...(error && { error }) }
  }

  /** The turn is over: as its last step ended, unless told otherwise. Does nothing if there is none. */
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
      span.fail({ type: outcome === "error" ? type : outcome, message: messages[outcome] })
    }
    span.end()
  }

  /** What is done now belongs to this. */
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

  /** A call that is going on sends a prompt to another session: what answers it belongs to the call. */
  handOn({ partID, promptID }: { partID: string; promptID: string }): void {
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

const messages: Record<RunOutcome, string> = {
  stop: "",
  error: "The run failed.",
  aborted: "The run was aborted.",
  interrupted: "The run was cut off: its process closed, or lost the session to another one.",
}

/** A turn without any step was refused; one that ends with calls was cut off after them. */
function outcomeOf(last: Turn["last"]): RunOutcome {
  if (!last) return "error"
  if (last.finish === "aborted") return "aborted"
  if (last.finish === "interrupted" || last.finish === "tool-calls") return "interrupted"
  // What was said until a limit was reached is an answer.
  return last.error && last.error.name !== "MessageOutputLengthError" ? "error" : "stop"
}
