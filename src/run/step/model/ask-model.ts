import { setImmediate } from "node:timers/promises"
import type { ModelEvent, ModelRequest } from "../../../models/model.ts"
import { ModelError } from "../../../models/model-error.ts"
import { noTokens, type PartBody, type Tokens } from "../../../protocol/index.ts"
import { type ContextMessage, costOf } from "../../../session/index.ts"
import type { Op } from "../../../stores/commit.ts"
import { outputTokensMax, windowOf } from "../../context/context-window.ts"
import { shownOptions } from "../../context/make-room.ts"
import {
  correctionOf,
  counted,
  estimateSystemTokens,
  estimateToolTokens,
} from "../../context/next-call-tokens.ts"
import { readAllowed } from "../../prompt/prompt-files.ts"
import type { ModelCallTelemetry } from "../../telemetry/call-telemetry.ts"
import type { Step } from "../step-plan.ts"
import { systemPrompt } from "../system-prompt.ts"
import { withGrace } from "../tools/abort-grace.ts"
import type { Call } from "../tools/tool-calls.ts"
import { Answer } from "./answer.ts"
import { idleTimeout } from "./idle-timeout.ts"
import { givenUp, retryDelayMs, waitMs } from "./retry.ts"

export interface Asked {
  calls: Call[]
  /** What is left to commit, with the seal: the end of an answer without calls. */
  ops: Op[]
}

/**
 * Asks the model and writes what it says into the open message, again where the failure can pass. A try that failed
 * leaves nothing but its retry part. Throws the ModelError that was the last.
 */
