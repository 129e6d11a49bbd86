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
  open: OpenMessage
  user: UserBody
  /** The tasks that the prompts give themselves: the model is not asked in this step. */
  calls: Call[]
}

/**
 * Takes the prompts and opens the message that will answer them, in one commit: each prompt is taken exactly once, and
 * a process that dies right after it leaves a message that says so. Undefined if there was only a prompt that the store
 * refuses for good: whoever sent it is told, and it is gone.
 */
export async function openStep(run: Run, prompts: readonly Prompt[]): Promise<OpenedStep | undefined> {
  try {
    return await openWith(run, prompts)
  } catch (error) {
    if (run.writer.signal.aborted || !isRefusal(error) || prompts.length === 0) throw error
    // One of several: the others are taken with the next steps.
    if (prompts.length > 1) return openStep(run, prompts.slice(0, 1))
    await refuse(run, prompts[0]!, error)
    return run.steps > 0 ? openStep(run, []) : undefined
  }
}

function isRefusal(error: unknown): error is StemmaError {
  return (
    StemmaError.is(error, "invalid") ||
    StemmaError.is(error, "conflict") ||
    StemmaError.is(error, "not_found")
  )
}

async function refuse(run: Run, prompt: Prompt, error: StemmaError): Promise<void> {
  await run.writer.commit([{ op: "inbox.take", sessionID: run.sessionID, itemID: prompt.id }])
  run.tellRefused(prompt.id, error)
}

async function openWith(run: Run, prompts: readonly Prompt[]): Promise<OpenedStep> {
  const { sessionID, engine } = run
  const ops: Op[] = prompts.length > 0 ? await revertOps(run) : []
  for (const prompt of prompts) {
    ops.push(
      { op: "inbox.take", sessionID, itemID: prompt.id },
      { op: "message.append", sessionID, message: prompt.message, parts: prompt.parts, sealed: true },
    )
  }
  const last = prompts.at(-1)?.message
  const { user, promptID } = last ? { user: last, promptID: last.id } : promptOf(run)
  const now = engine.clock.now()
  const direct = directCalls(run, prompts)
  const message: AssistantBody = {
    id: engine.newID("message"),
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
  const { pruning } = run
  const prune = pruning && { time: now, parts: pruning }
  const parts: PartBody[] = [
    { id: engine.newID("part"), type: "step-start", ...(prune && { prune }) },
    ...direct.map(({ part }) => part),
  ]
  const isUnnamed = isDefaultTitle(run.session.title) || ops.some((op) => op.op === "session.patch")
  ops.push(titleOp(run, { prompts, now, isUnnamed }), { op: "message.append", sessionID, message, parts })
  const isMoved = ops[0]?.op === "history.move"
  const { version } = await run.writer.attempt(ops)
  run.promptID = promptID
  run.pruning = undefined
  const position = isMoved ? await readAgain(run) : addPrompts(run, prompts, version)
  const open = new OpenMessage({ writer: run.writer, hub: engine.hub, position, message, parts })
  if (!isMoved) run.memo.add({ ...open.item(version), sealed: false })
  return { open, user, calls: direct.map(({ call }) => call) }
}

function addPrompts(run: Run, prompts: readonly Prompt[], version: number): number {
  const { sessionID } = run
  for (const prompt of prompts) run.memo.addSealed(sessionID, prompt, version)
  return run.memo.count
}

/** A session that nobody has named, or not any more, gets the first words of its first prompt. */
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

/** The history has moved: what the memo knew of it is read again. Gives the position of the open message. */
async function readAgain(run: Run): Promise<number> {
  run.session = await run.engine.store.session(run.sessionID)
  await run.memo.refresh(run.engine.store, run.session)
  return run.memo.count - 1
}
