import { type InboxItem, StemmaError } from "../../protocol/index.ts"
import { compactByRequest, makeRoom } from "../context/make-room.ts"
import { withReferences } from "../prompt/prompt-references.ts"
import { nothingToCompact } from "../schedule/waiters.ts"
import { errorText } from "../step/error-text.ts"
import { type Next, type Prompt, step } from "../step/step.ts"
import { endTurn } from "./end-turn.ts"
import { recoverRun } from "./recovery.ts"
import { Aborted, type Run } from "./run.ts"

/**
 * A run: from the claim of the lease until there is nothing left to do. The caller holds the lease.
 *
 * First what a dead writer left is repaired. Then prompts are taken one after the other; while one is being answered,
 * those that steer are taken at the next step, the others wait for their turn.
 */
export async function loop(run: Run): Promise<void> {
  let next: Next = await recoverRun(run)
  if (next === "idle") {
    run.telemetry.end()
    run.tellAnswered()
  }
  while (!run.isClosing) {
    const { prompts: taken, compaction } = await nextWork(run, next)
    if (next === "idle") {
      if (taken.length === 0 && !compaction) return
      run.beginTurn()
      const waiting = taken[0] && beginWatch(run, taken[0])
      if (waiting) await waiting
    } else run.telemetry.join(taken)
    if (compaction) {
      await compactNow(run, compaction, next)
      continue
    }
    const prompts = await withReferences(run, taken)
    // A prompt without what it refers to is not taken: whoever opens the session next does it.
    if (run.isClosing) return
    await makeRoomOrLeave(run, prompts)
    next = await step(run, prompts)
    if (next === "continue") continue
    await endTurn(run)
    run.telemetry.end()
    run.tellAnswered()
  }
}

function beginWatch({ telemetry }: Run, { id, message }: Prompt): Promise<void> | undefined {
  return telemetry.begin({ promptID: id, agent: message.agent, model: message.model })
}

/**
 * When idle the first prompt alone, so that each gets its own answer; within a turn all that steer it. A compaction that
 * somebody asked for comes before the prompts behind it.
 */
async function nextWork(run: Run, next: Next): Promise<{ prompts: Prompt[]; compaction?: CompactItem }> {
  let items = await run.engine.store.inbox(run.sessionID)
  if (next === "idle" && items[0]?.type === "abort") {
    // It came when the turn that it was meant for had just ended.
    await run.takeOldAborts()
    items = await run.engine.store.inbox(run.sessionID)
  }
  const prompts = items.filter((item) => item.type === "prompt")
  const compaction = items.find((item) => item.type === "compact")
  const taken = next === "idle" ? prompts.slice(0, 1) : prompts.filter((item) => item.delivery === "steer")
  const isFirst = compaction && !(taken[0] && items.indexOf(taken[0]) < items.indexOf(compaction))
  return isFirst ? { prompts: [], compaction } : { prompts: taken }
}

type CompactItem = Extract<InboxItem, { type: "compact" }>

async function compactNow(run: Run, item: CompactItem, next: Next): Promise<void> {
  // An abort that came right behind it is meant for it.
  run.handleInbox().catch(() => {})
  try {
    const done = await compactByRequest(run, item, { goesOn: next === "continue" })
    if (done === "nothing") run.tellRefused(item.id, nothingToCompact())
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    // Whoever opens the session next does it.
    if (run.isClosing) return
    // Aborted, or impossible: it is not to be tried for ever.
    await run.writer.commit([{ op: "inbox.take", sessionID: run.sessionID, itemID: item.id }])
    run.tellRefused(item.id, refusalOf(error))
  }
  if (next === "idle") run.isInTurn = false
  run.tellAnswered()
}

function refusalOf(error: unknown): StemmaError {
  if (StemmaError.is(error)) return error
  const text = `Nothing was compacted: ${errorText(error)}`
  return new StemmaError(error instanceof Aborted ? "unavailable" : "internal", text, { cause: error })
}

/** The step that follows says what is wrong; here only a lost lease is. */
async function makeRoomOrLeave(run: Run, prompts: readonly Prompt[]): Promise<void> {
  try {
    await makeRoom(run, prompts)
  } catch (error) {
    if (run.writer.signal.aborted) throw error
    if (!run.signal.aborted) run.engine.warn(error)
  }
}