export async function askModel(plan: Step): Promise<Asked> {
  const { run, open } = plan
  const request = requestOf(plan)
  for (let attempt = 1; ; attempt++) {
    const keep = open.parts.length
    try {
      return await oneTry(plan, request)
    } catch (error) {
      if (!(error instanceof ModelError) || run.signal.aborted) throw error
      const { timing, metrics } = run.engine
      const delayMs = retryDelayMs(error, attempt, { timing, random: Math.random })
      if (delayMs === undefined) throw givenUp(error, attempt, { timing })
      metrics.retried(error.kind)
      const now = run.engine.clock.now()
      const part: PartBody = {
        id: run.engine.newID("part"),
        type: "retry",
        attempt,
        error: error.toMessageError(plan.model.ref),
        time: { created: now },
      }
      open.stop()
      await run.writer.commit([...open.flushOps(), open.truncateOp(keep), open.putOp(part)])
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
    messages: goingOn(run.memo.context(shownOptions(run, setup))),
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

/** What a fast model says is there all at once: after this long others get their turn, and those who listen theirs. */
const sliceMs = 10
const eventsPerLook = 16

/** What the provider counted, or else an estimate; how far that is off is remembered for the next one. */
function countTokens(plan: Step, answer: Answer, request: ModelRequest): Tokens {
  const { memo } = plan.run
  const shown = memo.shownTokens(shownOptions(plan.run, plan.setup))
  const estimated = estimateOf({ shown, system: request.system, tools: request.tools })
  const { usage } = answer
  if (!usage) {
    return {
      ...noTokens(),
      input: Math.ceil(estimated() * correctionOf(memo.counted)),
      output: answer.estimate(),
    }
  }
  // Where nobody knows the window, nobody asks how full it is.
  const { limit } = windowOf({ model: plan.model, agent: plan.agent, config: plan.setup.loaded.config })
  if (Number.isFinite(limit)) {
    memo.counted = counted(usage.input + usage.cache.read + usage.cache.write, estimated)
  }
  return usage
}

/** Apart, since it is remembered after the run, which it must not hold. */
function estimateOf(sent: { shown: number } & Pick<ModelRequest, "system" | "tools">): () => number {
  return () => sent.shown + estimateSystemTokens(sent.system) + estimateToolTokens(sent.tools)
}

const goOnText = "[Your answer was cut off here. Go on from where it ends; do not repeat it.]"

/** An answer that was cut off is gone on with: most providers refuse to be asked by their own model. */
function goingOn(messages: readonly ContextMessage[]): readonly ContextMessage[] {
  if (messages.at(-1)?.role !== "assistant") return messages
  return [...messages, { role: "user", content: [{ type: "text", text: goOnText }] }]
}

async function fileBytes(plan: Step, url: string): Promise<Uint8Array> {
  if (url.startsWith("blob:")) return plan.run.engine.store.blobs.get(url.slice("blob:".length))
  return readAllowed(url, { workspace: plan.run.project.workspace, decide: plan.decide })
}

async function oneTry(plan: Step, request: ModelRequest): Promise<Asked> {
  const { run, agent, model, setup } = plan
  const call = run.telemetry.modelCall({ agent: agent.name, model, request, mask: setup.mask })
  try {
    return await call.within(() => hear(plan, { request, call }))
  } catch (error) {
    call.fail(run.signal.aborted ? run.signal.reason : error)
    throw error
  } finally {
    call.end()
  }
}

interface Hearing {
  request: ModelRequest
  call: ModelCallTelemetry
}

async function hear(plan: Step, { request, call }: Hearing): Promise<Asked> {
  const { run, open } = plan
  const answer = new Answer(plan)
  const before = open.parts.length
  // A model that is deaf to the signal is given up too.
  const idle = idleTimeout(plan.model, plan.setup.loaded.config.idleTimeoutMs)
  try {
    const listening = listen(plan, { request, call, answer, heard: idle.heard })
    await Promise.race([withGrace(listening, run.signal, run.engine.timing.toolGraceMs), idle.stalled])
  } finally {
    idle.stop()
  }
  run.signal.throwIfAborted()
  const ended = await answer.endOps()
  const spent = spentOn(plan, answer, request)
  const ops = [...ended, ...accountOps(plan, answer, spent)]
  const { calls } = answer
  call.done({ ...spent, finish: finishOf(answer), parts: () => open.parts.slice(before) })
  // One commit says that the model has ended, what it wants done and what it cost: each exactly once.
  if (calls.length === 0) return { calls, ops }
  await run.writer.commit(ops)
  return { calls, ops: [] }
}

async function listen(
  plan: Step,
  { request, call, answer, heard }: Hearing & { answer: Answer; heard: () => void },
): Promise<void> {
  const { signal } = plan.run
  // Looking at the signal for each event costs as much as the event.
  let isOver = signal.aborted
  const end = () => {
    isOver = true
  }
  signal.addEventListener("abort", end, { once: true })
  plan.run.tellAsking()
  let sliceEnd = performance.now() + sliceMs
  let taken = 0
  const take = (event: ModelEvent): Promise<void> | undefined => {
    heard()
    if (taken === 0) call.began()
    answer.take(event)
    if (++taken % eventsPerLook !== 0 || performance.now() < sliceEnd) return undefined
    return setImmediate().then(() => {
      sliceEnd = performance.now() + sliceMs
    })
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
    // Whatever a model says to being aborted: it was.
    if (!isOver) throw error
  } finally {
    // A signal that follows others is kept, with the whole run, as long as somebody listens to it.
    signal.removeEventListener("abort", end)
  }
}

interface Spent {
  tokens: Tokens
  cost: number
}

function spentOn(plan: Step, answer: Answer, request: ModelRequest): Spent {
  const { price } = plan.model
  const tokens = countTokens(plan, answer, request)
  return { tokens, cost: price ? costOf(tokens, price) : 0 }
}

function finishOf({ reason, calls }: Answer): string {
  if (calls.length > 0) return "tool-calls"
  // A model that ends for calls and has made none has ended.
  return reason === "tool-calls" ? "other" : reason
}

function accountOps(plan: Step, answer: Answer, { tokens, cost }: Spent): Op[] {
  const { run, open } = plan
  const isCut = answer.reason === "length" && answer.calls.length === 0
  const message = open.messageOp({
    finish: finishOf(answer),
    tokens,
    cost,
    ...(isCut && {
      error: {
        name: "MessageOutputLengthError" as const,
        data: { message: "The answer reached the model's longest output." },
      },
    }),
  })
  const spent: Op = { op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }
  // The seal has the message too.
  return answer.calls.length > 0 ? [message, spent] : [spent]
}
