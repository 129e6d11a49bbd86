import {
  type AssistantBody,
  type HistoryItem,
  isSettled,
  noTokens,
  type PartBody,
  type UserBody,
} from "../../protocol/index.ts"
import { interruptTool } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import { isShellCommand } from "../api/shell-command.ts"
import {
  compactionBefore,
  isFailedCompaction,
  promptBefore,
  setCompactingOp,
} from "../context/compaction-message.ts"
import { OpenMessage } from "../step/open-message.ts"
import { type AfterStep, finishStep, sealFailed } from "../step/step.ts"
import { listGrants, planStep, type Step } from "../step/step-plan.ts"
import type { Call } from "../step/tools/tool-calls.ts"
import { Closing, type Run } from "./run.ts"

/** A run that was interrupted this often, in a row or within one turn, is not continued. */
export const recoveriesMax = 3
const recoveriesPerTurnMax = 30

/**
 * Repairs what a dead writer left open, so that the history reads as a valid conversation. Returns "continue" if the
 * interrupted turn is to be continued.
 */
export async function recoverRun(run: Run, options?: { mayGoOn?: boolean }): Promise<AfterStep> {
  if (run.isUntouched && run.memo.last?.sealed !== false && !isUnfinishedEnd(run.memo.items)) {
    run.isReady = true
    return "idle"
  }
  run.approvals.inherit(await run.engine.store.permissions({ sessionID: run.sessionID, open: true }))
  run.isReady = true
  const { wasAborted } = await run.takeOldAborts()
  const isWanted = options?.mayGoOn ?? run.engine.recover
  const { inRow, all } = countInterruptions(run)
  const mayGoOn = isWanted && !wasAborted && inRow < recoveriesMax && all < recoveriesPerTurnMax
  run.beginTurn()
  // If there is no turn to continue, an abort in the inbox is meant for the next prompt.
  run.isInTurn = run.memo.last?.sealed === false || (mayGoOn && isUnfinishedEnd(run.memo.items))
  if (run.isInTurn) await run.handleInbox()
  if (run.isInTurn && mayGoOn) await beginTelemetry(run)
  try {
    const next = await repair(run, { mayGoOn })
    if (next === "idle") run.isInTurn = false
    return next
  } finally {
    if (!run.writer.signal.aborted) await run.approvals.dropInherited()
  }
}

/** A continued turn counts as a run in the metrics. */
async function beginTelemetry({ telemetry, memo }: Run): Promise<void> {
  const last = memo.items.findLast(({ message }) => message.role === "assistant")?.message
  if (last?.role !== "assistant") return
  const { agent, providerID, modelID } = last
  await telemetry.begin({ agent, model: { providerID, modelID } })
}

/** True if the items end in the middle of a turn. */
export function isUnfinishedEnd(items: readonly HistoryItem[]): boolean {
  const index = lastIndexOfTurn(items)
  const item = items[index]
  if (item?.message.role !== "assistant") return compactionBefore(items, index) !== undefined
  return isUnfinished(item.message) && !isShellCommand(item)
}

/** The index of the last item that is not a failed compaction. */
function lastIndexOfTurn(items: readonly HistoryItem[]): number {
  return items.findLastIndex((item) => !isFailedCompaction(item))
}

async function repair(run: Run, { mayGoOn }: { mayGoOn: boolean }): Promise<AfterStep> {
  const { items } = run.memo
  const index = lastIndexOfTurn(items)
  const last = items[index]
  await endCompacting(run)
  // A revert hides the end of the history: the turn cannot continue from there, and nothing may be appended to it.
  if (run.session.revert && last?.sealed) return "idle"
  // The process ended right after a compaction in the middle of a turn.
  const compaction = compactionBefore(items, index)
  if (compaction) return continueAfterCompaction(run, compaction.message, { mayGoOn })
  if (last?.message.role !== "assistant") return "idle"
  run.promptID = last.message.parentID
  if (last.sealed) {
    if (!isUnfinished(last.message) || isShellCommand(last)) return "idle"
    if (mayGoOn) return "continue"
    if (last.message.finish === "tool-calls") await sealInterrupted(run, last.message)
    return "idle"
  }
  const openMessage = reopenMessage(run, last)
  if (isShellCommand(last))
    return sealFailed(run, { openMessage, error: processEnded(), snapshot: snapshotIn(openMessage) })
  const user = findPrompt(run, openMessage.message.parentID)
  const hasEnded = openMessage.message.finish !== undefined
  if (mayGoOn && user && hasEnded) return resumeStep(run, openMessage, user)
  await sealFailed(run, { openMessage, error: processEnded(), snapshot: snapshotIn(openMessage) })
  return mayGoOn && user ? "continue" : "idle"
}

async function continueAfterCompaction(
  run: Run,
  before: AssistantBody,
  { mayGoOn }: { mayGoOn: boolean },
): Promise<AfterStep> {
  run.promptID = before.parentID
  if (mayGoOn) return "continue"
  const { summary: _, ...answer } = before
  await sealInterrupted(run, answer)
  return "idle"
}

