import { ModelError } from "../../models/model-error.ts"
import {
  type AssistantBody,
  type InboxItem,
  isSettled,
  type MessageError,
  type PartBody,
  StemmaError,
  type ToolState,
} from "../../protocol/index.ts"
import type { Op } from "../../stores/commit.ts"
import { sessionUsage } from "../api/session-usage.ts"
import { afterOverflow } from "../context/make-room.ts"
import { openStep } from "../loop/open-step.ts"
import { Aborted, Closing, type Run } from "../loop/run.ts"
import { PermissionRefused } from "../permission/approvals.ts"
import { doomLoop } from "./doom-loop.ts"
import { errorText } from "./error-text.ts"
import { type Asked, askModel } from "./model/ask-model.ts"
import type { OpenMessage } from "./open-message.ts"
import { listGrants, planStep, type Step } from "./step-plan.ts"
import { type Call, runToolCalls } from "./tools/tool-calls.ts"

export type Prompt = Extract<InboxItem, { type: "prompt" }>

/** What comes after a step: another one, or nothing until the next prompt. */
export type Next = "continue" | "idle"

/**
 * One call of the model and the tool calls it asked for: one assistant message. Whatever fails is written into that
 * message; only a lost lease or a store that refuses to write is thrown.
 */
export async function step(run: Run, prompts: readonly Prompt[]): Promise<Next> {
  // Looked up while the commit is on its way.
  const grants = listGrants(run)
  run.telemetry.stepBegan()
  const opened = await openStep(run, prompts)
  if (!opened) return "idle"
  const { open, user, calls: given } = opened
  run.steps++
  if (prompts.some(({ references }) => references)) await run.approvals.dropInherited()
  // An abort that came right behind the prompt is meant for it.
  if (prompts.length > 0) run.handleInbox().catch(() => {})
  let plan: Step | undefined
  try {
    run.signal.throwIfAborted()
    plan = await planStep(run, { open, user, grants })
    if (given.length > 0) {
      // Whoever it is given to must be able to begin.
      run.tellAsking()
      return await finishStep(plan, given)
    }
    await checkBudget(plan)
    const asked = await askWithin(plan)
    if (!asked) {
      run.telemetry.stepEnded({ finish: "compacted" })
      return "continue"
    }
    const { calls, ops } = asked
    return calls.length > 0 ? await finishStep(plan, calls) : await seal(plan, {}, ops)
  } catch (error) {
    return sealFailed(run, { open, error, snapshot: plan?.snapshot() })
  }
}

/** Undefined if the message became a compaction: the next step asks again. */
async function askWithin(plan: Step): Promise<Asked | undefined> {
  for (;;) {
    try {
      const asked = await askModel(plan)
      plan.run.overflows = 0
      plan.run.overflowCompactions = 0
      return asked
    } catch (error) {
      const done = await afterOverflow(plan, error)
      if (done === undefined) throw error
      if (done === "compacted") return undefined
    }
  }
}

/** Runs the calls and seals the message: also for a step that another process began. */
export async function finishStep(plan: Step, calls: readonly Call[]): Promise<Next> {
  const { run, open } = plan
  if (calls.length === 0) return seal(plan, {})
  const { endsRun } = plan.isLastStep ? await refuseCalls(plan, calls) : await runToolCalls(plan, calls)
  run.signal.throwIfAborted()
  if (plan.isLastStep) return seal(plan, { finish: "limit" })
  if (endsRun) return seal(plan, { finish: "rejected" })
  const looping = doomLoop(run.calls)
  if (looping !== undefined) {
    const refused = await askAboutLoop(plan, looping)
    if (refused) return seal(plan, { finish: "error", error: refused })
    run.calls.length = 0
  }
  // The message may have been opened by a writer that did not come to this.
  return seal(plan, { finish: open.message.finish ?? "tool-calls" })
}

async function seal(plan: Step, fields: Partial<AssistantBody>, before: readonly Op[] = []): Promise<Next> {
  const { run, open } = plan
  const flushed = open.flushOps()
  const { ops: changed, snapshot } = await filesAfter(run, open, plan.snapshot())
  const ops: Op[] = [...before, ...flushed, ...changed]
  const finish = fields.finish ?? open.message.finish ?? "stop"
  ops.push(
    open.putOp({
      id: run.engine.newID("part"),
      type: "step-finish",
      reason: finish,
      ...(snapshot !== undefined && { snapshot }),
      cost: open.message.cost,
      tokens: open.message.tokens,
    }),
    open.sealOp({ ...fields, finish, time: completed(run, open) }),
  )
  const { version } = await run.writer.commit(ops)
  run.memo.replaceLast(open.item(version))
  run.telemetry.stepEnded({ finish, error: open.message.error })
  return finish === "tool-calls" ? "continue" : "idle"
}

