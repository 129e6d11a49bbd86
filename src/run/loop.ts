import { endTurn } from "./end-turn.ts"
import { recoverRun } from "./recovery.ts"
import type { Run } from "./run.ts"
import { type Next, type Prompt, step } from "./step.ts"

/**
 * A run: from the claim of the lease until there is nothing left to do. The caller holds the lease.
 *
 * First what a dead writer left is repaired. Then prompts are taken one after the other; while one is being answered,
 * those that steer are taken at the next step, the others wait for their turn.
 */
export async function loop(run: Run): Promise<void> {
  let next: Next = await recoverRun(run)
  if (next === "idle") run.tellAnswered()
  while (!run.isClosing) {
    const prompts = await nextPrompts(run, next)
    if (next === "idle") {
      if (prompts.length === 0) return
      run.beginTurn()
    }
    next = await step(run, prompts)
    if (next === "continue") continue
    await endTurn(run)
    run.tellAnswered()
  }
}

/** When idle the first prompt alone, so that each gets its own answer; within a turn all that steer it. */
async function nextPrompts(run: Run, next: Next): Promise<Prompt[]> {
  let items = await run.engine.store.inbox(run.sessionID)
  if (next === "idle" && items[0]?.type === "abort") {
    // It came when the turn that it was meant for had just ended.
    await run.takeOldAborts()
    items = await run.engine.store.inbox(run.sessionID)
  }
  const prompts = items.filter((item) => item.type === "prompt")
  return next === "idle" ? prompts.slice(0, 1) : prompts.filter((item) => item.delivery === "steer")
}