/** Clears the mark of an interrupted compaction. It has changed nothing else, so the next step can compact again. */
async function endCompacting(run: Run): Promise<void> {
  if (run.session.time.compacting === undefined) return
  await run.writer.commit([setCompactingOp(run, null)])
  const { compacting: _, ...time } = run.session.time
  run.session = { ...run.session, time }
}

function processEnded(): Closing {
  return new Closing("The process that ran this step ended.")
}

/** The process ended between two steps: no message is open, but the prompt has no answer. Seals an empty answer. */
async function sealInterrupted(run: Run, last: AssistantBody): Promise<void> {
  const now = run.engine.clock.now()
  const message: AssistantBody = {
    ...withoutSession(last),
    id: run.newID("message"),
    time: { created: now, completed: now },
    error: { name: "InterruptedError", data: { message: processEnded().message } },
    finish: "interrupted",
    cost: 0,
    tokens: noTokens(),
  }
  const { sessionID } = run
  const { version } = await run.writer.commit([
    { op: "message.append", sessionID, message, parts: [], sealed: true },
  ])
  run.memo.addSealed(sessionID, { message, parts: [] }, version)
}

function isUnfinished(message: AssistantBody): boolean {
  return message.finish === "interrupted" || message.finish === "tool-calls"
}

/**
 * Finishes a step whose model call was complete. Runs the tool calls that had not started and those that are safe to
 * repeat; the other unsettled calls become `interrupted` errors.
 */
async function resumeStep(run: Run, openMessage: OpenMessage, user: UserBody): Promise<AfterStep> {
  let plan: Step | undefined
  run.telemetry.stepBegan()
  try {
    plan = await planStep(run, { openMessage, user, grants: listGrants(run) })
    const now = run.engine.clock.now()
    const calls: Call[] = []
    const ops: Op[] = []
    for (const part of [...openMessage.parts]) {
      if (part.type !== "tool" || isSettled(part.state)) continue
      const isSafe = part.state.status === "pending" || plan.tools.get(part.tool)?.replay === "safe"
      if (isSafe) calls.push(callOf(part))
      else ops.push(openMessage.putOp({ ...part, state: interruptTool(part.state, now) }))
    }
    // A retry part counts as an interruption, so that a call that kills its process is not repeated without end. A task
    // call needs none here: its child session counts its own interruptions.
    if (calls.some(({ tool }) => !plan?.tools.get(tool)?.delegates) || ops.length > 0) {
      ops.push(openMessage.putOp(retryPart(run, now)))
    }
    if (ops.length > 0) await run.writer.commit(ops)
    run.notifyWaiting()
    if (calls.length > 0) return await finishStep(plan, calls)
    return await finishStep({ ...plan, snapshot: () => snapshotIn(openMessage) }, [])
  } catch (error) {
    return sealFailed(run, { openMessage, error, snapshot: plan?.snapshot() ?? snapshotIn(openMessage) })
  }
}

function retryPart(run: Run, nowMs: number): PartBody {
  return {
    id: run.newID("part"),
    type: "retry",
    attempt: countInterruptions(run).all + 1,
    error: { name: "InterruptedError", data: { message: processEnded().message } },
    time: { created: nowMs },
  }
}

function callOf(part: Extract<PartBody, { type: "tool" }>): Call {
  const { state } = part
  const text = state.status === "pending" && state.raw !== "" ? state.raw : JSON.stringify(state.input)
  return { partID: part.id, callID: part.callID, tool: part.tool, text }
}

function reopenMessage(run: Run, item: HistoryItem): OpenMessage {
  const parts = item.parts.map(({ sessionID: _s, messageID: _m, ...part }) => part as PartBody)
  return new OpenMessage({
    writer: run.writer,
    hub: run.engine.hub,
    position: item.position,
    message: withoutSession(item.message as AssistantBody),
    parts,
  })
}

/** How often the answer to the last prompt was interrupted: in all, and since the last step without an interruption. */
function countInterruptions(run: Run): { all: number; inRow: number } {
  let all = 0
  let inRow: number | undefined
  const { items } = run.memo
  for (let index = items.length - 1; index >= 0; index--) {
    const { message, parts, sealed } = items[index]!
    if (compactionBefore(items, index)) continue
    if (message.role !== "assistant") break
    const retries = parts.filter((part) => part.type === "retry" && part.error.name === "InterruptedError")
    const count = retries.length + (message.finish === "interrupted" ? 1 : 0)
    if (count === 0 && sealed) inRow ??= all
    all += count
  }
  return { all, inRow: inRow ?? all }
}

function withoutSession(message: AssistantBody & { sessionID?: string }): AssistantBody {
  const { sessionID: _, ...body } = message
  return body
}

function findPrompt(run: Run, messageID: string): UserBody | undefined {
  const prompt = promptBefore(run.memo.items)
  if (prompt?.promptID === messageID) return prompt.user
  const item = run.memo.items.findLast(({ message }) => message.id === messageID)
  if (item?.message.role !== "user") return undefined
  const { sessionID: _, ...user } = item.message
  return user
}

function snapshotIn(openMessage: OpenMessage): string | undefined {
  const part = openMessage.parts.find((candidate) => candidate.type === "snapshot")
  return part?.type === "snapshot" ? part.snapshot : undefined
}
