import { type FileDiff, StemmaError, UserSummary } from "../protocol/index.ts"
import type { StoreReader } from "../run/index.ts"

/** The files that a session changed, or that the turn of one user message changed. */
export async function sessionDiff(
  reader: StoreReader,
  sessionID: string,
  messageID: string | undefined,
): Promise<FileDiff[]> {
  const session = await reader.session(sessionID)
  if (messageID === undefined) return session.summary?.diffs ?? []
  const [item] = (await reader.history(sessionID, { messageID })).items
  if (!item) throw new StemmaError("not_found", `Session ${sessionID} has no message ${messageID}.`)
  const summary = UserSummary.safeParse(item.notes?.summary)
  return summary.success ? summary.data.diffs : []
}
