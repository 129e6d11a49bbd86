import {
  type HistoryItem,
  type Message,
  type Part,
  type PartBody,
  StemmaError,
} from "../../../protocol/index.ts"
import type { Span } from "../../../session/history/spans.ts"
import { growingField, grownText, withGrownText } from "../../../session/replica/grow.ts"
import { lastPieceKeyOf } from "../commit/open-tail.ts"
import type { Database } from "../connection/database.ts"
import type { Dictionary } from "../rows/dictionary.ts"
import { decodeMessage, decodePart, longKind, parseStored } from "../rows/message-rows.ts"
import type { Head, Segments } from "./segments.ts"

/** What reads need: the connection and its caches. */
export interface Reader {
  db: Database
  dictionary: Dictionary
  segments: Segments
}

/** Reads the messages of a history at positions [from, to), in order, with parts, grown text and notes. */
export function readItems(
  reader: Reader,
  history: { sessionID: string; head: Head },
  range: { from: number; to: number },
): HistoryItem[] {
  const items: HistoryItem[] = []
  for (const span of reader.segments.spans(history.head, range.from, range.to)) {
    readSpan(reader, history.sessionID, span, items)
  }
  if (items.length > 0) attachNotes(reader, history.head, items)
  return items
}

function readSpan(reader: Reader, sessionID: string, span: Span<number>, items: HistoryItem[]): void {
  const { db, dictionary } = reader
  const messages = db.all(
    `SELECT position, id, version, sealed, constants, data, piece, piece_end FROM messages
      WHERE segment = ? AND position >= ? AND position < ? ORDER BY position`,
    span.segment,
    span.from,
    span.to,
  )
  const parts = db.all(
    `SELECT position, id, version, kind, data FROM parts
      WHERE segment = ? AND position >= ? AND position < ? ORDER BY position, place`,
    span.segment,
    span.from,
    span.to,
  )
  let next = 0
  for (const [position, id, version, sealed, constants, data, piece, pieceEnd] of messages) {
    const where = `Message ${String(position)} of session ${sessionID}`
    const message = decodeMessage(id, dictionary.text(constants as number), data, where) as Message
    message.sessionID = sessionID
    const item: HistoryItem = {
      position: position as number,
      version: version as number,
      sealed: sealed === 1,
      message,
      parts: [],
    }
    for (; next < parts.length && parts[next]![0] === position; next++) {
      const row = parts[next]!
      const part = decodePart(row[1], row[3] as number, row[4], where) as Part
      part.sessionID = sessionID
      part.messageID = message.id
      item.parts.push(part)
      item.version = Math.max(item.version, row[2] as number)
    }
    if (piece !== null) {
      const last = (pieceEnd ?? lastPieceKeyOf(span.segment)) as number
      item.version = Math.max(item.version, appendPieces(db, { first: piece as number, last }, item.parts))
    }
    items.push(item)
  }
  if (messages.length !== span.to - span.from) {
    throw new StemmaError(
      "internal",
      `Session ${sessionID} lacks ${span.to - span.from - messages.length} messages from position ${span.from} on. Run a check of the store, and restore the database from a backup.`,
    )
  }
}

/** Appends the text of the pieces in a range of keys to their parts. Returns the newest version among the pieces. */
export function appendPieces(
  db: Database,
  range: { first: number; last: number },
  parts: PartBody[],
): number {
  let newest = 0
  const texts: string[][] = []
  for (const [index, version, text] of db.all(
    "SELECT place, version, text FROM pieces WHERE key BETWEEN ? AND ? ORDER BY key",
    range.first,
    range.last,
  )) {
    texts[index as number] ??= []
    texts[index as number]!.push(text as string)
    newest = Math.max(newest, version as number)
  }
  for (const [index, pieces] of texts.entries()) {
    const part = parts[index]
    if (pieces === undefined || part === undefined || growingField(part) === undefined) continue
    parts[index] = withGrownText(part, grownText(part) + pieces.join(""))
  }
  return newest
}

export interface StoredPart {
  key: number
  version: number
  kind: number
  /** The JSON in the part's row, without pieces. */
  data: string
  body: PartBody
}

