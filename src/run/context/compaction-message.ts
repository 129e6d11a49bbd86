import {
  type AssistantBody,
  type HistoryItem,
  type MessageError,
  type ModelRef,
  type PartBody,
  StemmaError,
  type Tokens,
  type UserBody,
} from "../../protocol/index.ts"
import { isGoingOn, isSummary } from "../../session/index.ts"
import type { Op } from "../../stores/commit.ts"
import type { Run } from "../loop/run.ts"
import type { OpenMessage } from "../step/open-message.ts"

/** Where a compaction is written in the history, and what is committed with it. */
export interface CompactionTarget {
  user: UserBody
  /** The id of the compaction's message; a new id if absent. */
  messageID?: string
  /** The open message becomes the compaction, after the provider refused its call as too long. */
  openMessage?: OpenMessage
  /** Further operations for the same commit. */
  ops?: readonly Op[]
  /** The turn continues: a synthetic prompt after the compaction asks the model to continue. */
  continuesTurn: boolean
}

type CompactionPart = Extract<PartBody, { type: "compaction" }>

export const continuePrompt =
  "[The earlier conversation was summarised to make room. Continue your work with the next step; do not repeat what is done.]"

/** Sets the start time of a running compaction, which clients show; null once the compaction is over. */
export function setCompactingOp(run: Run, compacting: number | null): Op {
  const updated = Math.max(run.engine.clock.now(), run.session.time.updated)
  return { op: "session.patch", sessionID: run.sessionID, set: { time: { updated, compacting } } }
}

interface WithUsage {
  usage: { tokens: Tokens; cost: number }
}

/** Writes everything that a compaction changes, in one commit. */
export async function commitCompaction(
  run: Run,
  target: CompactionTarget,
  done: WithUsage & { part: CompactionPart; model: ModelRef },
): Promise<void> {
  const fields = { finish: "stop", ...done.model, ...done.usage }
  await writeMessage(run, target, { part: done.part, fields, usage: done.usage })
}

/** Records a failed compaction: the context stays as it was, and a message with the error is appended. */
export async function commitFailure(
  run: Run,
  target: CompactionTarget,
  failed: WithUsage & { auto: boolean; error: MessageError; tokensBefore: number },
): Promise<void> {
  const { usage, auto, error, tokensBefore } = failed
  if (target.openMessage) {
    // The open message will be sealed with the error of its own call, so no message is added here.
    const message = target.openMessage.messageOp(usage)
    await run.writer.commit([setCompactingOp(run, null), addUsageOp(run, usage), message])
    return
  }
  const part: CompactionPart = { id: run.newID("part"), type: "compaction", auto, tokensBefore }
  const fields = { finish: "error", error, ...usage }
  await writeMessage(run, { ...target, continuesTurn: false }, { part, fields, usage })
}

export function addUsageOp(run: Run, { cost, tokens }: WithUsage["usage"]): Op {
  return { op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }
}

async function writeMessage(
  run: Run,
  target: CompactionTarget,
  { part, fields, usage }: WithUsage & { part: CompactionPart; fields: Partial<AssistantBody> },
): Promise<void> {
  const { sessionID } = run
  const { openMessage, user } = target
  const ops: Op[] = [...(target.ops ?? []), setCompactingOp(run, null), addUsageOp(run, usage)]
  const now = run.engine.clock.now()
  const created = openMessage?.message.time.created ?? now
  const final: Partial<AssistantBody> = {
    ...fields,
    summary: true,
    agent: "compaction",
    time: { created, completed: Math.max(created, now) },
  }
  const message = { ...bareMessage(run, target, now), ...final }
  if (openMessage) ops.push(...openMessage.flushOps(), openMessage.putOp(part), openMessage.sealOp(final))
  else ops.push({ op: "message.append", sessionID, message, parts: [part], sealed: true })
  const continuing = target.continuesTurn ? continueMessage(run, user, now) : undefined
  if (continuing) ops.push({ op: "message.append", sessionID, ...continuing, sealed: true })
  const { version } = await run.writer.commit(ops)
  if (openMessage) run.memo.replaceLast(openMessage.item(version))
  else run.memo.addSealed(sessionID, { message, parts: [part] }, version)
  if (continuing) run.memo.addSealed(sessionID, continuing, version)
}

function bareMessage(run: Run, { user, messageID }: CompactionTarget, now: number): AssistantBody {
  const { directory, root } = run.project.workspace
  return {
    id: messageID ?? run.newID("message"),
    role: "assistant",
    time: { created: now },
    parentID: promptBefore(run.memo.items)?.promptID ?? user.id,
    providerID: user.model.providerID,
    modelID: user.model.modelID,
    agent: "compaction",
    path: { cwd: directory, root },
    cost: 0,
    tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
  }
}

function continueMessage(run: Run, user: UserBody, now: number): { message: UserBody; parts: PartBody[] } {
  const message: UserBody = { ...user, id: run.newID("message"), time: { created: now } }
  delete message.summary
  const text: PartBody = { id: run.newID("part"), type: "text", text: continuePrompt, synthetic: true }
  return { message, parts: [text] }
}

/**
 * The last user message, and the id of the prompt that it belongs to. The two differ for a synthetic prompt that
 * continues a turn after a compaction.
 */
export function promptBefore(
  items: readonly HistoryItem[],
): { user: UserBody; promptID: string } | undefined {
  const index = items.findLastIndex(({ message }) => message.role === "user")
  const item = items[index]
  if (item?.message.role !== "user") return undefined
  const { sessionID: _, ...user } = item.message
  const before = compactionBefore(items, index)
  return { user, promptID: before ? before.message.parentID : user.id }
}

type CompactionItem = HistoryItem & { message: AssistantBody }

/** The compaction before the item at `index`, if that item is the synthetic prompt that continues the turn after it. */
export function compactionBefore(items: readonly HistoryItem[], index: number): CompactionItem | undefined {
  const item = items[index]
  const before = items[index - 1]
  if (item?.message.role !== "user" || !isGoingOn(item.parts) || !before) return undefined
  return isCompaction(before) ? before : undefined
}

export function isCompaction(item: HistoryItem): item is CompactionItem {
  return item.message.role === "assistant" && item.message.summary === true
}

/** True for a compaction without a summary: the context and the turn are as they were before it. */
export function isFailedCompaction(item: HistoryItem): boolean {
  return isCompaction(item) && !item.parts.some(isSummary)
}

export function promptOf(run: Run): { user: UserBody; promptID: string } {
  const prompt = promptBefore(run.memo.items)
  if (prompt) return prompt
  throw new StemmaError("internal", `Session ${run.sessionID} has no prompt to answer. Send one.`)
}
