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
 * The rows of one session in the order in which things happen: the session, then message by message, each before its
 * parts, which are in their order too, and an answer's end after them. In the order of their last change a part comes
 * before the message that goes on. What was before a move of the history stays before it.
 */
export function inTellingOrder(rows: readonly Row[]): Row[] {
  const moves = rows.filter(({ type }) => type === "history").map(({ version }) => version)
  const era = (row: Row) =>
    rank(row) < typeOrder.history ? 0 : moves.filter((move) => move <= row.version).length
  return [...rows].sort((a, b) => {
    if (moves.length > 0 && era(a) !== era(b)) return era(a) - era(b)
    const isPlaced = "position" in a && "position" in b
    if (isPlaced && a.position !== b.position) return a.position - b.position
    // Events do not say where a part is: whoever hears of parts for the first time has them in this order.
    return a.type === "part" && b.type === "part" ? a.index - b.index : rank(a) - rank(b)
  })
}

function rank(row: Row): number {
  return isFinish(row) ? typeOrder.piece + 0.5 : typeOrder[row.type]
}

/** The message that a row is about. */
export function messageOf(row: Row): string | undefined {
  if (row.type === "message") return row.message.id
  if (row.type === "part") return row.part.messageID
  return row.type === "piece" || row.type === "note" ? row.messageID : undefined
}
