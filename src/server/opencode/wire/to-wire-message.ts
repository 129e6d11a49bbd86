import { type HistoryItem, type Message, UserSummary } from "../../../protocol/index.ts"
import { partNotes, withNote } from "./part-notes.ts"
import { toWireError } from "./to-wire-error.ts"
import { type PartOptions, toWirePart } from "./to-wire-part.ts"
import { toWireDiff } from "./to-wire-session.ts"
import type { WireItem, WireMessage } from "./wire-message.ts"

export function toWireItem(item: HistoryItem, options: PartOptions): WireItem {
  const parts = item.parts.map((part) => toWirePart(part, options))
  const info = toWireMessage(withSummary(item))
  if (item.notes?.parts === undefined) return { info, parts }
  const notes = partNotes(item)
  return { info, parts: parts.map((part) => withNote(part, notes)) }
}

/** The summary of a user message is written later and stored as a note. */
function withSummary({ message, notes }: HistoryItem): Message {
  if (message.role !== "user" || notes?.summary === undefined) return message
  const summary = UserSummary.safeParse(notes.summary)
  return summary.success ? { ...message, summary: summary.data } : message
}

export function toWireMessage(message: Message): WireMessage {
  if (message.role === "user") {
    const { id, sessionID, role, time, agent, model, variant, system, tools, summary } = message
    return {
      id,
      sessionID,
      role,
      time,
      agent,
      model: { ...model, ...(variant !== undefined && { variant }) },
      ...(system !== undefined && { system }),
      ...(tools && { tools }),
      ...(summary && { summary: { ...summary, diffs: summary.diffs.map(toWireDiff) } }),
    }
  }
  const { error, mode = message.agent, ...rest } = message
  return { ...rest, mode, ...(error && { error: toWireError(error) }) }
}
