import type { ModelEvent, ModelRequest } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { noTokens, type PartBody, type Tokens } from "../../../protocol/index.ts"
import { type ContextMessage, costOf } from "../../../session/index.ts"
import type { Op } from "../../../stores/commit.ts"
import { outputTokensMax, windowOf } from "../../context/context-window.ts"
import { shownOptions } from "../../context/make-room.ts"
import {
  correctionOf,
  countedCall,
  estimateSystemTokens,
  estimateToolTokens,
} from "../../context/next-call-tokens.ts"
import { readAllowed } from "../../prompt/prompt-files.ts"
import type { ModelCallTelemetry } from "../../telemetry/call-telemetry.ts"
import type { Step } from "../step-plan.ts"
import { systemPrompt } from "../system-prompt.ts"
import { withGrace } from "../tools/abort-grace.ts"
import type { Call } from "../tools/tool-calls.ts"
import { StreamedAnswer } from "./answer.ts"
import { idleTimeout } from "./idle-timeout.ts"
import { finalError, retryDelayMs, waitMs } from "./retry.ts"

export interface AskedModel {
  calls: Call[]
  /** Operations that the caller commits with the seal. Empty if there are calls: then they are already committed. */
  ops: Op[]
}

/**
 * Asks the model and writes its answer into the open message. A failure that may pass is retried: the parts of the
 * failed attempt are removed, and a retry part is added. Throws the last ModelError if no attempt succeeds.
 */
