import { noMessage } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import type { Head, Segments } from "./segments.ts"

/** Where a message is stored. */
export interface Place {
  segment: number
  position: number
}

/** Where a message of this history is stored, if it has it. */
export function findMessage(
  at: { db: Database; segments: Segments },
  head: Head,
  messageID: string,
): Place | undefined {
  const rows = at.db.all("SELECT segment, position FROM messages WHERE id = ?", encodeID(messageID))
  for (const [segment, position] of rows as [number, number][]) {
    if (at.segments.includes(head, segment, position)) return { segment, position }
  }
  return undefined
}

export function locateMessage(
  at: { db: Database; segments: Segments },
  head: Head & { id: string },
  messageID: string,
): Place {
  const location = findMessage(at, head, messageID)
  if (location) return location
  throw noMessage(head.id, messageID)
}
