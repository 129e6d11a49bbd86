import type { HistoryItem, Message, Row, StemmaEvent } from "../../protocol/index.ts"
import type { RowOf } from "../../session/replica/view.ts"

export function messageRow(rows: readonly Row[], messageID: string): RowOf<"message"> | undefined {
  return rows.find((row): row is RowOf<"message"> => row.type === "message" && row.message.id === messageID)
}

/** The message as it was before it was finished, to be sent before its parts. */
export function asStarted(message: Message): Message {
  if (message.role === "user") return message
  const { finish: _finish, error: _error, time, ...rest } = message
  return { ...rest, time: { created: time.created } }
}

export function startedEvent(message: Message): StemmaEvent {
  return { type: "message.updated", properties: { info: asStarted(message) } }
}

export function removedEvent(sessionID: string, messageID: string): StemmaEvent {
  return { type: "message.removed", properties: { sessionID, messageID } }
}

/** True for a prompt: one commit wrote the whole message, sealed. */
export function isAppendedWhole(rows: readonly Row[], messageID: string): boolean {
  const row = messageRow(rows, messageID)
  if (row?.message.role !== "user" || !row.sealed || row.parts === 0) return false
  return hasAllParts(row, rows) && partRows(rows, messageID).every(({ version }) => version === row.version)
}

/** True if the rows contain all parts of the message. */
export function hasAllParts(own: RowOf<"message">, rows: readonly Row[]): boolean {
  return partRows(rows, own.message.id).length === own.parts
}

function partRows(rows: readonly Row[], messageID: string): RowOf<"part">[] {
  return rows.filter((row) => row.type === "part").filter(({ part }) => part.messageID === messageID)
}

/** True if rows of that version or newer contain the whole message. */
export function isCoveredBy(rows: readonly Row[], messageID: string, version: number): boolean {
  const own = messageRow(rows, messageID)
  if (own === undefined || own.version < version) return false
  return partRows(rows, messageID).filter((row) => row.version >= version).length === own.parts
}

/** A message of a history page as rows of the given version, the message row first. */
export function rowsOf(item: HistoryItem, sessionID: string, version: number): [RowOf<"message">, ...Row[]] {
  const { position, sealed, message, parts } = item
  const location = { version, sessionID, position }
  const rows: Row[] = []
  for (const [index, part] of parts.entries()) rows.push({ type: "part", ...location, index, part })
  for (const [key, value] of Object.entries(item.notes ?? {})) {
    rows.push({ type: "note", ...location, messageID: message.id, key, value })
  }
  return [{ type: "message", ...location, sealed, parts: parts.length, message }, ...rows]
}

/** Drops rows that are older than a move and belong to messages that the move replaced. */
export function withoutReplacedRows(
  rows: readonly Row[],
  moved: { from: number; version: number } | undefined,
): readonly Row[] {
  if (moved === undefined) return rows
  const { from, version } = moved
  return rows.filter((row) => !("position" in row && row.position >= from && row.version < version))
}