export async function askModel(plan: Step): Promise<AskedModel> {
  const { run, openMessage } = plan
  const request = requestOf(plan)
  for (let attempt = 1; ; attempt++) {
    const keep = openMessage.parts.length
    try {
      return await tryOnce(plan, request)
    } catch (error) {
      if (!(error instanceof ModelError) || run.signal.aborted) throw error
      const { timing, metrics } = run.engine
      const delayMs = retryDelayMs(error, attempt, { timing, random: Math.random })
      if (delayMs === undefined) throw finalError(error, attempt, { timing })
      metrics.retried(error.kind)
      const now = run.engine.clock.now()
      const part: PartBody = {
        id: run.newID("part"),
        type: "retry",
        attempt,
        error: error.toMessageError(plan.model.ref),
        time: { created: now },
      }
      openMessage.stopTimer()
      await run.writer.commit([
        ...openMessage.flushOps(),
        openMessage.truncateOp(keep),
        openMessage.putOp(part),
      ])
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
    messages: withContinueText(run.memo.context(shownOptions(run, setup))),
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

/** A fast model may have all its events ready at once. After so many, other runs and subscribers may get a tick. */
const eventsPerSliceCheck = 16

/** The provider's count, or else an estimate. The memo keeps a count, to correct later estimates. */
function countTokens(plan: Step, answer: StreamedAnswer, request: ModelRequest): Tokens {
  const { memo } = plan.run
  const shown = memo.shownTokens(shownOptions(plan.run, plan.setup))
  const estimated = inputEstimate({ shown, system: request.system, tools: request.tools })
  const { usage } = answer
  if (!usage) {
    return {
      ...noTokens(),
      input: Math.ceil(estimated() * correctionOf(memo.lastCounted)),
      output: answer.estimateOutputTokens(),
    }
  }
  // With an unknown context window, the size of a call is never estimated, so the correction is not needed.
  const { limit } = windowOf({ model: plan.model, agent: plan.agent, config: plan.setup.loaded.config })
  if (Number.isFinite(limit)) {
    memo.lastCounted = countedCall(usage.input + usage.cache.read + usage.cache.write, estimated)
  }
  return usage
}

/** A function of its own: the memo keeps the closure after the run, and it must not hold the run in memory. */
function inputEstimate(sent: { shown: number } & Pick<ModelRequest, "system" | "tools">): () => number {
  return () => sent.shown + estimateSystemTokens(sent.system) + estimateToolTokens(sent.tools)
}

const continueText =
  "[Your answer was interrupted here. Continue from where it ends; do not repeat what you wrote.]"

/** After an interrupted answer the context ends with an assistant message, which most providers refuse. */
function withContinueText(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  if (messages.at(-1)?.role !== "assistant") return messages
  return [...messages, { role: "user", content: [{ type: "text", text: continueText }] }]
}

async function fileBytes(plan: Step, url: string): Promise<Uint8Array> {
  if (url.startsWith("blob:")) return plan.run.engine.store.blobs.get(url.slice("blob:".length))
  return readAllowed(url, { workspace: plan.run.project.workspace, decide: plan.decide })
}

async function tryOnce(plan: Step, request: ModelRequest): Promise<AskedModel> {
  const { run, agent, model, setup } = plan
  const call = run.telemetry.modelCall({ agent: agent.name, model, request, mask: setup.mask })
  try {
    return await call.within(() => readAnswer(plan, { request, call }))
  } catch (error) {
    call.fail(run.signal.aborted ? run.signal.reason : error)
    throw error
  } finally {
    call.end()
  }
}

interface ModelCall {
  request: ModelRequest
  call: ModelCallTelemetry
}

async function readAnswer(plan: Step, { request, call }: ModelCall): Promise<AskedModel> {
  const { run, openMessage } = plan
  const answer = new StreamedAnswer(plan)
  const before = openMessage.parts.length
  // A model that ignores the abort signal is abandoned after a grace period.
  const idle = idleTimeout(plan.model, plan.setup.loaded.config.idleTimeoutMs)
  try {
    const reading = readEvents(plan, { request, call, answer, onEvent: idle.restart })
    await Promise.race([withGrace(reading, run.signal, run.engine.timing.toolGraceMs), idle.stalled])
  } finally {
    idle.stop()
  }
  run.signal.throwIfAborted()
  const ended = await answer.endOps()
  const usage = usageOf(plan, answer, request)
  const ops = [...ended, ...usageOps(plan, answer, usage)]
  const { calls } = answer
  call.done({ ...usage, finish: finishOf(answer), parts: () => openMessage.parts.slice(before) })
  // One commit holds the end of the answer, the tool calls and the cost, so that each is stored exactly once.
  if (calls.length === 0) return { calls, ops }
  await run.writer.commit(ops)
  return { calls, ops: [] }
}

async function readEvents(
  plan: Step,
  { request, call, answer, onEvent }: ModelCall & { answer: StreamedAnswer; onEvent: () => void },
): Promise<void> {
  const { signal } = plan.run
  // Reading `signal.aborted` for each event would cost as much as handling the event.
  let isOver = signal.aborted
  const end = () => {
    isOver = true
  }
  signal.addEventListener("abort", end, { once: true })
  plan.run.notifyWaiting()
  const { slices } = plan.run.engine
  let taken = 0
  const take = (event: ModelEvent): Promise<void> | undefined => {
    onEvent()
    if (taken === 0) call.began()
    answer.take(event)
    return taken++ % eventsPerSliceCheck === 0 ? slices.turn() : undefined
  }
  const stream = plan.model.stream(request)
  try {
    if (stream.each) return await stream.each((event) => (isOver ? undefined : take(event)))
    for await (const event of stream) {
      if (isOver) return
      const waiting = take(event)
      if (waiting) await waiting
    }
  } catch (error) {
    // After an abort, the model's own error does not matter.
    if (!isOver) throw error
  } finally {
    // A listener on a combined signal would keep the signal, and with it the whole run, in memory.
    signal.removeEventListener("abort", end)
  }
}

interface Usage {
  tokens: Tokens
  cost: number
}

function usageOf(plan: Step, answer: StreamedAnswer, request: ModelRequest): Usage {
  const { price } = plan.model
  const tokens = countTokens(plan, answer, request)
  return { tokens, cost: price ? costOf(tokens, price) : 0 }
}

function finishOf({ reason, calls }: StreamedAnswer): string {
  if (calls.length > 0) return "tool-calls"
  // Some models end with "tool-calls" without a call. That ends the turn.
  return reason === "tool-calls" ? "other" : reason
}

function usageOps(plan: Step, answer: StreamedAnswer, { tokens, cost }: Usage): Op[] {
  const { run, openMessage } = plan
  const isCut = answer.reason === "length" && answer.calls.length === 0
  const message = openMessage.messageOp({
    finish: finishOf(answer),
    tokens,
    cost,
    ...(isCut && {
      error: {
        name: "MessageOutputLengthError" as const,
        data: { message: "The answer reached the model's output limit." },
      },
    }),
  })
  const total: Op = { op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }
  // Without calls the message is sealed next, and the seal writes the message.
  return answer.calls.length > 0 ? [message, total] : [total]
}
