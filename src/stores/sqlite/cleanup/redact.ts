import type { PermissionRequest } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import { redacted, redactMessage, redactPart } from "../../../session/history/redact.ts"
import { titlesFrom } from "../../../session/prompt/title.ts"
import type { FutureLeases } from "../../future-leases.ts"
import { isDead, sameHolder } from "../../holder.ts"
import {
  messageIDMissing,
  noMessage,
  noPart,
  redactWhileOpen,
  redactWhileRunning,
  redactWhileWaiting,
} from "../../refusals.ts"
import type { Holder, Redaction, RedactionTarget } from "../../store.ts"
import type { MessageLocation } from "../read/locate.ts"
import { sessionsReaching } from "../read/reachable.ts"
import { sessionHead } from "../read/read-history.ts"
import { type Reader, readSealedParts } from "../read/read-messages.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import {
  decodeMessage,
  encodeMessage,
  encodePart,
  longKind,
  parseStored,
  partKind,
} from "../rows/message-rows.ts"
import { readSessionData, writeSessionData } from "../rows/session-rows.ts"
import { reindexPart } from "../search/index-text.ts"

export interface RedactionMade {
  redaction: Redaction
  /** Blobs that lost a reference and may be unreferenced now. */
  blobs: Set<string>
}

/** Redacts the content that the target names, in every session that shares it. Must run inside a write transaction. */
export function redactContent(
  reader: Reader,
  target: RedactionTarget,
  options: { version: number; nowMs: number; holder: Holder; futureLeases: FutureLeases },
): RedactionMade {
  const session = sessionHead(reader, target.sessionID)
  const locations = targetLocations(reader, session.key, target)
  for (const location of locations) requireSealed(reader, location, target)
  if (target.messageID === undefined) requireQuiet(reader, session.key, target.sessionID, options)
  const lowest = new Map<number, number>([[session.key, Number.MAX_SAFE_INTEGER]])
  const blobs = new Set<string>()
  const titles = new Set<string>()
  let parts = 0
  for (const location of locations) {
    for (const key of sessionsReaching(reader.db, location.segment, location.position)) {
      lowest.set(key, Math.min(lowest.get(key) ?? Number.MAX_SAFE_INTEGER, location.position))
    }
    parts += redactMessageAt(reader, location, { partID: target.partID, blobs, titles })
    dropNotes(reader, location)
  }
  if (target.messageID === undefined) redactFields(reader, session.key, options.version)
  const keys = [...lowest.keys()].sort((a, b) => a - b)
  for (const key of keys) {
    redactTitle(reader, key, titles)
    advanceEpoch(reader, key, lowest.get(key)!, options.version)
  }
  const sessions = keys.map((key) =>
    decodeID("session", reader.db.get("SELECT id FROM sessions WHERE key = ?", key)?.[0]),
  )
  return { redaction: { messages: locations.length, parts, sessions }, blobs }
}

/**
 * Returns the locations of the target's messages. A message id that is both in the history and in a left tail means the
 * message in the history.
 */
function targetLocations(reader: Reader, session: number, target: RedactionTarget): MessageLocation[] {
  const { db, segments } = reader
  if (target.messageID === undefined) {
    if (target.partID !== undefined) {
      throw messageIDMissing(target.partID)
    }
    return reachedLocations(reader, session)
  }
  const reach = reachedRanges(reader, session)
  const rows = db.all("SELECT segment, position FROM messages WHERE id = ?", encodeID(target.messageID)) as [
    number,
    number,
  ][]
  const [segment, count] = db.get("SELECT segment, count FROM sessions WHERE key = ?", session) as [
    number,
    number,
  ]
  const found = rows
    .filter(([own, position]) => position < (reach.get(own)?.to ?? 0))
    .sort(([own, position]) => (segments.includes({ segment, count }, own, position) ? -1 : 1))[0]
  if (found === undefined) {
    throw noMessage(target.sessionID, target.messageID)
  }
  const location = { segment: found[0], position: found[1] }
  if (target.partID !== undefined) {
    const part = db.get(
      "SELECT 1 FROM parts WHERE segment = ? AND position = ? AND id = ?",
      location.segment,
      location.position,
      encodeID(target.partID),
    )
    if (part === undefined) {
      throw noPart(target.messageID, target.partID)
    }
  }
  return [location]
}

