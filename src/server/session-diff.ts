import { type FileDiff, StemmaError, UserSummary } from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"

/** The files that a session changed, or that the turn of one user message changed. */
export async function sessionDiff(
  store: Store,
  sessionID: string,
  messageID: string | undefined,
): Promise<FileDiff[]> {
  const session = await store.session(sessionID)
  if (messageID === undefined) return session.summary?.diffs ?? []
  const [item] = (await store.history(sessionID, { messageID })).items
  if (!item) throw new StemmaError("not_found", `Session ${sessionID} has no message ${messageID}.`)
  const summary = UserSummary.safeParse(item.notes?.summary)
  return summary.success ? summary.data.diffs : []
}
