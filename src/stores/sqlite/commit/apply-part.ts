import { mayFollow, type PartBody } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import { grownText, withGrownText } from "../../../session/replica/grow.ts"
import type { OpOf } from "../../commit.ts"
import {
  grownElsewhere,
  growsNot,
  growsWhileKept,
  illegalState,
  isSealed,
  noMessage,
  noPart,
  offsetWrong,
  otherType,
} from "../../refusals.ts"
import { findMessage } from "../read/locate.ts"
import { decodePart, encodePart, longKind, partKind } from "../rows/codec.ts"
import { encodeID } from "../rows/id-codec.ts"
import { type CommitWrite, touch } from "./commit-write.ts"
import { type OpenMessage, type OpenPart, type OpenTail, openPart, placesOf } from "./open-tail.ts"

/** Text longer than this stays in its pieces when it is sealed: writing it again would double what goes to disk. */
const foldUnitsMax = 16 * 1024

/** The open message of that id, or why there is none. */
export function openMessage(write: CommitWrite, tail: OpenTail, messageID: string): OpenMessage {
  if (tail.open?.id === messageID) return tail.open
  if (findMessage(write, tail, messageID) === undefined) {
    throw noMessage(tail.id, messageID)
  }
  throw isSealed(messageID)
}

export function insertPart(
  write: CommitWrite,
  tail: OpenTail,
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

function insertRefs(write: CommitWrite, segment: number, position: number, part: PartBody): void {
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

export function putPart(write: CommitWrite, op: OpOf<"part.put">): void {
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
  if (part.type === "file" || part.type === "tool") settleRefs(write, tail.segment, open)
}

/** The growing text that stands in the part's own row. */
function rowText(write: CommitWrite, part: OpenPart): string {
  return grownText(rowPart(write, part))
}

function rowPart(write: CommitWrite, part: OpenPart): PartBody {
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

export function truncateParts(write: CommitWrite, op: OpOf<"part.truncate">): void {
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
    settleRefs(write, tail.segment, open)
  }
  write.db.run(
    "UPDATE messages SET version = ? WHERE segment = ? AND position = ?",
    write.version,
    tail.segment,
    open.position,
  )
}

export function addPiece(write: CommitWrite, op: OpOf<"piece.add">): void {
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

/**
 * Growing text goes into the rows of its parts, once; long text stays in its pieces. A replica that has the last piece
 * has the text, so the part gets no newer version than that.
 */
export function foldPieces(write: CommitWrite, open: OpenMessage): boolean {
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
export function settleRefs(write: CommitWrite, segment: number, open: OpenMessage): void {
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
