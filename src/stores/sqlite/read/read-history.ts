import type { HistoryItem } from "../../../protocol/index.ts"
import { checkLimit, checkPosition } from "../../cursor.ts"
import { pageLimit } from "../../limits.ts"
import { noLeftTail, noSession } from "../../refusals.ts"
import type { HistoryPage, HistoryQuery } from "../../store.ts"
import { encodeID } from "../rows/id-codec.ts"
import { compactionKind, pruneKind } from "../rows/message-rows.ts"
import { readSessionData } from "../rows/session-rows.ts"
import { locateMessage } from "./locate.ts"
import { type Reader, readItems } from "./read-messages.ts"
import type { Head } from "./segments.ts"

/** Returns the key, head and epoch of a visible session, or fails with `not_found`. */
export function sessionHead(
  reader: Reader,
  sessionID: string,
): Head & { key: number; epoch: number; id: string } {
  const row = reader.db.get(
    "SELECT key, segment, count, epoch FROM sessions WHERE id = ? AND importing = 0",
    encodeID(sessionID),
  )
  if (row === undefined) throw noSession(sessionID)
  const [key, segment, count, epoch] = row as [number, number, number, number]
  return { key, segment, count, epoch, id: sessionID }
}

export function readHistory(reader: Reader, sessionID: string, query: HistoryQuery): HistoryPage {
  const limit = checkLimit(query.limit, pageLimit)
  const session = sessionHead(reader, sessionID)
  const head: Head = query.left === undefined ? session : leftHead(reader, session.key, sessionID, query.left)
  const history = { sessionID, head }
  const page = (items: HistoryItem[], more: boolean): HistoryPage => ({
    items,
    count: head.count,
    epoch: session.epoch,
    more,
  })
  let from = checkPosition(query.from) ?? 0
  let to = Math.min(head.count, checkPosition(query.to) ?? head.count)
  if (query.messageID !== undefined) {
    const { position } = locateMessage(reader, { ...head, id: sessionID }, query.messageID)
    from = Math.max(from, position)
    to = Math.min(to, position + 1)
  }
  const fromEnd = query.take !== "start"
  if (query.having !== undefined) {
    const positions = markedPositions(reader, head, {
      from,
      to,
      having: query.having,
      fromEnd,
      limit: limit + 1,
    })
    const more = positions.length > limit
    positions.length = Math.min(positions.length, limit)
    positions.sort((a, b) => a - b)
    return page(
      positions.flatMap((position) => readItems(reader, history, { from: position, to: position + 1 })),
      more,
    )
  }
  if (from >= to) return page([], false)
  const range = fromEnd ? { from: Math.max(from, to - limit), to } : { from, to: Math.min(to, from + limit) }
  return page(readItems(reader, history, range), range.from > from || range.to < to)
}

/** Returns the head of a left tail, or fails with `not_found`. */
export function leftHead(reader: Reader, session: number, sessionID: string, left: string): Head {
  const entry = readSessionData(reader.db, session).left?.find((tail) => tail.segment === left)
  const key = reader.db.get("SELECT key FROM segments WHERE id = ?", encodeID(left))?.[0] as
    | number
    | undefined
  if (entry === undefined || key === undefined) {
    throw noLeftTail(sessionID, left)
  }
  return { segment: key, count: entry.count }
}

interface MarkQuery {
  from: number
  to: number
  having: "compaction" | "prune"
  fromEnd: boolean
  limit: number
}

/**
 * Returns the positions of messages with a compaction or a prune mark, by a partial index, nearest to the chosen end
 * first.
 */
function markedPositions(reader: Reader, head: Head, query: MarkQuery): number[] {
  const kind = query.having === "compaction" ? compactionKind : pruneKind
  const order = query.fromEnd ? "DESC" : "ASC"
  const positions: number[] = []
  const spans = query.fromEnd
    ? reader.segments.spansBack(head, query.from, query.to)
    : reader.segments.spans(head, query.from, query.to)
  for (const span of spans) {
    const rows = reader.db.all(
      `SELECT DISTINCT position FROM parts INDEXED BY parts_marks
        WHERE segment = ? AND position >= ? AND position < ? AND kind BETWEEN 20 AND 29 AND kind = ? ORDER BY position ${order} LIMIT ?`,
      span.segment,
      span.from,
      span.to,
      kind,
      query.limit - positions.length,
    )
    for (const [position] of rows) positions.push(position as number)
    if (positions.length >= query.limit) break
  }
  return positions
}
