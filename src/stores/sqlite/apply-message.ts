import { isSettled, type MessageBody, mayFollow, type PartBody } from "../../protocol/index.ts"
import { blobRefs } from "../../session/blob-refs.ts"
import { grownText, withGrownText } from "../../session/grow.ts"
import type { OpOf } from "../commit.ts"
import {
  grownElsewhere,
  growsNot,
  growsWhileKept,
  illegalState,
  isSealed,
  marked,
  messageTaken,
  noMessage,
  noPart,
  offsetWrong,
  otherMessage,
  otherType,
  partTwice,
  stillOpen,
  unsettled,
} from "../refusals.ts"
import { touch, type Write } from "./apply.ts"
import { decodePart, encodeMessage, encodePart, longKind, partKind } from "./codec.ts"
import { encodeID } from "./id-codec.ts"
import { findMessage } from "./locate.ts"
import {
  completedTime,
  nextPieceOf,
  type OpenMessage,
  type OpenPart,
  openPart,
  placesOf,
  type Tail,
} from "./tail.ts"

/** Text longer than this stays in its pieces when it is sealed: writing it again would double what goes to disk. */
const foldUnitsMax = 16 * 1024

function insertMessage(
  write: Write,
  tail: Tail,
  message: MessageBody,
  state: { sealed: boolean; firstPiece: number | null },
): void {
  const stored = encodeMessage(message)
  write.db.run(
    `INSERT INTO messages (segment, position, id, version, sealed, constants, data, piece)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    tail.segment,
    tail.count,
    encodeID(message.id),
    write.version,
    state.sealed ? 1 : 0,
    write.names.intern(stored.constants),
    stored.data,
    state.firstPiece,
  )
}

function insertPart(
  write: Write,
  tail: Tail,
  place: { position: number; place: number; part: PartBody },
): OpenPart {
  const { part } = place
  const key = write.db.insert(
    "INSERT INTO parts (segment, position, place, id, version, kind, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    tail.segment,
    place.position,
    place.place,
    encodeID(part.id),
    write.version,
    partKind(part),
    encodePart(part),
  )
  insertRefs(write, tail.segment, place.position, part)
  return openPart(key, part, 0)
}

function insertRefs(write: Write, segment: number, position: number, part: PartBody): void {
  if (part.type === "text") return
  for (const hash of blobRefs(part)) {
    write.db.run(
      "INSERT OR IGNORE INTO blob_refs (segment, position, hash) VALUES (?, ?, ?)",
      segment,
      position,
      Buffer.from(hash, "hex"),
    )
  }
}

export function appendMessage(write: Write, op: OpOf<"message.append">): void {
  const tail = touch(write, op.sessionID)
  if (tail.marked) {
    throw marked(tail.id)
  }
  if (tail.open) {
    throw stillOpen(tail.open.id, "the next one")
  }
  if (findMessage(write, tail, op.message.id)) {
    throw messageTaken(tail.id, op.message.id)
  }
  appendTo(write, tail, op)
}

/** Appends at the end of the tail; the checks are the caller's. */
export function appendTo(
  write: Write,
  tail: Tail,
  entry: { message: MessageBody; parts?: PartBody[]; sealed?: boolean },
): void {
  const sealed = entry.sealed === true
  const parts = entry.parts ?? []
  if (sealed) for (const part of parts) refuseUnsettled(entry.message.id, part)
  const position = tail.count
  const { id, role } = entry.message
  const completed = completedTime(entry.message)
  const firstPiece = sealed ? 0 : nextPieceOf(write.db, tail.segment)
  insertMessage(write, tail, entry.message, { sealed, firstPiece: sealed ? null : firstPiece })
  const open: OpenMessage = {
    position,
    id,
    role,
    completed,
    parts: [],
    places: new Map(),
    firstPiece,
    nextPiece: firstPiece,
  }
  for (const part of parts) {
    if (open.places.has(part.id)) throw partTwice(id)
    open.places.set(part.id, open.parts.length)
    open.parts.push(insertPart(write, tail, { position, place: open.parts.length, part }))
  }
  if (sealed) queueForIndex(write, tail.segment, position)
  tail.open = sealed ? undefined : open
  tail.count += 1
  tail.updated = Math.max(tail.updated, entry.message.time.created)
  write.db.run(
    "UPDATE sessions SET count = ?, open = ?, updated = ?, version = ? WHERE key = ?",
    tail.count,
    sealed ? 0 : 1,
    tail.updated,
    write.version,
    tail.key,
  )
}

function queueForIndex(write: Write, segment: number, position: number): void {
  write.db.run("INSERT OR IGNORE INTO unindexed (segment, position) VALUES (?, ?)", segment, position)
  write.sealed = true
}

function refuseUnsettled(messageID: string, part: PartBody): void {
  if (part.type !== "tool" || isSettled(part.state)) return
  throw unsettled(messageID, part.id)
}

/** The open message of that id, or why there is none. */
function openMessage(write: Write, tail: Tail, messageID: string): OpenMessage {
  if (tail.open?.id === messageID) return tail.open
  if (findMessage(write, tail, messageID) === undefined) {
    throw noMessage(tail.id, messageID)
  }
  throw isSealed(messageID)
}

export function putMessage(write: Write, op: OpOf<"message.put">): void {
  const tail = touch(write, op.sessionID)
  const open = openMessage(write, tail, op.message.id)
  checkRole(open, op.message)
  open.completed = completedTime(op.message)
  updateMessage(write, tail, { position: open.position, message: op.message, sealed: false })
}

function checkRole(open: OpenMessage, message: MessageBody): void {
  if (message.id === open.id && message.role === open.role) return
  throw otherMessage(open.id)
}

function updateMessage(
  write: Write,
  tail: Tail,
  entry: { position: number; message: MessageBody; sealed: boolean },
): void {
  const stored = encodeMessage(entry.message)
  write.db.run(
    "UPDATE messages SET version = ?, sealed = ?, constants = ?, data = ? WHERE segment = ? AND position = ?",
    write.version,
    entry.sealed ? 1 : 0,
    write.names.intern(stored.constants),
    stored.data,
    tail.segment,
    entry.position,
  )
}

export function putPart(write: Write, op: OpOf<"part.put">): void {
  const tail = touch(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  const place = open.places.get(op.part.id)
  if (op.grown === "keep" && grownText(op.part) !== "") throw growsWhileKept(op.part.id)
  if (place === undefined) {
    open.places.set(op.part.id, open.parts.length)
    open.parts.push(
      insertPart(write, tail, { position: open.position, place: open.parts.length, part: op.part }),
    )
    return
  }
  const before = open.parts[place]!
  checkPut(before, op)
  const keep = op.grown === "keep"
  const part = keep && before.base > 0 ? withGrownText(op.part, rowText(write, before)) : op.part
  write.db.run(
    "UPDATE parts SET version = ?, kind = ?, data = ? WHERE key = ?",
    write.version,
    partKind(part),
    encodePart(part),
    before.key,
  )
  insertRefs(write, tail.segment, open.position, part)
  const after = openPart(before.key, part, keep ? before.pieces : 0)
  if (keep) after.length = before.length
  if (before.pieces > 0) {
    const range = [open.firstPiece, open.nextPiece, place]
    if (keep) {
      write.db.run(
        "UPDATE pieces SET version = ? WHERE key BETWEEN ? AND ? AND place = ?",
        write.version,
        ...range,
      )
    } else {
      write.db.run("DELETE FROM pieces WHERE key BETWEEN ? AND ? AND place = ?", ...range)
    }
  }
  open.parts[place] = after
}

/** The growing text that stands in the part's own row. */
function rowText(write: Write, part: OpenPart): string {
  return grownText(rowPart(write, part))
}

function rowPart(write: Write, part: OpenPart): PartBody {
  const row = write.db.get("SELECT id, kind, data FROM parts WHERE key = ?", part.key)!
  return decodePart(row[0], row[1] as number, row[2], `Part ${part.id}`)
}

function checkPut(before: OpenPart, op: OpOf<"part.put">): void {
  const { part } = op
  if (before.type !== part.type) {
    throw otherType(part.id, { present: before.type, next: part.type })
  }
  if (part.type === "tool" && before.status && !mayFollow(before.status, part.state.status)) {
    throw illegalState(part.id, { present: before.status, next: part.state.status })
  }
  if (op.grown !== "keep") return
  if (before.length > 0 && part.type === "tool" && before.status !== part.state.status) {
    throw grownElsewhere(part.id)
  }
}

export function truncateParts(write: Write, op: OpOf<"part.truncate">): void {
  const tail = touch(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  if (op.keep < open.parts.length) {
    write.db.run(
      "DELETE FROM parts WHERE segment = ? AND position = ? AND place >= ?",
      tail.segment,
      open.position,
      op.keep,
    )
    write.db.run(
      "DELETE FROM pieces WHERE key BETWEEN ? AND ? AND place >= ?",
      open.firstPiece,
      open.nextPiece,
      op.keep,
    )
    open.parts.length = op.keep
    open.places = placesOf(open.parts)
  }
  write.db.run(
    "UPDATE messages SET version = ? WHERE segment = ? AND position = ?",
    write.version,
    tail.segment,
    open.position,
  )
}

export function addPiece(write: Write, op: OpOf<"piece.add">): void {
  const tail = touch(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  const place = open.places.get(op.partID)
  const part = place === undefined ? undefined : open.parts[place]
  if (place === undefined || part === undefined) {
    throw noPart(op.messageID, op.partID)
  }
  if (!part.growing || fieldOf(part) !== op.field) {
    throw growsNot(op.partID, op.field)
  }
  if (part.length !== op.offset) {
    throw offsetWrong(op.partID, { field: op.field, offset: op.offset, length: part.length })
  }
  if (op.text === "") return
  write.db.run(
    "INSERT INTO pieces (key, place, version, offset, text) VALUES (?, ?, ?, ?, ?)",
    open.nextPiece,
    place,
    write.version,
    op.offset,
    op.text,
  )
  open.nextPiece += 1
  part.pieces += 1
  part.length += op.text.length
}

function fieldOf(part: OpenPart): string {
  if (part.type !== "tool") return "text"
  return part.status === "pending" ? "raw" : "output"
}

export function sealMessage(write: Write, op: OpOf<"message.seal">): void {
  const tail = touch(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  if (op.message) checkRole(open, op.message)
  const running = open.parts.find((part) => part.status === "pending" || part.status === "running")
  if (running) {
    throw unsettled(open.id, running.id)
  }
  const keepsPieces = foldPieces(write, open)
  settleRefs(write, tail.segment, open)
  if (op.message) {
    updateMessage(write, tail, { position: open.position, message: op.message, sealed: true })
  } else {
    write.db.run(
      "UPDATE messages SET version = ?, sealed = 1 WHERE segment = ? AND position = ?",
      write.version,
      tail.segment,
      open.position,
    )
  }
  write.db.run(
    "UPDATE messages SET piece = ?, piece_end = ? WHERE segment = ? AND position = ?",
    keepsPieces ? open.firstPiece : null,
    keepsPieces ? open.nextPiece - 1 : null,
    tail.segment,
    open.position,
  )
  queueForIndex(write, tail.segment, open.position)
  tail.open = undefined
  tail.updated = Math.max(tail.updated, op.message ? completedTime(op.message) : open.completed)
  write.db.run(
    "UPDATE sessions SET open = 0, updated = ?, version = ? WHERE key = ?",
    tail.updated,
    write.version,
    tail.key,
  )
}

/**
 * Growing text goes into the rows of its parts, once; long text stays in its pieces. A replica that has the last piece
 * has the text, so the part gets no newer version than that.
 */
function foldPieces(write: Write, open: OpenMessage): boolean {
  let keepsPieces = false
  for (const [place, part] of open.parts.entries()) {
    if (part.pieces === 0) continue
    const range = [open.firstPiece, open.nextPiece, place]
    const pieces = write.db.all(
      "SELECT text, version FROM pieces WHERE key BETWEEN ? AND ? AND place = ? ORDER BY key",
      ...range,
    ) as [string, number][]
    const version = pieces.at(-1)![1]
    const value = rowPart(write, part)
    if (part.length > foldUnitsMax) {
      keepsPieces = true
      write.db.run(
        "UPDATE parts SET version = ?, kind = ? WHERE key = ?",
        version,
        partKind(value) + longKind,
        part.key,
      )
      continue
    }
    const whole = withGrownText(value, grownText(value) + pieces.map(([text]) => text).join(""))
    write.db.run("UPDATE parts SET version = ?, data = ? WHERE key = ?", version, encodePart(whole), part.key)
    write.db.run("DELETE FROM pieces WHERE key BETWEEN ? AND ? AND place = ?", ...range)
  }
  return keepsPieces
}

/** A part that was replaced or removed may have named blobs that the sealed message does not. */
function settleRefs(write: Write, segment: number, open: OpenMessage): void {
  const refs = write.db.all(
    "SELECT hash FROM blob_refs WHERE segment = ? AND position = ?",
    segment,
    open.position,
  )
  if (refs.length === 0) return
  const named = new Set<string>()
  for (const [id, kind, data] of write.db.all(
    "SELECT id, kind, data FROM parts WHERE segment = ? AND position = ?",
    segment,
    open.position,
  )) {
    for (const hash of blobRefs(decodePart(id, kind as number, data, "A part"))) named.add(hash)
  }
  for (const [hash] of refs) {
    if (named.has(Buffer.from(hash as Uint8Array).toString("hex"))) continue
    write.db.run(
      "DELETE FROM blob_refs WHERE segment = ? AND position = ? AND hash = ?",
      segment,
      open.position,
      hash as Uint8Array,
    )
  }
}
