import { type HistoryItem, type Row, StemmaError } from "../protocol/index.ts"
import type { RowOf } from "../session/view.ts"
import type { Store } from "../stores/store.ts"
import type { Extras, SessionFeed } from "./feed.ts"

const pageLimit = 200

/** Reads what the rows do not tell; undefined if they tell everything, which is nearly always. */
export async function readExtras<Listener>(
  store: Store,
  feed: SessionFeed<Listener>,
  rows: readonly Row[],
): Promise<Extras | undefined> {
  const wanted = feed.wantedMessages(rows)
  const moves = movesOf(rows)
  if (wanted.size === 0 && moves.length === 0) return undefined
  const { sessionID } = feed
  const extras: Extras = { messages: new Map(), removed: [], replaced: [] }
  for (const messageID of wanted) {
    const page = await present(store.history(sessionID, { messageID }))
    if (page?.items[0]) extras.messages.set(messageID, page.items[0])
  }
  if (moves.length > 0) await readMoves({ store, sessionID, moves }, extras)
  return extras
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

async function readMoves(
  where: { store: Store; sessionID: string; moves: RowOf<"history">[] },
  extras: Extras,
): Promise<void> {
  const { store, sessionID, moves } = where
  const session = await present(store.session(sessionID))
  if (!session) return
  // Each move leaves at most one tail.
  for (const { segment, keep } of session.history.left.slice(-moves.length)) {
    const items = await readPages(store, sessionID, { left: segment, from: keep })
    for (const { message } of items) extras.removed.push(message.id)
  }
  const from = Math.min(...moves.map(({ keep }) => keep))
  extras.replaced = await readPages(store, sessionID, { from })
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
