import { noMessage } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import type { Head, Segments } from "./segments.ts"

/** Where a message is stored: its segment and its position. */
export interface MessageLocation {
  segment: number
  position: number
}

/** Returns the location of a message of this history, or undefined if the history does not have the message. */
export function findLocation(
  at: { db: Database; segments: Segments },
  head: Head,
  messageID: string,
): MessageLocation | undefined {
  const rows = at.db.all("SELECT segment, position FROM messages WHERE id = ?", encodeID(messageID))
  for (const [segment, position] of rows as [number, number][]) {
    if (at.segments.includes(head, segment, position)) return { segment, position }
  }
  return undefined
}

/** Returns the location of a message of this history, or fails with `not_found`. */
export function locateMessage(
  at: { db: Database; segments: Segments },
  head: Head & { id: string },
  messageID: string,
): MessageLocation {
  const location = findLocation(at, head, messageID)
  if (location) return location
  throw noMessage(head.id, messageID)
}
