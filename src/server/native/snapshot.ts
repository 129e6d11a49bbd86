import type { Row } from "../../protocol/index.ts"
import type { StoreReader } from "../../run/index.ts"
import type { HistoryPage } from "../../stores/store.ts"
import { cursorVersion } from "../../stream/subscriber/cursor-version.ts"

/** The initial state of a replica. Changes during the reads come again after the cursor. */
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
  const common = { version: cursorVersion(cursor), sessionID }
  const rows: Row[] = [
    { type: "session", ...common, session },
    { type: "todos", ...common, todos },
    { type: "inbox", ...common, items },
    ...questions.map((request): Row => ({ type: "permission", ...common, request })),
  ]
  return { cursor, rows, page }
}
