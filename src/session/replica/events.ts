import { type Message, type Row, type StemmaEvent, UserSummary } from "../../protocol/index.ts"
import { isNewRow, isOutdated } from "./is-new-row.ts"
import type { ReplicaMessage } from "./replica-message.ts"
import { newestOf } from "./replica-part.ts"
import type { RowOf, SessionView } from "./view.ts"

/**
 * The events that a row causes. `before` is the view before the row is applied. A row that changes nothing causes no
 * events. The text of a part row comes without its pieces; the pieces follow as deltas.
 */
export function eventsOf(row: Row, before: SessionView): StemmaEvent[] {
  if (!isNewRow(before, row)) return []
  const { sessionID } = row
  switch (row.type) {
    case "session":
      return sessionEvents(row, before)
    case "removed": {
      const { parentID, directory } = row
      const info = { id: sessionID, directory, ...(parentID !== undefined && { parentID }) }
      return [{ type: "session.deleted", properties: { info } }]
    }
    case "history":
      return slotsFrom(before, row.keep)
        .filter((slot) => slot.message && isOutdated(slot, row))
        .map((slot) => messageRemoved(sessionID, slot.messageID))
    case "message":
      return messageEvents(row, before)
    case "part":
      return partEvents(row, before)
    case "piece": {
      const { messageID, partID, field, offset, text } = row
      const properties = { sessionID, messageID, partID, field, offset, delta: text }
      return [{ type: "message.part.delta", properties }]
    }
    case "note":
      return noteEvents(row, before)
    case "todos":
      return [{ type: "todo.updated", properties: { sessionID, todos: row.todos } }]
    case "permission":
      return permissionEvents(row, before)
    case "inbox":
      return []
  }
}

function sessionEvents(row: RowOf<"session">, before: SessionView): StemmaEvent[] {
  const info = row.session
  const events: StemmaEvent[] = []
  if (before.session === undefined) events.push({ type: "session.created", properties: { info } })
  events.push({ type: "session.updated", properties: { info } })
  const diff = info.summary?.diffs
  if (diff && JSON.stringify(diff) !== JSON.stringify(before.session?.summary?.diffs)) {
    events.push({ type: "session.diff", properties: { sessionID: row.sessionID, diff } })
  }
  return events
}

function messageEvents(row: RowOf<"message">, before: SessionView): StemmaEvent[] {
  const { sessionID } = row
  const known = before.internal.slots.get(row.position)
  const isSame = known?.messageID === row.message.id
  const events: StemmaEvent[] = []
  if (known?.message && !isSame) events.push(messageRemoved(sessionID, known.messageID))
  events.push({ type: "message.updated", properties: { info: row.message } })
  const error = errorOf(row.message)
  if (error && !(isSame && known.message && errorOf(known.message))) {
    events.push({ type: "session.error", properties: { sessionID, error } })
  }
  if (!isSame) return events
  for (const replicaPart of known.parts.slice(row.parts)) {
    if (replicaPart && newestOf(replicaPart) <= row.version) {
      events.push(partRemoved(sessionID, { messageID: known.messageID, partID: replicaPart.partID }))
    }
  }
  if (
    row.sealed &&
    !known.sealed &&
    known.parts.slice(0, row.parts).some((replicaPart) => isSummary(replicaPart?.part))
  ) {
    events.push({ type: "session.compacted", properties: { sessionID } })
  }
  return events
}

function partEvents(row: RowOf<"part">, before: SessionView): StemmaEvent[] {
  const { sessionID, part } = row
  const known = before.internal.slots.get(row.position)
  const slot = known?.messageID === part.messageID ? known : undefined
  const replicaPart = slot?.parts[row.index]
  const events: StemmaEvent[] = []
  if (replicaPart && replicaPart.partID !== part.id) {
    events.push(partRemoved(sessionID, { messageID: part.messageID, partID: replicaPart.partID }))
  }
  events.push({ type: "message.part.updated", properties: { part } })
  // Within a commit, a message's row comes before the rows of its parts.
  if (slot?.sealed && isSummary(part) && !isSummary(replicaPart?.part)) {
    events.push({ type: "session.compacted", properties: { sessionID } })
  }
  return events
}

/** A user message's summary is stored later as a note. Subscribers get it as a change of the message. */
function noteEvents(row: RowOf<"note">, before: SessionView): StemmaEvent[] {
  const message = before.internal.slots.get(row.position)?.message
  if (row.key !== "summary" || message?.id !== row.messageID || message.role !== "user") return []
  const summary = UserSummary.safeParse(row.value)
  if (!summary.success) return []
  return [{ type: "message.updated", properties: { info: { ...message, summary: summary.data } } }]
}

function permissionEvents(row: RowOf<"permission">, before: SessionView): StemmaEvent[] {
  const { request, sessionID } = row
  if (request.reply === undefined) return [{ type: "permission.asked", properties: { request } }]
  if (before.permissions.get(request.id)?.reply !== undefined) return []
  const properties = { sessionID, permissionID: request.id, reply: request.reply }
  return [{ type: "permission.replied", properties }]
}

function messageRemoved(sessionID: string, messageID: string): StemmaEvent {
  return { type: "message.removed", properties: { sessionID, messageID } }
}

function partRemoved(sessionID: string, ids: { messageID: string; partID: string }): StemmaEvent {
  return { type: "message.part.removed", properties: { sessionID, ...ids } }
}

function slotsFrom(view: SessionView, from: number): ReplicaMessage[] {
  const slots: ReplicaMessage[] = []
  for (let position = from; position < view.internal.end; position++) {
    const slot = view.internal.slots.get(position)
    if (slot) slots.push(slot)
  }
  return slots
}

function errorOf(message: Message) {
  return message.role === "assistant" ? message.error : undefined
}

function isSummary(part: { type: string; summary?: unknown } | undefined): boolean {
  return part?.type === "compaction" && part.summary !== undefined
}
