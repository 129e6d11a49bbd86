import type { HistoryItem, Message, Row, StemmaEvent } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"

/** The message's own row. */
export function ownRow(rows: readonly Row[], messageID: string): RowOf<"message"> | undefined {
  return rows.find((row): row is RowOf<"message"> => row.type === "message" && row.message.id === messageID)
}

/** The message as it was before it was finished: its parts come first. */
export function asBegun(message: Message): Message {
  if (message.role === "user") return message
  const { finish: _finish, error: _error, time, ...rest } = message
  return { ...rest, time: { created: time.created } }
}

export function begunEvent(message: Message): StemmaEvent {
  return { type: "message.updated", properties: { info: asBegun(message) } }
}

export function removalOf(sessionID: string, messageID: string): StemmaEvent {
  return { type: "message.removed", properties: { sessionID, messageID } }
}

/** True if one commit brought the whole message, sealed: a prompt. */
export function isAppendedWhole(rows: readonly Row[], messageID: string): boolean {
  const row = ownRow(rows, messageID)
  if (row?.message.role !== "user" || !row.sealed || row.parts === 0) return false
  return isWhole(row, rows) && partRows(rows, messageID).every(({ version }) => version === row.version)
}

/** True if the rows have all parts of the message. */
export function isWhole(own: RowOf<"message">, rows: readonly Row[]): boolean {
  return partRows(rows, own.message.id).length === own.parts
}

function partRows(rows: readonly Row[], messageID: string): RowOf<"part">[] {
  return rows.filter((row) => row.type === "part").filter(({ part }) => part.messageID === messageID)
}

/** True if rows that are not older than that version tell the whole message. */
export function isTold(rows: readonly Row[], messageID: string, version: number): boolean {
  const own = ownRow(rows, messageID)
  if (own === undefined || own.version < version) return false
  return partRows(rows, messageID).filter((row) => row.version >= version).length === own.parts
}

/** A message of a page as rows of that version, its own first. */
export function rowsOf(item: HistoryItem, sessionID: string, version: number): [RowOf<"message">, ...Row[]] {
  const { position, sealed, message, parts } = item
  const place = { version, sessionID, position }
  const rows: Row[] = []
  for (const [index, part] of parts.entries()) rows.push({ type: "part", ...place, index, part })
  for (const [key, value] of Object.entries(item.notes ?? {})) {
    rows.push({ type: "note", ...place, messageID: message.id, key, value })
  }
  return [{ type: "message", ...place, sealed, parts: parts.length, message }, ...rows]
}

/** Rows without those that are older than a move and about what it replaced. */
export function usefulRows(
  rows: readonly Row[],
  moved: { from: number; version: number } | undefined,
): readonly Row[] {
  if (moved === undefined) return rows
  const { from, version } = moved
  return rows.filter((row) => !("position" in row && row.position >= from && row.version < version))
}