/** Reads the parts of a sealed message with their whole text. */
export function readSealedParts(db: Database, segment: number, position: number): StoredPart[] {
  const where = `Message ${position} of segment ${segment}`
  const stored = db
    .all(
      "SELECT key, version, kind, data, id FROM parts WHERE segment = ? AND position = ? ORDER BY place",
      segment,
      position,
    )
    .map(([key, version, kind, data, id]) => ({
      key: key as number,
      version: version as number,
      kind: kind as number,
      data: data as string,
      body: decodePart(id, kind as number, data, where),
    }))
  appendLongTexts(db, { segment, position }, stored)
  return stored
}

/** Appends the texts that stay in the pieces of a sealed message to its parts, which may be an incomplete list. */
function appendLongTexts(
  db: Database,
  { segment, position }: { segment: number; position: number },
  found: readonly ({ kind: number; body: PartBody } | undefined)[],
): void {
  if (!found.some((part) => part !== undefined && part.kind >= longKind)) return
  const range = db.get(
    "SELECT piece, piece_end FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )
  if (typeof range?.[0] !== "number") return
  const bodies: PartBody[] = []
  for (const [index, part] of found.entries()) if (part) bodies[index] = part.body
  appendPieces(db, { first: range[0], last: range[1] as number }, bodies)
  for (const [index, part] of found.entries()) if (part) part.body = bodies[index]!
}

export interface NewerParts {
  /** By the index of the part; undefined for older parts. */
  parts: ({ version: number; kind: number; body: PartBody } | undefined)[]
  /** The lowest version of all parts. */
  lowest: number
}

/** Reads the parts of a message that are newer than a version. Older parts may be long and are not read. */
export function readPartsSince(
  db: Database,
  { segment, position, since }: { segment: number; position: number; since: number },
): NewerParts {
  const where = `Message ${position} of segment ${segment}`
  const newer: NewerParts = { parts: [], lowest: Number.POSITIVE_INFINITY }
  for (const row of db.each(
    `SELECT version, kind, id, CASE WHEN version > ? THEN data END FROM parts
      WHERE segment = ? AND position = ? ORDER BY place`,
    since,
    segment,
    position,
  )) {
    const [version, kind, id, data] = row as [number, number, unknown, string | null]
    newer.lowest = Math.min(newer.lowest, version)
    newer.parts.push(data === null ? undefined : { version, kind, body: decodePart(id, kind, data, where) })
  }
  appendLongTexts(db, { segment, position }, newer.parts)
  return newer
}

/**
 * Adds the newest notes to the messages. A note is stored in the segment in which it was written, which may come after
 * the message's own segment.
 */
function attachNotes(reader: Reader, head: Head, items: HistoryItem[]): void {
  const first = items[0]!.position
  const last = items.at(-1)!.position
  const newest = new Map<string, { version: number; value: string }>()
  for (const { segment, atMax, versionMax } of reader.segments.notesBack(head, first)) {
    for (const [position, name, version, value] of reader.db.all(
      `SELECT position, name, version, value FROM notes
        WHERE segment = ? AND position BETWEEN ? AND ? AND at <= ? AND version <= ?`,
      segment,
      first,
      last,
      atMax,
      versionMax,
    ) as [number, string, number, string][]) {
      const known = newest.get(`${position} ${name}`)
      if (known === undefined || known.version < version)
        newest.set(`${position} ${name}`, { version, value })
    }
  }
  for (const [key, { value }] of newest) {
    const space = key.indexOf(" ")
    const position = Number(key.slice(0, space))
    const item = items[binarySearch(items, position)]
    const note = parseStored(value, "A note")
    if (item === undefined || note === null) continue
    item.notes ??= {}
    item.notes[key.slice(space + 1)] = note
  }
}

function binarySearch(items: HistoryItem[], position: number): number {
  let low = 0
  let high = items.length - 1
  while (low < high) {
    const middle = (low + high) >> 1
    if (items[middle]!.position < position) low = middle + 1
    else high = middle
  }
  return items[low]?.position === position ? low : -1
}
