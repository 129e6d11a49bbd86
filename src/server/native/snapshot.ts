import type { Row } from "../../protocol/index.ts"
import type { StoreReader } from "../../run/index.ts"
import type { HistoryPage } from "../../stores/store.ts"
import { versionOf } from "../../stream/subscriber/position.ts"

/** All that a replica begins with. What changes while it is read comes again after the cursor. */
export async function readSnapshot(
  reader: StoreReader,
  sessionID: string,
  last: number,
): Promise<{ cursor: string; rows: Row[]; page: HistoryPage }> {
  const cursor = await reader.cursor()
  const [session, todos, items, questions, page] = await Promise.all([
    reader.session(sessionID),
    reader.todos(sessionID),
    reader.inbox(sessionID),
    reader.permissions({ sessionID, open: true }),
    reader.history(sessionID, { take: "end", limit: last }),
  ])
  const common = { version: versionOf(cursor), sessionID }
  const rows: Row[] = [
    { type: "session", ...common, session },
    { type: "todos", ...common, todos },
    { type: "inbox", ...common, items },
    ...questions.map((request): Row => ({ type: "permission", ...common, request })),
  ]
  return { cursor, rows, page }
}
