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
import { findDoomLoop } from "./doom-loop.ts"
import { errorText } from "./error-text.ts"
import { type AskedModel, askModel } from "./model/ask-model.ts"
import type { OpenMessage } from "./open-message.ts"
import { listGrants, planStep, type Step } from "./step-plan.ts"
import { type Call, runToolCalls } from "./tools/tool-calls.ts"

export type Prompt = Extract<InboxItem, { type: "prompt" }>

/** What follows a step: another step of the same turn (`continue`), or the end of the turn (`idle`). */
export type AfterStep = "continue" | "idle"

/**
 * Makes one step: one model call and the tool calls that the model asked for, in one assistant message. Failures are
 * written into that message. Throws only if the lease is lost or the store fails to write.
 */
export async function step(run: Run, prompts: readonly Prompt[]): Promise<AfterStep> {
  // Loaded while the commit below is in progress.
  const grants = listGrants(run)
  run.telemetry.stepBegan()
  const opened = await openStep(run, prompts)
  if (!opened) return "idle"
  const { openMessage, user, calls: directCalls } = opened
  run.steps++
  if (prompts.some(({ references }) => references)) await run.approvals.dropInherited()
  // An abort that was admitted right after the prompt is meant for this turn.
  if (prompts.length > 0) run.handleInbox().catch(() => {})
  let plan: Step | undefined
  try {
    run.signal.throwIfAborted()
    plan = await planStep(run, { openMessage, user, grants })
    if (directCalls.length > 0) {
      // The run of the child session must be able to start now.
      run.notifyWaiting()
      return await finishStep(plan, directCalls)
    }
    await checkBudget(plan)
    const asked = await askUntilItFits(plan)
    if (!asked) {
      run.telemetry.stepEnded({ finish: "compacted" })
      return "continue"
    }
    const { calls, ops } = asked
    return calls.length > 0 ? await finishStep(plan, calls) : await seal(plan, {}, ops)
  } catch (error) {
    return sealFailed(run, { openMessage, error, snapshot: plan?.snapshot() })
  }
}

/**
 * Asks the model, and makes room if the provider refuses the context. Undefined if the open message became a
 * compaction.
 */
