import type { MessageBody, PartBody, PartType, ToolStatus } from "../../../protocol/index.ts"
import { growingField, grownText } from "../../../session/replica/grow.ts"
import { noSession } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import { decodeMessage, decodePart } from "../rows/message-rows.ts"

/** What commits need to know about a part of the open message. */
export interface OpenPart {
  key: number
  id: string
  type: PartType
  status: ToolStatus | undefined
  growing: boolean
  /** The length of the growing field in UTF-16 units, including its pieces. */
  length: number
  /** The length of the text in the part's own row, without pieces. */
  base: number
  /** How many pieces the part has. */
  pieces: number
}

export interface OpenMessage {
  position: number
  id: string
  role: MessageBody["role"]
  /** The completion time of an assistant message; 0 if it has none. */
  completed: number
  parts: OpenPart[]
  /** The index of each part in `parts`, by part id. */
  indexByPartID: Map<string, number>
  /** The range of keys of the message's pieces in the table `pieces`: from `firstPieceKey` to before `nextPieceKey`. */
  firstPieceKey: number
  nextPieceKey: number
}

/**
 * What commits need to know about a session: its counters, its lease and its open message. A tail is kept in memory
 * between commits and stays valid while the session's `seq` in the store is unchanged.
 */
export interface OpenTail {
  key: number
  id: string
  seq: number
  fence: number
  expires: number
  importing: boolean
  segment: number
  count: number
  updated: number
  hasRevertMark: boolean
  open: OpenMessage | undefined
  /** The number of the transaction in which the tail was last compared with the store. */
  checkedIn: number
}

/**
 * The key of a piece is `segment * piecesPerSegment` plus a counter, so that the pieces of a segment are neighbours.
 */
const piecesPerSegment = 2 ** 22

export function firstPieceKeyOf(segment: number): number {
  return segment * piecesPerSegment
}

export function lastPieceKeyOf(segment: number): number {
  return segment * piecesPerSegment + (piecesPerSegment - 1)
}

export function toOpenPart(key: number, part: PartBody, pieces: number): OpenPart {
  const { length } = grownText(part)
  return {
    key,
    id: part.id,
    type: part.type,
    status: part.type === "tool" ? part.state.status : undefined,
    growing: growingField(part) !== undefined,
    length,
    base: length,
    pieces,
  }
}

/** Returns the key that the next new piece of a segment gets. */
export function readNextPieceKey(db: Database, segment: number): number {
  const row = db.get(
    "SELECT max(key) FROM pieces WHERE key BETWEEN ? AND ?",
    firstPieceKeyOf(segment),
    lastPieceKeyOf(segment),
  )
  return typeof row?.[0] === "number" ? row[0] + 1 : firstPieceKeyOf(segment)
}

/**
 * Caches tails by session id. A cached tail is used only after its `seq` was compared with the store inside the running
 * transaction.
 */
export class OpenTails {
  readonly #db: Database
  readonly #tails = new Map<string, OpenTail>()
  #transaction = 0
  /** The newest version in the store, if loading a tail in this transaction has read it. */
  newestVersion: number | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Starts a new transaction. Other processes may have committed since the last transaction. */
  begin(): void {
    this.#transaction += 1
    this.newestVersion = undefined
  }

  forget(id: string): void {
    this.#tails.delete(id)
  }

  forgetAll(): void {
    this.#tails.clear()
  }

  /** Caches a tail that was just read or created in this transaction. */
  add(tail: OpenTail): void {
    if (this.#tails.size > 4096) {
      // Tails that the running transaction has loaded are in use.
      for (const [id, known] of this.#tails) if (known.checkedIn !== this.#transaction) this.#tails.delete(id)
    }
    tail.checkedIn = this.#transaction
    this.#tails.set(tail.id, tail)
  }

  /** Returns the present tail of a session, or fails with `not_found`. Must be called inside a transaction. */
  get(id: string): OpenTail {
    const known = this.#tails.get(id)
    if (known !== undefined && known.checkedIn === this.#transaction) return known
    if (known !== undefined) {
      const row = this.#db.get(
        "SELECT seq, fence, expires, (SELECT max(version) FROM tips) FROM tips WHERE session = ?",
        known.key,
      )
      if (row !== undefined && row[0] === known.seq) {
        known.fence = row[1] as number
        known.expires = row[2] as number
        this.newestVersion ??= row[3] as number
        known.checkedIn = this.#transaction
        return known
      }
    }
    const tail = this.#load(id)
    this.add(tail)
    return tail
  }

  #load(id: string): OpenTail {
    const row = this.#db.get(
      `SELECT s.key, t.seq, t.fence, t.expires, s.importing, s.segment, s.count, s.updated, s.open,
              s.marked
         FROM sessions s JOIN tips t ON t.session = s.key WHERE s.id = ?`,
      encodeID(id),
    )
    if (row === undefined) throw noSession(id)
    const [key, seq, fence, expires, importing, segment, count, updated, open, marked] = row as number[]
    return {
      key: key!,
      id,
      seq: seq!,
      fence: fence!,
      expires: expires!,
      importing: importing === 1,
      segment: segment!,
      count: count!,
      updated: updated!,
      hasRevertMark: marked === 1,
      open: open === 1 ? loadOpen(this.#db, segment!, count! - 1) : undefined,
      checkedIn: this.#transaction,
    }
  }
}

export function indexPartsByID(parts: readonly OpenPart[]): Map<string, number> {
  return new Map(parts.map((part, index) => [part.id, index]))
}

/** The completion time of an assistant message; 0 if it has none. */
export function completedTime(message: MessageBody): number {
  return message.role === "assistant" ? (message.time.completed ?? 0) : 0
}

function loadOpen(db: Database, segment: number, position: number): OpenMessage {
  const message = db.get(
    `SELECT m.id, n.text, m.data, m.piece FROM messages m JOIN names n ON n.key = m.constants
      WHERE m.segment = ? AND m.position = ?`,
    segment,
    position,
  )
  const rows = db.all(
    "SELECT key, id, kind, data FROM parts WHERE segment = ? AND position = ? ORDER BY place",
    segment,
    position,
  )
  const parts = rows.map(([key, id, kind, data]): OpenPart => {
    const part = decodePart(id, kind as number, data, `Part ${String(key)}`)
    return toOpenPart(key as number, part, 0)
  })
  const first = (message?.[3] ?? firstPieceKeyOf(segment)) as number
  let nextPieceKey = first
  for (const [key, index, offset, text] of db.each(
    "SELECT key, place, offset, text FROM pieces WHERE key BETWEEN ? AND ? ORDER BY key",
    first,
    lastPieceKeyOf(segment),
  )) {
    nextPieceKey = (key as number) + 1
    const part = parts[index as number]
    if (part === undefined) continue
    part.pieces += 1
    part.length = (offset as number) + (text as string).length
  }
  const where = `The open message ${position} of segment ${segment}`
  const body = decodeMessage(message?.[0], message?.[1] as string, message?.[2], where)
  return {
    position,
    id: body.id,
    role: body.role,
    completed: completedTime(body),
    parts,
    indexByPartID: indexPartsByID(parts),
    firstPieceKey: first,
    nextPieceKey,
  }
}
