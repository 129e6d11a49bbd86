import type { MessageBody, PartBody, PartType, ToolStatus } from "../../../protocol/index.ts"
import { growingField, grownText } from "../../../session/replica/grow.ts"
import { noSession } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import { decodeMessage, decodePart } from "../rows/codec.ts"
import { encodeID } from "../rows/id-codec.ts"

/** A part of the open message, as much of it as the next commit must know. */
export interface OpenPart {
  key: number
  id: string
  type: PartType
  status: ToolStatus | undefined
  growing: boolean
  /** Length of the growing field in UTF-16 units, pieces included. */
  length: number
  /** How much of it is in the row itself. */
  base: number
  pieces: number
}

export interface OpenMessage {
  position: number
  id: string
  role: MessageBody["role"]
  /** When the message says it was completed; 0 if it does not. */
  completed: number
  parts: OpenPart[]
  /** The index of each part by its id. */
  places: Map<string, number>
  /** The keys of the message's first piece and of the next one. */
  firstPiece: number
  nextPiece: number
}

/** What a commit must know of a session; kept between commits as long as nobody else committed (`seq`). */
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
  marked: boolean
  open: OpenMessage | undefined
  /** The transaction in which it was compared with the store. */
  checked: number
}

const pieceBits = 2 ** 22

export function firstPiece(segment: number): number {
  return segment * pieceBits
}

export function lastPiece(segment: number): number {
  return segment * pieceBits + (pieceBits - 1)
}

export function openPart(key: number, part: PartBody, pieces: number): OpenPart {
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

/** The key of the next piece of a segment. */
export function nextPieceOf(db: Database, segment: number): number {
  const row = db.get(
    "SELECT max(key) FROM pieces WHERE key BETWEEN ? AND ?",
    firstPiece(segment),
    lastPiece(segment),
  )
  return typeof row?.[0] === "number" ? row[0] + 1 : firstPiece(segment)
}

/** Tails by session id. A tail is trusted after `seq` was compared inside the running transaction. */
export class OpenTails {
  readonly #db: Database
  readonly #tails = new Map<string, OpenTail>()
  #transaction = 0
  /** The store's newest version as the running transaction found it, if a tail was looked at. */
  newest: number | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** A new transaction: others may have committed since the last one. */
  begin(): void {
    this.#transaction += 1
    this.newest = undefined
  }

  forget(id: string): void {
    this.#tails.delete(id)
  }

  forgetAll(): void {
    this.#tails.clear()
  }

  add(tail: OpenTail): void {
    if (this.#tails.size > 4096) {
      for (const [id, known] of this.#tails) if (known.checked !== this.#transaction) this.#tails.delete(id)
    }
    tail.checked = this.#transaction
    this.#tails.set(tail.id, tail)
  }

  /** The tail as of now, or `not_found`. Only inside a transaction. */
  get(id: string): OpenTail {
    const known = this.#tails.get(id)
    if (known !== undefined && known.checked === this.#transaction) return known
    if (known !== undefined) {
      const row = this.#db.get(
        "SELECT seq, fence, expires, (SELECT max(version) FROM tips) FROM tips WHERE session = ?",
        known.key,
      )
      if (row !== undefined && row[0] === known.seq) {
        known.fence = row[1] as number
        known.expires = row[2] as number
        this.newest ??= row[3] as number
        known.checked = this.#transaction
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
      marked: marked === 1,
      open: open === 1 ? loadOpen(this.#db, segment!, count! - 1) : undefined,
      checked: this.#transaction,
    }
  }
}

export function placesOf(parts: readonly OpenPart[]): Map<string, number> {
  return new Map(parts.map((part, place) => [part.id, place]))
}

/** When a message says that it was completed; 0 if it does not. */
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
    return openPart(key as number, part, 0)
  })
  const first = (message?.[3] ?? firstPiece(segment)) as number
  let nextPiece = first
  for (const [key, place, offset, text] of db.each(
    "SELECT key, place, offset, text FROM pieces WHERE key BETWEEN ? AND ? ORDER BY key",
    first,
    lastPiece(segment),
  )) {
    nextPiece = (key as number) + 1
    const part = parts[place as number]
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
    places: placesOf(parts),
    firstPiece: first,
    nextPiece,
  }
}