/** Which files the step changed, if it might have changed any, and how they are now. */
async function filesAfter(
  run: Run,
  open: OpenMessage,
  before: string | undefined,
): Promise<{ ops: Op[]; snapshot?: string }> {
  if (before === undefined) return { ops: [] }
  const changed = await changedFiles(run, before)
  if (!changed) return { ops: [], snapshot: before }
  const { files, snapshot } = changed
  const ops = [
    open.putOp({ id: run.engine.newID("part"), type: "patch", hash: before, files }),
    open.putOp({ id: run.engine.newID("part"), type: "snapshot", snapshot }),
  ]
  return { ops, snapshot }
}

/** Undefined if nothing changed, or if nobody can tell: an answer is worth more than its snapshot. */
async function changedFiles(
  run: Run,
  before: string,
): Promise<{ files: string[]; snapshot: string } | undefined> {
  const { snapshots } = run.project
  try {
    const snapshot = await snapshots.take()
    if (snapshot === undefined || snapshot === before) return undefined
    const files = await snapshots.changed(before, snapshot)
    return files.length > 0 ? { files, snapshot } : undefined
  } catch (error) {
    run.engine.warn(error)
    return undefined
  }
}

/** The message as it was left is sealed with its reason; every unsettled call becomes an error. */
export async function sealFailed(
  run: Run,
  failed: { open: OpenMessage; error: unknown; snapshot: string | undefined },
): Promise<Next> {
  const { open, error } = failed
  open.stop()
  if (run.writer.signal.aborted) throw run.writer.signal.reason
  if (run.isClosing && (await hasTasks(run, open))) {
    // Left as a crash would leave it: the tasks go on below, and whoever opens the session next waits for them.
    const ops = open.flushOps()
    if (ops.length > 0) await run.writer.commit(ops)
    run.memo.replaceLast({ ...open.item(run.memo.last!.version), sealed: false })
    run.telemetry.stepEnded({ finish: "interrupted" })
    return "idle"
  }
  const reason = run.signal.aborted ? run.signal.reason : error
  const { finish, text } = endOf(reason)
  const mask = await run.setup().then(
    (setup) => setup.mask,
    () => (value: string) => value,
  )
  const message = messageErrorOf(reason, open, mask)
  const ops: Op[] = open.flushOps()
  const now = run.engine.clock.now()
  for (const part of [...open.parts]) ops.push(...closePartOps(open, part, { text, nowMs: now }))
  ops.push(
    ...(await filesAfter(run, open, failed.snapshot)).ops,
    open.putOp({
      id: run.engine.newID("part"),
      type: "step-finish",
      reason: finish,
      cost: open.message.cost,
      tokens: open.message.tokens,
    }),
    open.sealOp({ error: message, finish, time: completed(run, open) }),
  )
  const { version } = await run.writer.commit(ops)
  run.memo.replaceLast(open.item(version))
  run.telemetry.stepEnded({ finish, error: message })
  return "idle"
}

/** Whether calls of the message are at work in other sessions. */
async function hasTasks(run: Run, open: OpenMessage): Promise<boolean> {
  const { tools } = await run.setup()
  return open.parts.some(
    (part) => part.type === "tool" && part.state.status === "running" && tools.get(part.tool)?.delegates,
  )
}

function closePartOps(open: OpenMessage, part: PartBody, end: { text: string; nowMs: number }): Op[] {
  if (part.type === "tool" && !isSettled(part.state)) {
    return [open.toolOp(part.id, failedState(part.state, end))]
  }
  const isGrowing = (part.type === "text" || part.type === "reasoning") && part.time?.end === undefined
  if (!isGrowing) return []
  const time = { start: part.time?.start ?? end.nowMs, end: Math.max(part.time?.start ?? 0, end.nowMs) }
  return open.endTextOps({ ...part, time })
}

