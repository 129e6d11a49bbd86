import { StemmaError } from "../../protocol/index.ts"
import type { Coordinator } from "./coordinator.ts"

/** Whether a session has work to do, in this process or in another one. */
export async function isBusy(coordinator: Coordinator, sessionID: string): Promise<boolean> {
  if (coordinator.isRunning(sessionID)) return true
  // The inbox is read before the history: a prompt that is taken in between is then seen twice rather than never.
  if (await hasWaitingWork(coordinator, sessionID)) return true
  return (await hasOpenMessage(coordinator, sessionID)) && isHeld(coordinator, sessionID)
}

/** What happens with a prompt: a process runs its session, or the prompt waits in the inbox. Undefined for neither. */
export type PromptState = "running" | "waiting" | undefined

export async function promptState(
  coordinator: Coordinator,
  { sessionID, promptID }: { sessionID: string; promptID: string },
): Promise<PromptState> {
  const { hub, store } = coordinator.engine
  if (hub.status(sessionID).type !== "idle") return "running"
  // The inbox is read before the lease: a process that takes the prompt in between holds the lease.
  const isWaiting = (await store.inbox(sessionID)).some(({ id }) => id === promptID)
  if (await isHeld(coordinator, sessionID)) return "running"
  return isWaiting ? "waiting" : undefined
}

/** Aborts what a session does, in this process or in another one. Does nothing for an idle session. */
export async function abortSession(
  coordinator: Coordinator,
  sessionID: string,
  reason: string,
): Promise<void> {
  if (coordinator.abort(sessionID, reason)) return
  const { store, clock, newID } = coordinator.engine
  const isCompacting = (await store.session(sessionID)).time.compacting !== undefined
  const hasWork =
    isCompacting ||
    (await hasWaitingWork(coordinator, sessionID)) ||
    (await hasOpenMessage(coordinator, sessionID))
  if (!hasWork) return
  await store.admit({ id: newID("part"), sessionID, type: "abort", time: clock.now(), reason })
}

/** Aborts a session and all its descendants, parents first: an aborted parent starts no new child. */
export async function abortTree(coordinator: Coordinator, rootID: string, reason: string): Promise<void> {
  await abortSession(coordinator, rootID, reason)
  const [, ...below] = await coordinator.engine.store.tree(rootID)
  for (const { id } of below) await abortSession(coordinator, id, reason)
}

async function hasWaitingWork({ engine }: Coordinator, sessionID: string): Promise<boolean> {
  const items = await engine.store.inbox(sessionID)
  return items.some(({ type }) => type === "prompt" || type === "compact")
}

/** Whether the last message is still being written, or was when its process died. */
async function hasOpenMessage({ engine }: Coordinator, sessionID: string): Promise<boolean> {
  const { items } = await engine.store.history(sessionID, { limit: 1 })
  return items[0]?.sealed === false
}

/** Whether a live process holds the session's lease. The store has no other way to ask than to claim it. */
async function isHeld({ engine: { store } }: Coordinator, sessionID: string): Promise<boolean> {
  try {
    await store.release(await store.claim(sessionID))
    return false
  } catch (error) {
    if (StemmaError.is(error, "conflict")) return true
    throw error
  }
}
