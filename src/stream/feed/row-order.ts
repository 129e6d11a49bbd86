import type { Row } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"

const typeOrder: Record<Row["type"], number> = {
  removed: 0,
  session: 1,
  history: 2,
  message: 3,
  part: 4,
  piece: 5,
  note: 6,
  todos: 7,
  permission: 8,
  inbox: 9,
}

/** True for the row that finishes an answer. */
export function isFinish(row: Row): row is RowOf<"message"> {
  return row.type === "message" && row.sealed && row.message.role === "assistant"
}

/**
 * Sorts the rows of one session in the order in which their events happened: the session, then each message before its
 * parts, the parts in order of index, and the end of an answer after its parts. In version order, a part can come
 * before its message, because the message row changed later. Rows from before a history move stay before it.
 */
export function inEventOrder(rows: readonly Row[]): Row[] {
  const moves = rows.filter(({ type }) => type === "history").map(({ version }) => version)
  const era = (row: Row) =>
    rank(row) < typeOrder.history ? 0 : moves.filter((move) => move <= row.version).length
  return [...rows].sort((a, b) => {
    if (moves.length > 0 && era(a) !== era(b)) return era(a) - era(b)
    const havePositions = "position" in a && "position" in b
    if (havePositions && a.position !== b.position) return a.position - b.position
    // Events do not contain the index of a part, so a new subscriber keeps parts in the order of their events.
    return a.type === "part" && b.type === "part" ? a.index - b.index : rank(a) - rank(b)
  })
}

function rank(row: Row): number {
  return isFinish(row) ? typeOrder.piece + 0.5 : typeOrder[row.type]
}

export function messageIDOf(row: Row): string | undefined {
  if (row.type === "message") return row.message.id
  if (row.type === "part") return row.part.messageID
  return row.type === "piece" || row.type === "note" ? row.messageID : undefined
}
