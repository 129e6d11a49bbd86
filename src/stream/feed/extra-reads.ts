import type { HistoryItem, Row } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"
import { ifFound } from "../../stores/if-found.ts"
import type { Store } from "../../stores/store.ts"
import type { ExtraReads, HistoryMove, SessionFeed } from "./feed.ts"
import { withoutReplacedRows } from "./message-rows.ts"

const pageLimit = 200

/** Reads what the rows lack. Undefined if the rows are enough, which is nearly always the case. */
export async function readExtras<Subscriber>(
  store: Store,
  feed: SessionFeed<Subscriber>,
  rows: readonly Row[],
): Promise<ExtraReads | undefined> {
  const { sessionID } = feed
  const moves = historyMoves(rows)
  const moved = moves.length === 0 ? undefined : await readMove({ store, sessionID, moves })
  const wanted = feed.wantedMessages(withoutReplacedRows(rows, moved))
  if (wanted.size === 0 && moved === undefined) return undefined
  const messages = new Map<string, HistoryItem>()
  for (const messageID of wanted) {
    const page = await ifFound(store.history(sessionID, { messageID }))
    if (page?.items[0]) messages.set(messageID, page.items[0])
  }
  return { messages, moved }
}

/**
 * The moves of the history. The first history row of a fork is not a move for subscribers: they do not know the session
 * yet, and a client that shows the fork pages in the shared messages.
 */
function historyMoves(rows: readonly Row[]): RowOf<"history">[] {
  const moves = rows.filter((row) => row.type === "history")
  const row = rows.find((candidate) => candidate.type === "session")
  const hasBegun = row?.session.forkedFrom !== undefined && moves.length >= row.session.history.epoch
  return hasBegun ? moves.slice(1) : moves
}

async function readMove(where: {
  store: Store
  sessionID: string
  moves: RowOf<"history">[]
}): Promise<HistoryMove | undefined> {
  const { store, sessionID, moves } = where
  const session = await ifFound(store.session(sessionID))
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
    const page = await ifFound(store.history(sessionID, { ...query, from, take: "start", limit: pageLimit }))
    if (!page) return items
    items.push(...page.items)
    const last = page.items.at(-1)
    if (!page.more || !last) return items
    from = last.position + 1
  }
}
