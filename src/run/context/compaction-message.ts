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

/** Where a compaction goes in the history, and what goes with it. */
export interface CompactionPlace {
  user: UserBody
  /** The message's id; a new one if absent. */
  messageID?: string
  /** The open message becomes the compaction: it was to hold an answer that the model would not give. */
  open?: OpenMessage
  /** Part of the same commit. */
  ops?: readonly Op[]
  /** The turn goes on: a prompt of ours says so. */
  goesOn: boolean
}

type CompactionPart = Extract<PartBody, { type: "compaction" }>

export const goOnPrompt =
  "[What came before was summarised to make room. Go on with what you were doing, from the next step on; do not repeat what is done.]"

/** People see that a compaction is going on, or is over. */
export function setCompacting(run: Run, compacting: number | null): Op {
  const updated = Math.max(run.engine.clock.now(), run.session.time.updated)
  return { op: "session.patch", sessionID: run.sessionID, set: { time: { updated, compacting } } }
}

interface Outcome {
  spent: { tokens: Tokens; cost: number }
}

/** Everything that a compaction changes, in one commit. */
export async function commitCompaction(
  run: Run,
  place: CompactionPlace,
  done: Outcome & { part: CompactionPart; model: ModelRef },
): Promise<void> {
  const fields = { finish: "stop", ...done.model, ...done.spent }
  await write(run, place, { part: done.part, fields, spent: done.spent })
}

/** Leaves the context as it was, with a message that says why. */
export async function commitFailure(
  run: Run,
  place: CompactionPlace,
  failed: Outcome & { auto: boolean; error: MessageError; tokensBefore: number },
): Promise<void> {
  const { spent, auto, error, tokensBefore } = failed
  if (place.open) {
    // The message says itself what was wrong with its call.
    const paid = place.open.messageOp(spent)
    await run.writer.commit([setCompacting(run, null), addSpent(run, spent), paid])
    return
  }
  const part: CompactionPart = { id: run.engine.newID("part"), type: "compaction", auto, tokensBefore }
  const fields = { finish: "error", error, ...spent }
  await write(run, { ...place, goesOn: false }, { part, fields, spent })
}

export function addSpent(run: Run, { cost, tokens }: Outcome["spent"]): Op {
  return { op: "session.patch", sessionID: run.sessionID, add: { cost, tokens } }
}

async function write(
  run: Run,
  place: CompactionPlace,
  { part, fields, spent }: Outcome & { part: CompactionPart; fields: Partial<AssistantBody> },
): Promise<void> {
  const { sessionID } = run
  const { open, user } = place
  const ops: Op[] = [...(place.ops ?? []), setCompacting(run, null), addSpent(run, spent)]
  const now = run.engine.clock.now()
  const created = open?.message.time.created ?? now
  const final: Partial<AssistantBody> = {
    ...fields,
    summary: true,
    agent: "compaction",
    time: { created, completed: Math.max(created, now) },
  }
  const message = { ...bareMessage(run, place, now), ...final }
  if (open) ops.push(...open.flushOps(), open.putOp(part), open.sealOp(final))
  else ops.push({ op: "message.append", sessionID, message, parts: [part], sealed: true })
  const goingOn = place.goesOn ? goOn(run, user, now) : undefined
  if (goingOn) ops.push({ op: "message.append", sessionID, ...goingOn, sealed: true })
  const { version } = await run.writer.commit(ops)
  if (open) run.memo.replaceLast(open.item(version))
  else run.memo.addSealed(sessionID, { message, parts: [part] }, version)
  if (goingOn) run.memo.addSealed(sessionID, goingOn, version)
}

function bareMessage(run: Run, { user, messageID }: CompactionPlace, now: number): AssistantBody {
  const { directory, root } = run.project.workspace
  return {
    id: messageID ?? run.engine.newID("message"),
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

function goOn(run: Run, user: UserBody, now: number): { message: UserBody; parts: PartBody[] } {
  const message: UserBody = { ...user, id: run.engine.newID("message"), time: { created: now } }
  delete message.summary
  const text: PartBody = { id: run.engine.newID("part"), type: "text", text: goOnPrompt, synthetic: true }
  return { message, parts: [text] }
}

/** Who speaks last in these items, and the prompt that is being answered: not ours that goes on after a compaction. */
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

type Compacted = HistoryItem & { message: AssistantBody }

/** The compaction after which the item at that index says that the turn goes on, if it does. */
export function compactionBefore(items: readonly HistoryItem[], index: number): Compacted | undefined {
  const item = items[index]
  const before = items[index - 1]
  if (item?.message.role !== "user" || !isGoingOn(item.parts) || !before) return undefined
  return isCompaction(before) ? before : undefined
}

export function isCompaction(item: HistoryItem): item is Compacted {
  return item.message.role === "assistant" && item.message.summary === true
}

/** One that led to nothing: the turn, if there is one, is as it was before it. */
export function isFailedCompaction(item: HistoryItem): boolean {
  return isCompaction(item) && !item.parts.some(isSummary)
}

export function promptOf(run: Run): { user: UserBody; promptID: string } {
  const known = promptBefore(run.memo.items)
  if (known) return known
  throw new StemmaError("internal", `Session ${run.sessionID} has no prompt to answer. Send one.`)
}
