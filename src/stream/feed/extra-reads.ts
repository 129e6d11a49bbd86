import { type HistoryItem, type Row, StemmaError } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"
import type { Store } from "../../stores/store.ts"
import type { Extras, Moved, SessionFeed } from "./feed.ts"
import { usefulRows } from "./message-rows.ts"

const pageLimit = 200

/** Reads what the rows do not tell; undefined if they tell everything, which is nearly always. */
export async function readExtras<Listener>(
  store: Store,
  feed: SessionFeed<Listener>,
  rows: readonly Row[],
): Promise<Extras | undefined> {
  const { sessionID } = feed
  const moves = movesOf(rows)
  const moved = moves.length === 0 ? undefined : await readMoved({ store, sessionID, moves })
  const wanted = feed.wantedMessages(usefulRows(rows, moved))
  if (wanted.size === 0 && moved === undefined) return undefined
  const messages = new Map<string, HistoryItem>()
  for (const messageID of wanted) {
    const page = await present(store.history(sessionID, { messageID }))
    if (page?.items[0]) messages.set(messageID, page.items[0])
  }
  return { messages, moved }
}

/**
 * The moves of the history. A fork begins with one that is none to listeners: they do not know the session yet, and who
 * shows it pages in what it shares.
 */
function movesOf(rows: readonly Row[]): RowOf<"history">[] {
  const moves = rows.filter((row) => row.type === "history")
  const row = rows.find((candidate) => candidate.type === "session")
  const hasBegun = row?.session.forkedFrom !== undefined && moves.length >= row.session.history.epoch
  return hasBegun ? moves.slice(1) : moves
}

async function readMoved(where: {
  store: Store
  sessionID: string
  moves: RowOf<"history">[]
}): Promise<Moved | undefined> {
  const { store, sessionID, moves } = where
  const session = await present(store.session(sessionID))
  if (!session) return undefined
  const removed: string[] = []
  // Each move leaves at most one tail.
  for (const { segment, keep } of session.history.left.slice(-moves.length)) {
    const items = await readPages(store, sessionID, { left: segment, from: keep })
    for (const { message } of items) removed.push(message.id)
  }
  const from = Math.min(...moves.map(({ keep }) => keep))
  return { from, version: moves.at(-1)!.version, removed, items: await readPages(store, sessionID, { from }) }
}

async function readPages(
  store: Store,
  sessionID: string,
  query: { from: number; left?: string },
): Promise<HistoryItem[]> {
  const items: HistoryItem[] = []
  for (let from = query.from; ; ) {
    const page = await present(store.history(sessionID, { ...query, from, take: "start", limit: pageLimit }))
    if (!page) return items
    items.push(...page.items)
    const last = page.items.at(-1)
    if (!page.more || !last) return items
    from = last.position + 1
  }
}

/** What was removed meanwhile is not there: a later row says so. */
async function present<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  }
}
