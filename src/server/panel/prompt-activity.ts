import { StemmaError } from "../../protocol/index.ts"
import type { Stemma } from "../../run/stemma.ts"

/**
 * Whether a process still works on a prompt: `running` while a process runs its session, `waiting` while the prompt is
 * in the inbox. Undefined if no process will work on it.
 */
export async function promptActivity(
  stemma: Stemma,
  { sessionID, promptID }: { sessionID: string; promptID: string },
): Promise<"running" | "waiting" | undefined> {
  const { store } = stemma
  if (stemma.status(sessionID).type !== "idle") return "running"
  // The inbox is read before the lease is tried: a process that took the prompt in between holds the lease.
  const isWaiting = (await store.inbox(sessionID)).some(({ id }) => id === promptID)
  try {
    await store.release(await store.claim(sessionID))
  } catch (error) {
    if (StemmaError.is(error, "conflict")) return "running"
    throw error
  }
  return isWaiting ? "waiting" : undefined
}
