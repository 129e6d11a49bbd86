import { type InboxItem, StemmaError } from "../../protocol/index.ts"
import { compactByRequest, makeRoom } from "../context/make-room.ts"
import { withReferences } from "../prompt/prompt-references.ts"
import { nothingToCompact } from "../schedule/waiters.ts"
import { errorText } from "../step/error-text.ts"
import { type AfterStep, type Prompt, step } from "../step/step.ts"
import { endTurn } from "./end-turn.ts"
import { recoverRun } from "./recovery.ts"
import { Aborted, type Run } from "./run.ts"

/**
 * Answers the prompts of a session until its inbox is empty or the process closes. The caller holds the lease.
 *
 * A run begins by repairing what a dead process left. Then each pass makes one step. Between two turns, the run takes
 * one prompt, so that each prompt gets its own answer. Within a turn, the run takes the prompts that steer; all other
 * prompts wait until the turn is over.
 */
export async function loop(run: Run): Promise<void> {
  let next: AfterStep = await recoverRun(run)
  if (next === "idle") reportTurnEnd(run)
  while (!run.isClosing) {
    const { waiting, compaction } = await nextWork(run, next)
    if (next === "continue") run.telemetry.join(waiting)
    else if (waiting.length > 0 || compaction) await beginTurn(run, waiting[0])
    else return
    if (compaction) {
      await runCompactionRequest(run, compaction, next)
      continue
    }
    const prompts = await withReferences(run, waiting)
    // Closing may have cut the references short. The prompts stay in the inbox for the next process.
    if (run.isClosing) return
    await tryToMakeRoom(run, prompts)
    next = await step(run, prompts)
    if (next === "continue") continue
    await endTurn(run)
    reportTurnEnd(run)
  }
}

type CompactItem = Extract<InboxItem, { type: "compact" }>

/** The prompts of the next step, or a requested compaction if the request was admitted before the first of them. */
async function nextWork(
  run: Run,
  next: AfterStep,
): Promise<{ waiting: readonly Prompt[]; compaction?: CompactItem }> {
  const items = await inboxItems(run, next)
  const prompts = items.filter((item) => item.type === "prompt")
  const waiting = next === "idle" ? prompts.slice(0, 1) : prompts.filter((item) => item.delivery === "steer")
  const compaction = items.find((item) => item.type === "compact")
  if (!compaction || (waiting[0] && items.indexOf(waiting[0]) < items.indexOf(compaction))) return { waiting }
  return { waiting: [], compaction }
}

async function inboxItems(run: Run, next: AfterStep): Promise<InboxItem[]> {
  const items = await run.engine.store.inbox(run.sessionID)
  if (next === "continue" || items[0]?.type !== "abort") return items
  // The abort was meant for a turn that ended before the abort was admitted.
  await run.takeOldAborts()
  return run.engine.store.inbox(run.sessionID)
}

async function beginTurn(run: Run, prompt: Prompt | undefined): Promise<void> {
  if (prompt) await run.awaitTurn(prompt.time)
  run.beginTurn()
  if (!prompt) return
  const { id, message } = prompt
  await run.telemetry.begin({ promptID: id, agent: message.agent, model: message.model })
}

async function runCompactionRequest(run: Run, item: CompactItem, next: AfterStep): Promise<void> {
  // An abort that was admitted right after the request stops the compaction.
  run.handleInbox().catch(() => {})
  try {
    const result = await compactByRequest(run, item, { continuesTurn: next === "continue" })
    if (result === "nothing") run.notifyRefused(item.id, nothingToCompact())
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    // The request stays in the inbox for the next process.
    if (run.isClosing) return
    // The request was aborted or cannot be met. It leaves the inbox, so that it is not tried again without end.
    await run.writer.commit([{ op: "inbox.take", sessionID: run.sessionID, itemID: item.id }])
    run.notifyRefused(item.id, compactionError(error))
  }
  if (next === "idle") run.isInTurn = false
  run.notifyAnswered()
}

function compactionError(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  const text = `Nothing was compacted: ${errorText(error)}`
  return new StemmaError(error instanceof Aborted ? "unavailable" : "internal", text, { cause: error })
}

/** A failure is only a warning, except a lost lease: the step that follows reports what is wrong with its call. */
async function tryToMakeRoom(run: Run, prompts: readonly Prompt[]): Promise<void> {
  try {
    await makeRoom(run, prompts)
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    if (!run.signal.aborted) run.engine.warn(error)
  }
}

function reportTurnEnd(run: Run): void {
  run.telemetry.end()
  run.notifyAnswered()
}