async function askUntilItFits(plan: Step): Promise<AskedModel | undefined> {
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

/** Runs the tool calls and seals the message. Recovery uses it too, for a step that a dead process began. */
export async function finishStep(plan: Step, calls: readonly Call[]): Promise<AfterStep> {
  const { run, openMessage } = plan
  if (calls.length === 0) return seal(plan, {})
  const { endsRun } = plan.isLastStep ? await refuseCalls(plan, calls) : await runToolCalls(plan, calls)
  run.signal.throwIfAborted()
  if (plan.isLastStep) return seal(plan, { finish: "limit" })
  if (endsRun) return seal(plan, { finish: "rejected" })
  const looping = findDoomLoop(run.calls)
  if (looping !== undefined) {
    const refused = await askAboutLoop(plan, looping)
    if (refused) return seal(plan, { finish: "error", error: refused })
    run.calls.length = 0
  }
  // A step that a dead process began may have no `finish` yet.
  return seal(plan, { finish: openMessage.message.finish ?? "tool-calls" })
}

async function seal(
  plan: Step,
  fields: Partial<AssistantBody>,
  before: readonly Op[] = [],
): Promise<AfterStep> {
  const { run, openMessage } = plan
  const flushed = openMessage.flushOps()
  const { ops: changed, snapshot } = await fileChangeOps(run, openMessage, plan.snapshot())
  const ops: Op[] = [...before, ...flushed, ...changed]
  const finish = fields.finish ?? openMessage.message.finish ?? "stop"
  ops.push(
    openMessage.putOp({
      id: run.newID("part"),
      type: "step-finish",
      reason: finish,
      ...(snapshot !== undefined && { snapshot }),
      cost: openMessage.message.cost,
      tokens: openMessage.message.tokens,
    }),
    openMessage.sealOp({ ...fields, finish, time: completedTime(run, openMessage) }),
  )
  const { version } = await run.writer.commit(ops)
  run.memo.replaceLast(openMessage.item(version))
  run.telemetry.stepEnded({ finish, error: openMessage.message.error })
  return finish === "tool-calls" ? "continue" : "idle"
}

/** Operations that record the files that the step changed, and the snapshot after it. */
async function fileChangeOps(
  run: Run,
  openMessage: OpenMessage,
  before: string | undefined,
): Promise<{ ops: Op[]; snapshot?: string }> {
  if (before === undefined) return { ops: [] }
  const changed = await changedFiles(run, before)
  if (!changed) return { ops: [], snapshot: before }
  const { files, snapshot } = changed
  const ops = [
    openMessage.putOp({ id: run.newID("part"), type: "patch", hash: before, files }),
    openMessage.putOp({ id: run.newID("part"), type: "snapshot", snapshot }),
  ]
  return { ops, snapshot }
}

/** Undefined if no file changed or a snapshot fails. A failed snapshot must not fail the answer. */
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

/** Seals the message with the reason of the failure. Every unsettled tool call becomes an error. */
export async function sealFailed(
  run: Run,
  failed: { openMessage: OpenMessage; error: unknown; snapshot: string | undefined },
): Promise<AfterStep> {
  const { openMessage, error } = failed
  openMessage.stopTimer()
  if (run.writer.signal.aborted) throw run.writer.signal.reason
  if (run.isClosing && (await hasRunningTasks(run, openMessage))) {
    // The message stays open, as after a crash: the child sessions keep their work, and the process that opens this
    // session next continues to wait for them.
    const ops = openMessage.flushOps()
    if (ops.length > 0) await run.writer.commit(ops)
    run.memo.replaceLast({ ...openMessage.item(run.memo.last!.version), sealed: false })
    run.telemetry.stepEnded({ finish: "interrupted" })
    return "idle"
  }
  const reason = run.signal.aborted ? run.signal.reason : error
  const { finish, text } = finishAndText(reason)
  const mask = await run.setup().then(
    (setup) => setup.mask,
    () => (value: string) => value,
  )
  const message = messageErrorOf(reason, openMessage, mask)
  const ops: Op[] = openMessage.flushOps()
  const now = run.engine.clock.now()
  for (const part of [...openMessage.parts]) ops.push(...endPartOps(openMessage, part, { text, nowMs: now }))
  ops.push(
    ...(await fileChangeOps(run, openMessage, failed.snapshot)).ops,
    openMessage.putOp({
      id: run.newID("part"),
      type: "step-finish",
      reason: finish,
      cost: openMessage.message.cost,
      tokens: openMessage.message.tokens,
    }),
    openMessage.sealOp({ error: message, finish, time: completedTime(run, openMessage) }),
  )
  const { version } = await run.writer.commit(ops)
  run.memo.replaceLast(openMessage.item(version))
  run.telemetry.stepEnded({ finish, error: message })
  return "idle"
}

/** True if the message has running calls that work in child sessions. */
async function hasRunningTasks(run: Run, openMessage: OpenMessage): Promise<boolean> {
  const { tools } = await run.setup()
  return openMessage.parts.some(
    (part) => part.type === "tool" && part.state.status === "running" && tools.get(part.tool)?.delegates,
  )
}

function endPartOps(openMessage: OpenMessage, part: PartBody, end: { text: string; nowMs: number }): Op[] {
  if (part.type === "tool" && !isSettled(part.state)) {
    return [openMessage.toolOp(part.id, failedState(part.state, end))]
  }
  const isGrowing = (part.type === "text" || part.type === "reasoning") && part.time?.end === undefined
  if (!isGrowing) return []
  const time = { start: part.time?.start ?? end.nowMs, end: Math.max(part.time?.start ?? 0, end.nowMs) }
  return openMessage.endTextOps({ ...part, time })
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

function finishAndText(reason: unknown): { finish: string; text: string } {
  if (reason instanceof Aborted) return { finish: "aborted", text: `aborted: ${reason.message}` }
  if (reason instanceof Closing) return { finish: "interrupted", text: `interrupted: ${reason.message}` }
  if (reason instanceof BudgetExceeded) return { finish: "budget", text: reason.message }
  return { finish: "error", text: "interrupted: the model call failed before this tool call could run" }
}

function messageErrorOf(
  reason: unknown,
  openMessage: OpenMessage,
  mask: (text: string) => string,
): MessageError {
  const { providerID, modelID } = openMessage.message
  if (reason instanceof ModelError) return reason.toMessageError({ providerID, modelID })
  const message = mask(errorText(reason))
  if (reason instanceof Aborted) return { name: "MessageAbortedError", data: { message } }
  if (reason instanceof Closing) return { name: "InterruptedError", data: { message } }
  if (reason instanceof BudgetExceeded) return { name: "BudgetError", data: { message } }
  if (StemmaError.is(reason, "denied")) return { name: "ProviderAuthError", data: { providerID, message } }
  return { name: "UnknownError", data: { message } }
}

function completedTime(run: Run, openMessage: OpenMessage): AssistantBody["time"] {
  const { created } = openMessage.message.time
  return { created, completed: Math.max(created, run.engine.clock.now()) }
}

/** The last step offers no tools. If the model calls a tool anyway, the call gets an error. */
async function refuseCalls(plan: Step, calls: readonly Call[]): Promise<{ endsRun: boolean }> {
  const { run, openMessage } = plan
  const now = run.engine.clock.now()
  const text = "The tool was not run: the run has reached its step limit."
  const ops = calls.map((call) =>
    openMessage.toolOp(call.partID, failedState(openMessage.tool(call.partID).state, { text, nowMs: now })),
  )
  await run.writer.commit([...openMessage.flushOps(), ...ops])
  return { endsRun: true }
}

/** The session's cost has reached its budget, and no person allowed more. */
class BudgetExceeded extends Error {
  override name = "BudgetRefused"
}

async function checkBudget(plan: Step): Promise<void> {
  const { run, setup } = plan
  const overspent = run.isOverBudget ? undefined : await findOverspentSession(run, setup.loaded.config.budget)
  if (!overspent) return
  const { sessionID, cost, budget } = overspent
  run.notifyWaiting()
  const name = sessionID === run.sessionID ? "The session" : `The parent session ${sessionID}`
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
    if (!(error instanceof PermissionRefused)) throw error
    throw new BudgetExceeded(
      `${name} has cost $${cost} and its budget is $${budget}: raise the budget to continue.`,
    )
  }
}

/** The first session, from this one up to the root, whose cost with all its descendants has reached its budget. */
async function findOverspentSession(
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

/** Asks a person whether the turn may continue. Undefined if it may, else the error that ends it. */
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