function failedState(state: ToolState, end: { text: string; nowMs: number }): ToolState {
  const start = state.status === "running" ? state.time.start : end.nowMs
  const metadata = state.status === "running" ? state.metadata : undefined
  return {
    status: "error",
    input: state.input,
    error: end.text,
    ...(metadata && { metadata }),
    time: { start, end: Math.max(start, end.nowMs) },
  }
}

function endOf(reason: unknown): { finish: string; text: string } {
  if (reason instanceof Aborted) return { finish: "aborted", text: `aborted: ${reason.message}` }
  if (reason instanceof Closing) return { finish: "interrupted", text: `interrupted: ${reason.message}` }
  if (reason instanceof BudgetRefused) return { finish: "budget", text: reason.message }
  return { finish: "error", text: "interrupted: the model's call failed before this call could run" }
}

function messageErrorOf(reason: unknown, open: OpenMessage, mask: (text: string) => string): MessageError {
  const { providerID, modelID } = open.message
  if (reason instanceof ModelError) return reason.toMessageError({ providerID, modelID })
  const message = mask(errorText(reason))
  if (reason instanceof Aborted) return { name: "MessageAbortedError", data: { message } }
  if (reason instanceof Closing) return { name: "InterruptedError", data: { message } }
  if (reason instanceof BudgetRefused) return { name: "BudgetError", data: { message } }
  if (StemmaError.is(reason, "denied")) return { name: "ProviderAuthError", data: { providerID, message } }
  return { name: "UnknownError", data: { message } }
}

function completed(run: Run, open: OpenMessage): AssistantBody["time"] {
  const { created } = open.message.time
  return { created, completed: Math.max(created, run.engine.clock.now()) }
}

/** The last step has no tools; what the model calls all the same is answered with an error. */
async function refuseCalls(plan: Step, calls: readonly Call[]): Promise<{ endsRun: boolean }> {
  const { run, open } = plan
  const now = run.engine.clock.now()
  const text = "The run has reached its last step: no more tools are run."
  const ops = calls.map((call) =>
    open.toolOp(call.partID, failedState(open.tool(call.partID).state, { text, nowMs: now })),
  )
  await run.writer.commit([...open.flushOps(), ...ops])
  return { endsRun: true }
}

/** A run that has used up its session's money. */
class BudgetRefused extends Error {
  override name = "BudgetRefused"
}

async function checkBudget(plan: Step): Promise<void> {
  const { run, setup } = plan
  const spent = run.isOverBudget ? undefined : await overspent(run, setup.loaded.config.budget)
  if (!spent) return
  const { cost, budget } = spent
  run.tellAsking()
  const whose = spent.sessionID === run.sessionID ? "The session" : `The session ${spent.sessionID} above it`
  const said = `${whose} has cost $${cost} and its budget is $${budget}`
  try {
    await run.approvals.ask({
      wanted: { permission: "budget", patterns: [String(budget)], floor: "ask", metadata: { cost, budget } },
      judge: plan.judge,
      signal: run.signal,
      onceOnly: true,
      isUnattended: plan.user.unattended,
    })
    run.isOverBudget = true
  } catch (error) {
    if (error instanceof PermissionRefused) throw new BudgetRefused(`${said}: raise the budget to go on.`)
    throw error
  }
}

/** The first session, from this one upwards, that has cost its budget with all below it. */
async function overspent(
  run: Run,
  budgetOfConfig: number | undefined,
): Promise<{ sessionID: string; cost: number; budget: number } | undefined> {
  const { store } = run.engine
  const above = run.session.parentID === undefined ? [] : await store.parents(run.sessionID)
  for (const { id, budget = budgetOfConfig } of [run.session, ...above]) {
    if (budget === undefined) continue
    const { cost } = (await sessionUsage(store, id)).tree
    if (cost >= budget) return { sessionID: id, cost, budget }
  }
  return undefined
}

/** Undefined if a person lets it go on. */
async function askAboutLoop(plan: Step, tool: string): Promise<MessageError | undefined> {
  const { run } = plan
  const last = run.calls.at(-1)!
  try {
    await run.approvals.ask({
      wanted: { permission: "doom_loop", patterns: [tool], metadata: { tool, input: last.input } },
      judge: plan.judge,
      signal: run.signal,
      onceOnly: true,
      isUnattended: plan.user.unattended,
    })
    return undefined
  } catch (error) {
    if (!(error instanceof PermissionRefused)) throw error
    const message = `${tool} was called three times in a row with the same input and the same result; the run was stopped.`
    return { name: "DoomLoopError", data: { message, tool } }
  }
}