/** Returns the range of positions that a session reaches in each segment, through its history and its left tails. */
function reachedRanges(reader: Reader, session: number): Map<number, { from: number; to: number }> {
  const ranges = new Map<number, { from: number; to: number }>()
  for (const [own] of reader.db.all("SELECT key FROM segments WHERE session = ?", session) as [number][]) {
    let to = Number.MAX_SAFE_INTEGER
    let segment: number | undefined = own
    while (segment !== undefined) {
      const link = reader.segments.link(segment)
      ranges.set(segment, { from: link.base, to: Math.max(ranges.get(segment)?.to ?? 0, to) })
      to = link.base
      segment = link.parent
    }
  }
  return ranges
}

function reachedLocations(reader: Reader, session: number): MessageLocation[] {
  const places: MessageLocation[] = []
  for (const [segment, { from, to }] of reachedRanges(reader, session)) {
    for (const [position] of reader.db.all(
      "SELECT position FROM messages WHERE segment = ? AND position >= ? AND position < ?",
      segment,
      from,
      to,
    )) {
      places.push({ segment, position: position as number })
    }
  }
  return places
}

function requireSealed(reader: Reader, location: MessageLocation, target: RedactionTarget): void {
  const row = reader.db.get(
    "SELECT sealed FROM messages WHERE segment = ? AND position = ?",
    location.segment,
    location.position,
  )
  if (row?.[0] === 1) return
  throw redactWhileOpen(target.sessionID)
}

/** Refuses to redact a whole session while prompts wait in its inbox or another process holds its lease. */
function requireQuiet(
  reader: Reader,
  session: number,
  sessionID: string,
  options: { nowMs: number; holder: Holder; futureLeases: FutureLeases },
): void {
  if (reader.db.get("SELECT 1 FROM inbox WHERE session = ? AND data IS NOT NULL", session)) {
    throw redactWhileWaiting(sessionID)
  }
  const row = reader.db.get("SELECT fence, expires, holder FROM tips WHERE session = ?", session)
  const [fence, expiresAt, text] = row as [number, number, string | null]
  const { nowMs, futureLeases } = options
  if (text === null || futureLeases.isExpired({ sessionID, fence, expiresAt }, nowMs)) return
  const holder = JSON.parse(text) as Holder
  if (sameHolder(holder, options.holder) || isDead(holder, options.holder)) return
  throw redactWhileRunning(sessionID)
}

