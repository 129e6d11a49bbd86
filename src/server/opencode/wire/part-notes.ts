import { z } from "zod"
import { type HistoryItem, JsonObject } from "../../../protocol/index.ts"
import type { WirePart } from "./wire-message.ts"

const PartNotes = z.record(z.string(), JsonObject)
type PartNotes = z.infer<typeof PartNotes>

/** The notes about the parts of a message, by the id of the part. */
export function partNotes({ notes }: HistoryItem): PartNotes {
  return PartNotes.safeParse(notes?.parts).data ?? {}
}

/** The part with the note about it in its metadata. */
export function withNote(part: WirePart, notes: PartNotes): WirePart {
  const note = Object.hasOwn(notes, part.id) ? notes[part.id] : undefined
  if (!note || !(part.type === "text" || part.type === "reasoning" || part.type === "tool")) return part
  return { ...part, metadata: { ...part.metadata, note } }
}
