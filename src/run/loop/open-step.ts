import {
  type AssistantBody,
  noTokens,
  type PartBody,
  StemmaError,
  type UserBody,
} from "../../protocol/index.ts"
import { isDefaultTitle, promptTitle } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import { promptOf } from "../context/compaction-message.ts"
import { OpenMessage } from "../step/open-message.ts"
import type { Prompt } from "../step/step.ts"
import type { Call } from "../step/tools/tool-calls.ts"
import { directCalls } from "../tasks/direct-tasks.ts"
import { revertOps } from "./revert.ts"
import type { Run } from "./run.ts"

export interface OpenedStep {
  openMessage: OpenMessage
  user: UserBody
  /** Calls for the tasks that the prompts themselves contain. If there are any, this step does not ask the model. */
  calls: Call[]
}

/**
 * Takes the prompts from the inbox and opens the assistant message that will answer them, in one commit. So each prompt
 * is taken exactly once, and if the process dies afterwards, recovery finds the open message. Returns undefined if the
 * store refuses the only prompt for good: then the prompt leaves the inbox and its sender gets the error.
 */
export async function openStep(run: Run, prompts: readonly Prompt[]): Promise<OpenedStep | undefined> {
  try {
    return await commitStart(run, prompts)
  } catch (error) {
    if (run.writer.signal.aborted || !isPromptRefused(error) || prompts.length === 0) throw error
    // The error may come from any of the prompts. Take only the first one now; the next steps take the others.
    if (prompts.length > 1) return openStep(run, prompts.slice(0, 1))
    await refusePrompt(run, prompts[0]!, error)
    return run.steps > 0 ? openStep(run, []) : undefined
  }
}

function isPromptRefused(error: unknown): error is StemmaError {
  return (
    StemmaError.is(error, "invalid") ||
    StemmaError.is(error, "conflict") ||
    StemmaError.is(error, "not_found")
  )
}

async function refusePrompt(run: Run, prompt: Prompt, error: StemmaError): Promise<void> {
  await run.writer.commit([{ op: "inbox.take", sessionID: run.sessionID, itemID: prompt.id }])
  run.notifyRefused(prompt.id, error)
}

async function commitStart(run: Run, prompts: readonly Prompt[]): Promise<OpenedStep> {
  const { sessionID, engine } = run
  const ops: Op[] = prompts.length > 0 ? await revertOps(run) : []
  for (const prompt of prompts) {
    run.startIDsAbove(prompt.message.id)
    ops.push(
      { op: "inbox.take", sessionID, itemID: prompt.id },
      { op: "message.append", sessionID, message: prompt.message, parts: prompt.parts, sealed: true },
    )
  }
  const last = prompts.at(-1)?.message
  const { user, promptID } = last ? { user: last, promptID: last.id } : promptOf(run)
  const now = engine.clock.now()
  const stepStartID = run.newID("part")
  const direct = directCalls(run, prompts)
  const message: AssistantBody = {
    id: run.newID("message"),
    role: "assistant",
    time: { created: now },
    parentID: promptID,
    providerID: user.model.providerID,
    modelID: user.model.modelID,
    agent: user.agent,
    path: { cwd: run.project.workspace.directory, root: run.project.workspace.root },
    cost: 0,
    tokens: noTokens(),
    ...(direct.length > 0 && { finish: "tool-calls" }),
  }
  const { partsToHide } = run
  const prune = partsToHide && { time: now, parts: partsToHide }
  const parts: PartBody[] = [
    { id: stepStartID, type: "step-start", ...(prune && { prune }) },
    ...direct.map(({ part }) => part),
  ]
  const isUnnamed = isDefaultTitle(run.session.title) || ops.some((op) => op.op === "session.patch")
  ops.push(titleOp(run, { prompts, now, isUnnamed }), { op: "message.append", sessionID, message, parts })
  const isMoved = ops[0]?.op === "history.move"
  const { version } = await run.writer.attempt(ops)
  run.promptID = promptID
  run.partsToHide = undefined
  const position = isMoved ? await rereadHistory(run) : addPrompts(run, prompts, version)
  const openMessage = new OpenMessage({ writer: run.writer, hub: engine.hub, position, message, parts })
  if (!isMoved) run.memo.add({ ...openMessage.item(version), sealed: false })
  return { openMessage, user, calls: direct.map(({ call }) => call) }
}

function addPrompts(run: Run, prompts: readonly Prompt[], version: number): number {
  const { sessionID } = run
  for (const prompt of prompts) run.memo.addSealed(sessionID, prompt, version)
  return run.memo.count
}

/** A session without a title of its own gets the first words of its first prompt as its title. */
function titleOp(
  run: Run,
  { prompts, now, isUnnamed }: { prompts: readonly Prompt[]; now: number; isUnnamed: boolean },
): Op {
  const set: { title?: string; time: { updated: number } } = {
    time: { updated: Math.max(now, run.session.time.updated) },
  }
  const title = isUnnamed ? promptTitle(prompts[0]?.parts ?? []) : ""
  if (title !== "") {
    set.title = title
    run.session = { ...run.session, title }
  }
  return { op: "session.patch", sessionID: run.sessionID, set }
}

/**
 * After `history.move`, the memo's items are outdated. Reads them again and returns the position of the open message.
 */
async function rereadHistory(run: Run): Promise<number> {
  run.session = await run.engine.store.session(run.sessionID)
  await run.memo.refresh(run.engine.store, run.session)
  return run.memo.count - 1
}
