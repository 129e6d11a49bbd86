import type { InboxItem, Part, PermissionRequest, Row, Todo } from "../../../protocol/index.ts"
import { growingField } from "../../../session/replica/grow.ts"
import { firstPieceKeyOf, lastPieceKeyOf } from "../commit/open-tail.ts"
import type { Tuple } from "../connection/database.ts"
import { type Reader, readPartsSince } from "../read/read-messages.ts"
import type { Head } from "../read/segments.ts"
import { decodeID } from "../rows/id-codec.ts"
import { decodeMessage, decodePart, parseStored } from "../rows/message-rows.ts"
import { decodeSession, sessionSelect } from "../rows/session-rows.ts"

/** Greater than every version. */
export const afterAllVersions = Number.MAX_SAFE_INTEGER

/** Rows of one session that changed after `since`. Only rows below version `until` are complete. */
interface Collected {
  rows: Row[]
  until: number
}

/** A session with rows that changed. */
export interface ChangedSession {
  key: number
  /** The version of the last change of the inbox. */
  inbox: number
  /** The `removed` row of a session that was removed. */
  removed?: Row
}

/**
 * Returns the rows of one session that changed after `since`. Stops after about `limit` rows of messages; `until` then
 * says from which version on rows are missing.
 */
export function changedRows(reader: Reader, tip: ChangedSession, since: number, limit: number): Collected {
  const { db } = reader
  const row = db.get(`${sessionSelect} WHERE s.key = ?`, tip.key) as Tuple
  const { session, version } = decodeSession(row, reader.dictionary)
  const sessionID = session.id
  const rows: Row[] = []
  if (version > since) rows.push({ type: "session", version, sessionID, session })
  // One row for each move of the history, so that a page that ends between two moves loses neither.
  for (const [moved, keep] of db.all(
    "SELECT version, keep FROM epochs WHERE session = ? AND version > ?",
    tip.key,
    since,
  ) as [number, number][]) {
    rows.push({ type: "history", version: moved, sessionID, epoch: session.history.epoch, keep })
  }
  const head = headOf(reader, tip.key)
  const until = collectMessages(reader, { sessionID, head, key: tip.key }, { since, limit, rows })
  collectNotes(reader, { sessionID, head, key: tip.key }, since, rows)
  collectSideRows(reader, tip, sessionID, since, rows)
  return { rows: until === afterAllVersions ? rows : rows.filter((entry) => entry.version < until), until }
}

function headOf(reader: Reader, key: number): Head & { open: boolean } {
  const [segment, count, open] = reader.db.get(
    "SELECT segment, count, open FROM sessions WHERE key = ?",
    key,
  ) as number[]
  return { segment: segment!, count: count!, open: open === 1 }
}

interface SessionPointer {
  sessionID: string
  head: Head & { open: boolean }
  key: number
}

/**
 * Returns the segments that this session wrote itself, the newest first, and the position where the oldest of them
 * begins.
 */
function ownSegments(reader: Reader, own: SessionPointer): { base: number; segments: number[] } {
  const segments: number[] = []
  let base = own.head.count
  let segment: number | undefined = own.head.segment
  while (segment !== undefined) {
    const writer = reader.db.get("SELECT session FROM segments WHERE key = ?", segment)?.[0]
    if (writer !== own.key) break
    segments.push(segment)
    const link = reader.segments.link(segment)
    base = Math.min(base, link.base)
    segment = link.parent
  }
  return { base, segments }
}

/**
 * Returns the first position whose message changed after `since`. Versions grow with positions, because a message is
 * appended only after the message before it was sealed. So the search goes back from the end in doubling steps and
 * costs only as much as is new.
 */
function firstChanged(reader: Reader, own: SessionPointer, base: number, since: number): number {
  const { head } = own
  const changed = (position: number): boolean => {
    const segment = reader.segments.segmentAt(head, position)!
    const row = reader.db.get(
      "SELECT version, sealed FROM messages WHERE segment = ? AND position = ?",
      segment,
      position,
    )
    return row !== undefined && ((row[0] as number) > since || row[1] === 0)
  }
  let high = head.count
  let step = 1
  while (high > base && changed(Math.max(base, high - step))) {
    high = Math.max(base, high - step)
    step *= 2
  }
  let low = Math.max(base - 1, high - step)
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (changed(middle)) high = middle
    else low = middle
  }
  return high
}

function collectMessages(
  reader: Reader,
  own: SessionPointer,
  into: { since: number; limit: number; rows: Row[] },
): number {
  const { db, segments } = reader
  const { head } = own
  const { since, rows } = into
  if (head.count === 0) return afterAllVersions
  const { base } = ownSegments(reader, own)
  let before = 0
  let pushed = 0
  for (let position = firstChanged(reader, own, base, since); position < head.count; position++) {
    const segment = segments.segmentAt(head, position)!
    const found = messageRows(reader, { sessionID: own.sessionID, segment, position, since })
    if (pushed >= into.limit && found.lowest > before) return found.lowest
    for (const row of found.rows) rows.push(row)
    pushed += found.rows.length
    before = found.message ?? Number.NEGATIVE_INFINITY
  }
  if (head.open) collectPieces(db, own, since, rows)
  return afterAllVersions
}

/**
 * Returns the row of a message and the rows of its parts that are newer than `since`, and the lowest version of all of
 * them. Pieces of an open message are not included. An older part is not read: it may be longer than all that changed.
 */
