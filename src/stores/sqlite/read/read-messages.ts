import { type HistoryItem, type Part, type PartBody, StemmaError } from "../../../protocol/index.ts"
import type { Span } from "../../../session/history/spans.ts"
import { growingField, grownText, withGrownText } from "../../../session/replica/grow.ts"
import { lastPiece } from "../commit/open-tail.ts"
import type { Database } from "../connection/database.ts"
import { decodeMessage, decodePart, longKind, parseStored } from "../rows/codec.ts"
import type { Names } from "../rows/dictionary.ts"
import type { Head, Segments } from "./segments.ts"

export interface Reader {
  db: Database
  names: Names
  segments: Segments
}

/** The messages of a history at positions [from, to), in order, with parts, grown text and notes. */
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
  const { db, names } = reader
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
    const body = decodeMessage(id, names.text(constants as number), data, where)
    const item: HistoryItem = {
      position: position as number,
      version: version as number,
      sealed: sealed === 1,
      message: { ...body, sessionID },
      parts: [],
    }
    for (; next < parts.length && parts[next]![0] === position; next++) {
      const row = parts[next]!
      const part = decodePart(row[1], row[3] as number, row[4], where)
      item.parts.push({ ...part, sessionID, messageID: body.id } as Part)
      item.version = Math.max(item.version, row[2] as number)
    }
    if (piece !== null) {
      const last = (pieceEnd ?? lastPiece(span.segment)) as number
      item.version = Math.max(item.version, growParts(db, { first: piece as number, last }, item.parts))
    }
    items.push(item)
  }
  if (messages.length !== span.to - span.from) {
    throw new StemmaError(
      "internal",
      `Session ${sessionID} lacks ${span.to - span.from - messages.length} messages from position ${span.from} on. Run a check and restore it from a copy.`,
    )
  }
}

/** Adds the pieces in that range of keys to the parts; gives their newest version. */
export function growParts(db: Database, range: { first: number; last: number }, parts: PartBody[]): number {
  let newest = 0
  const texts: string[][] = []
  for (const [place, version, text] of db.all(
    "SELECT place, version, text FROM pieces WHERE key BETWEEN ? AND ? ORDER BY key",
    range.first,
    range.last,
  )) {
    texts[place as number] ??= []
    texts[place as number]!.push(text as string)
    newest = Math.max(newest, version as number)
  }
  for (const [place, pieces] of texts.entries()) {
    const part = parts[place]
    if (pieces === undefined || part === undefined || growingField(part) === undefined) continue
    parts[place] = withGrownText(part, grownText(part) + pieces.join(""))
  }
  return newest
}

export interface StoredPart {
  key: number
  version: number
  kind: number
  /** The row's own text, without pieces. */
  data: string
  body: PartBody
}

/** The parts of a sealed message with their whole text. */
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
  if (!stored.some(({ kind }) => kind >= longKind)) return stored
  const range = db.get(
    "SELECT piece, piece_end FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )
  if (typeof range?.[0] !== "number") return stored
  const bodies = stored.map(({ body }) => body)
  growParts(db, { first: range[0], last: range[1] as number }, bodies)
  for (const [index, part] of stored.entries()) part.body = bodies[index]!
  return stored
}

/** A note stands where it was written: in any segment of the history from the message's own on, within its span. */
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
