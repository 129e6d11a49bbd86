import { mayFollow, type PartBody } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import { grownText, withGrownText } from "../../../session/replica/grow.ts"
import type { OpOf } from "../../commit.ts"
import {
  fieldDoesNotGrow,
  growingFieldNotEmpty,
  grownTextHasNoField,
  messageSealed,
  noMessage,
  noPart,
  partTypeChanged,
  toolStateNotAllowed,
  wrongOffset,
} from "../../refusals.ts"
import { findLocation } from "../read/locate.ts"
import { encodeID } from "../rows/id-codec.ts"
import { decodePart, encodePart, longKind, partKind } from "../rows/message-rows.ts"
import { type CommitWrite, markChanged } from "./commit-write.ts"
import { indexPartsByID, type OpenMessage, type OpenPart, type OpenTail, toOpenPart } from "./open-tail.ts"

/**
 * Text longer than this stays in its pieces when the message is sealed. Copying it into the part's row would write it
 * to disk twice.
 */
const foldUnitsMax = 16 * 1024

/**
 * Returns the open message with this id. Fails with `invalid` if the message is sealed and with `not_found` if it does
 * not exist.
 */
export function openMessage(write: CommitWrite, tail: OpenTail, messageID: string): OpenMessage {
  if (tail.open?.id === messageID) return tail.open
  if (findLocation(write, tail, messageID) === undefined) {
    throw noMessage(tail.id, messageID)
  }
  throw messageSealed(messageID)
}

export function insertPart(
  write: CommitWrite,
  tail: OpenTail,
  at: { position: number; index: number; part: PartBody },
): OpenPart {
  const { part } = at
  const key = write.db.insert(
    "INSERT INTO parts (segment, position, place, id, version, kind, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    tail.segment,
    at.position,
    at.index,
    encodeID(part.id),
    write.version,
    partKind(part),
    encodePart(part),
  )
  insertBlobRefs(write, tail.segment, at.position, part)
  return toOpenPart(key, part, 0)
}

function insertBlobRefs(write: CommitWrite, segment: number, position: number, part: PartBody): void {
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
  const tail = markChanged(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  const index = open.indexByPartID.get(op.part.id)
  if (op.grown === "keep" && grownText(op.part) !== "") throw growingFieldNotEmpty(op.part.id)
  if (index === undefined) {
    open.indexByPartID.set(op.part.id, open.parts.length)
    open.parts.push(
      insertPart(write, tail, { position: open.position, index: open.parts.length, part: op.part }),
    )
    return
  }
  const before = open.parts[index]!
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
  insertBlobRefs(write, tail.segment, open.position, part)
  const after = toOpenPart(before.key, part, keep ? before.pieces : 0)
  if (keep) after.length = before.length
  if (before.pieces > 0) {
    const range = [open.firstPieceKey, open.nextPieceKey, index]
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
  open.parts[index] = after
  if (part.type === "file" || part.type === "tool") dropStaleBlobRefs(write, tail.segment, open)
}

/** Returns the text in the part's own row, without its pieces. */
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
    throw partTypeChanged(part.id, { present: before.type, next: part.type })
  }
  if (part.type === "tool" && before.status && !mayFollow(before.status, part.state.status)) {
    throw toolStateNotAllowed(part.id, { present: before.status, next: part.state.status })
  }
  if (op.grown !== "keep") return
  if (before.length > 0 && part.type === "tool" && before.status !== part.state.status) {
    throw grownTextHasNoField(part.id)
  }
}

export function truncateParts(write: CommitWrite, op: OpOf<"part.truncate">): void {
  const tail = markChanged(write, op.sessionID)
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
      open.firstPieceKey,
      open.nextPieceKey,
      op.keep,
    )
    open.parts.length = op.keep
    open.indexByPartID = indexPartsByID(open.parts)
    dropStaleBlobRefs(write, tail.segment, open)
  }
  write.db.run(
    "UPDATE messages SET version = ? WHERE segment = ? AND position = ?",
    write.version,
    tail.segment,
    open.position,
  )
}

export function addPiece(write: CommitWrite, op: OpOf<"piece.add">): void {
  const tail = markChanged(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  const index = open.indexByPartID.get(op.partID)
  const part = index === undefined ? undefined : open.parts[index]
  if (index === undefined || part === undefined) {
    throw noPart(op.messageID, op.partID)
  }
  if (!part.growing || fieldOf(part) !== op.field) {
    throw fieldDoesNotGrow(op.partID, op.field)
  }
  if (part.length !== op.offset) {
    throw wrongOffset(op.partID, { field: op.field, offset: op.offset, length: part.length })
  }
  if (op.text === "") return
  write.db.run(
    "INSERT INTO pieces (key, place, version, offset, text) VALUES (?, ?, ?, ?, ?)",
    open.nextPieceKey,
    index,
    write.version,
    op.offset,
    op.text,
  )
  open.nextPieceKey += 1
  part.pieces += 1
  part.length += op.text.length
}

function fieldOf(part: OpenPart): string {
  if (part.type !== "tool") return "text"
  return part.status === "pending" ? "raw" : "output"
}

/**
 * Moves the text of all pieces into the rows of their parts; long text stays in its pieces. Returns whether pieces
 * remain. A replica that has the last piece has the whole text, so the part gets the version of its last piece and not
 * a newer version.
 */
export function foldPieces(write: CommitWrite, open: OpenMessage): boolean {
  let keepsPieces = false
  for (const [index, part] of open.parts.entries()) {
    if (part.pieces === 0) continue
    const range = [open.firstPieceKey, open.nextPieceKey, index]
    const value = rowPart(write, part)
    if (part.length > foldUnitsMax) {
      keepsPieces = true
      // The text may be longer than all else that the process has in memory, so it is not read.
      const version = write.db.get(
        "SELECT version FROM pieces WHERE key BETWEEN ? AND ? AND place = ? ORDER BY key DESC LIMIT 1",
        ...range,
      )![0] as number
      write.db.run(
        "UPDATE parts SET version = ?, kind = ? WHERE key = ?",
        version,
        partKind(value) + longKind,
        part.key,
      )
      continue
    }
    const pieces = write.db.all(
      "SELECT text, version FROM pieces WHERE key BETWEEN ? AND ? AND place = ? ORDER BY key",
      ...range,
    ) as [string, number][]
    const version = pieces.at(-1)![1]
    const whole = withGrownText(value, grownText(value) + pieces.map(([text]) => text).join(""))
    write.db.run("UPDATE parts SET version = ?, data = ? WHERE key = ?", version, encodePart(whole), part.key)
    write.db.run("DELETE FROM pieces WHERE key BETWEEN ? AND ? AND place = ?", ...range)
  }
  return keepsPieces
}

/**
 * Deletes blob references of parts that were replaced or removed, unless another part of the message names the same
 * blob.
 */
export function dropStaleBlobRefs(write: CommitWrite, segment: number, open: OpenMessage): void {
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