function messageRows(
  reader: Reader,
  of: { sessionID: string; segment: number; position: number; since: number },
): { message?: number; lowest: number; rows: Row[] } {
  const { sessionID, segment, position, since } = of
  const message = reader.db.get(
    "SELECT id, version, sealed, constants, data FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )
  if (message === undefined) return { lowest: Number.POSITIVE_INFINITY, rows: [] }
  const where = `Message ${position} of session ${sessionID}`
  const [id, version, sealed, constants, data] = message as [unknown, number, number, number, unknown]
  const body = decodeMessage(id, reader.dictionary.text(constants), data, where)
  const { parts, lowest } = readPartsSince(reader.db, { segment, position, since })
  const rows: Row[] = []
  if (version > since) {
    rows.push({
      type: "message",
      version,
      sessionID,
      position,
      sealed: sealed === 1,
      parts: parts.length,
      message: { ...body, sessionID },
    })
  }
  for (const [index, part] of parts.entries()) {
    if (part === undefined) continue
    rows.push({
      type: "part",
      version: part.version,
      sessionID,
      position,
      index,
      part: { ...part.body, sessionID, messageID: body.id } as Part,
    })
  }
  return { message: version, lowest: Math.min(version, lowest), rows }
}

function collectPieces(db: Reader["db"], own: SessionPointer, since: number, rows: Row[]): void {
  const { segment, count } = own.head
  const position = count - 1
  const message = db.get(
    "SELECT id, piece FROM messages WHERE segment = ? AND position = ?",
    segment,
    position,
  )
  // Versions of pieces grow with their keys. Only `part.put` with `grown: "keep"` gives older pieces a newer version.
  const rewritten =
    db.get(
      "SELECT 1 FROM parts WHERE segment = ? AND position = ? AND version > ?",
      segment,
      position,
      since,
    ) !== undefined
  const pieces: Tuple[] = []
  for (const row of db.each(
    "SELECT place, version, offset, text FROM pieces WHERE key BETWEEN ? AND ? ORDER BY key DESC",
    (message?.[1] ?? firstPieceKeyOf(segment)) as number,
    lastPieceKeyOf(segment),
  )) {
    if ((row[1] as number) > since) pieces.push(row)
    else if (!rewritten) break
  }
  if (pieces.length === 0) return
  const messageID = decodeID("message", message?.[0])
  const parts = new Map<number, { id: string; field: ReturnType<typeof growingField> }>()
  for (const [index, version, offset, text] of pieces.reverse()) {
    let part = parts.get(index as number)
    if (part === undefined) {
      const row = db.get(
        "SELECT id, kind, data FROM parts WHERE segment = ? AND position = ? AND place = ?",
        segment,
        position,
        index as number,
      )!
      const body = decodePart(row[0], row[1] as number, row[2], "A part")
      part = { id: body.id, field: growingField(body) }
      parts.set(index as number, part)
    }
    rows.push({
      type: "piece",
      version: version as number,
      sessionID: own.sessionID,
      position,
      index: index as number,
      messageID,
      partID: part.id,
      field: part.field ?? "text",
      offset: offset as number,
      text: text as string,
    })
  }
}

function collectNotes(reader: Reader, own: SessionPointer, since: number, rows: Row[]): void {
  const { db, segments } = reader
  const newest = new Map<string, Extract<Row, { type: "note" }>>()
  let upper = own.head.count
  for (const segment of ownSegments(reader, own).segments) {
    for (const [position, name, version, value] of db.all(
      "SELECT position, name, version, value FROM notes WHERE segment = ? AND version > ? AND at <= ?",
      segment,
      since,
      upper,
    ) as [number, string, number, string][]) {
      const known = newest.get(`${position} ${name}`)
      if (known && known.version > version) continue
      const holder = segments.segmentAt(own.head, position)!
      const message = db.get("SELECT id FROM messages WHERE segment = ? AND position = ?", holder, position)
      newest.set(`${position} ${name}`, {
        type: "note",
        version,
        sessionID: own.sessionID,
        position,
        messageID: decodeID("message", message?.[0]),
        key: name,
        value: parseStored(value, "A note"),
      })
    }
    upper = Math.min(upper, segments.link(segment).base)
  }
  rows.push(...newest.values())
}

function collectSideRows(
  reader: Reader,
  tip: ChangedSession,
  sessionID: string,
  since: number,
  rows: Row[],
): void {
  const todos = reader.db.get(
    "SELECT version, data FROM todos WHERE session = ? AND version > ?",
    tip.key,
    since,
  )
  if (todos) {
    rows.push({
      type: "todos",
      version: todos[0] as number,
      sessionID,
      todos: parseStored(todos[1], `The todos of session ${sessionID}`) as Todo[],
    })
  }
  for (const [version, data] of reader.db.all(
    "SELECT version, data FROM permissions WHERE session = ? AND version > ? ORDER BY key",
    tip.key,
    since,
  )) {
    const request = parseStored(data, `A permission request of session ${sessionID}`) as PermissionRequest
    rows.push({
      type: "permission",
      version: version as number,
      sessionID,
      request: { ...request, sessionID },
    })
  }
  if (tip.inbox > since) {
    rows.push({
      type: "inbox",
      version: tip.inbox,
      sessionID,
      items: waitingItems(reader, tip.key, sessionID),
    })
  }
}

/** The items of a session's inbox that no run has taken, in the order of admission. */
export function waitingItems(reader: Reader, key: number, sessionID: string): InboxItem[] {
  return reader.db
    .all("SELECT data FROM inbox WHERE session = ? AND data IS NOT NULL ORDER BY key", key)
    .map(([data]) => parseStored(data, `The inbox of session ${sessionID}`) as InboxItem)
}
