import { StemmaError } from "../../protocol/index.ts"
import type { Stemma } from "../../run/stemma.ts"

/**
 * What becomes of a prompt: `going` while some process is at work in its session, `waiting` while it lies there for whoever takes
 * it; undefined if nobody will do anything about it.
 */
export async function workOn(
  stemma: Stemma,
  { sessionID, promptID }: { sessionID: string; promptID: string },
): Promise<"going" | "waiting" | undefined> {
  const { store } = stemma
  if (stemma.status(sessionID).type !== "idle") return "going"
  // Before the lease: whoever has taken it in between holds that.
  const isWaiting = (await store.inbox(sessionID)).some(({ id }) => id === promptID)
  try {
    await store.release(await store.claim(sessionID))
  } catch (error) {
    if (StemmaError.is(error, "conflict")) return "going"
    throw error
  }
  return isWaiting ? "waiting" : undefined
}