function redactMessageAt(
  reader: Reader,
  location: MessageLocation,
  options: { partID: string | undefined; blobs: Set<string>; titles: Set<string> },
): number {
  const { db, dictionary } = reader
  const { segment, position } = location
  const only = options.partID === undefined ? undefined : encodeID(options.partID)
  const where = `Message ${position}`
  const waiting = db.get("SELECT 1 FROM unindexed WHERE segment = ? AND position = ?", segment, position)
  let redactedParts = 0
  const named = new Set<string>()
  for (const [index, { key, kind, body }] of readSealedParts(db, segment, position).entries()) {
    if (only !== undefined && body.id !== options.partID) {
      for (const hash of blobRefs(body)) named.add(hash)
      continue
    }
    for (const hash of blobRefs(body)) options.blobs.add(hash)
    for (const title of titlesFrom(body)) options.titles.add(title)
    const blank = redactPart(body)
    db.run("UPDATE parts SET kind = ?, data = ? WHERE key = ?", partKind(blank), encodePart(blank), key)
    if (kind >= longKind) dropPieces(reader, location, index)
    if (waiting === undefined) reindexPart(db, key, { before: body, after: blank })
    redactedParts += 1
  }
  for (const [hash] of db.all(
    "SELECT hash FROM blob_refs WHERE segment = ? AND position = ?",
    segment,
    position,
  )) {
    if (named.has(Buffer.from(hash as Uint8Array).toString("hex"))) continue
    db.run(
      "DELETE FROM blob_refs WHERE segment = ? AND position = ? AND hash = ?",
      segment,
      position,
      hash as Uint8Array,
    )
  }
  if (only !== undefined) return redactedParts
  const [id, constants, data] = db.get(
    "SELECT id, constants, data FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )!
  const stored = encodeMessage(
    redactMessage(decodeMessage(id, dictionary.text(constants as number), data, where)),
  )
  db.run("UPDATE messages SET data = ? WHERE segment = ? AND position = ?", stored.data, segment, position)
  return redactedParts
}

function dropPieces(reader: Reader, { segment, position }: MessageLocation, index: number): void {
  const [first, last] = reader.db.get(
    "SELECT piece, piece_end FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  ) as [number, number]
  reader.db.run("DELETE FROM pieces WHERE key BETWEEN ? AND ? AND place = ?", first, last, index)
}

/** Deletes the notes on a message. A note may be stored in any segment that is based on the message's segment. */
function dropNotes(reader: Reader, location: MessageLocation): void {
  const { db } = reader
  for (const [segment] of db.all(
    `WITH RECURSIVE based (key, above) AS (
       SELECT ?, ? UNION ALL
       SELECT g.key, -1 FROM segments g JOIN based ON g.parent = based.key WHERE g.base > based.above)
     SELECT key FROM based`,
    location.segment,
    location.position,
  )) {
    db.run("DELETE FROM notes WHERE segment = ? AND position = ?", segment as number, location.position)
  }
}

/** Redacts the title, summary, permission requests and todos of a session. */
function redactFields(reader: Reader, session: number, version: number): void {
  const { db } = reader
  const data = readSessionData(db, session)
  delete data.summary
  if (data.revert) delete data.revert.diff
  writeSessionData(db, session, data)
  setTitle(reader, session, redacted)
  for (const [key, text] of db.all("SELECT key, data FROM permissions WHERE session = ?", session)) {
    const { feedback: _, ...request } = parseStored(text, "A permission request") as PermissionRequest
    const blank = { ...request, patterns: [], always: [], metadata: {} }
    db.run(
      "UPDATE permissions SET version = ?, data = ? WHERE key = ?",
      version,
      JSON.stringify(blank),
      key as number,
    )
  }
  db.run("UPDATE todos SET version = ?, data = '[]' WHERE session = ? AND data <> '[]'", version, session)
}

/** Replaces the title of a session if the title was made of redacted text. */
function redactTitle(reader: Reader, session: number, titles: ReadonlySet<string>): void {
  const title = reader.db.get("SELECT title FROM sessions WHERE key = ?", session)?.[0] as string
  if (titles.has(title)) setTitle(reader, session, redacted)
}

function setTitle({ db }: Reader, session: number, title: string): void {
  db.run("UPDATE sessions SET title = ?, folded = ? WHERE key = ?", title, title, session)
  db.run("INSERT OR IGNORE INTO untitled (session) VALUES (?)", session)
}

function advanceEpoch(reader: Reader, session: number, lowest: number, version: number): void {
  const { db } = reader
  db.run("UPDATE tips SET seq = seq + 1, version = ? WHERE session = ?", version, session)
  const moved = lowest === Number.MAX_SAFE_INTEGER ? 0 : 1
  db.run("UPDATE sessions SET version = ?, epoch = epoch + ? WHERE key = ?", version, moved, session)
  if (moved === 0) return
  const count = db.get("SELECT count FROM sessions WHERE key = ?", session)?.[0] as number
  db.run(
    "INSERT INTO epochs (session, version, keep) VALUES (?, ?, ?)",
    session,
    version,
    Math.min(lowest, count),
  )
}
