import { isSettled, type MessageBody, type PartBody } from "../../../protocol/index.ts"
import type { OpOf } from "../../commit.ts"
import {
  duplicatePartID,
  hasRevertMark,
  messageIdentityChanged,
  messageTaken,
  previousMessageOpen,
  toolCallUnsettled,
} from "../../refusals.ts"
import { findLocation } from "../read/locate.ts"
import { encodeID } from "../rows/id-codec.ts"
import { encodeMessage } from "../rows/message-rows.ts"
import { dropStaleBlobRefs, foldPieces, insertPart, openMessage } from "./apply-part.ts"
import { type CommitWrite, markChanged } from "./commit-write.ts"
import { completedTime, type OpenMessage, type OpenTail, readNextPieceKey } from "./open-tail.ts"

function insertMessage(
  write: CommitWrite,
  tail: OpenTail,
  message: MessageBody,
  state: { sealed: boolean; firstPieceKey: number | null },
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
    write.dictionary.intern(stored.constants),
    stored.data,
    state.firstPieceKey,
  )
}

export function appendMessage(write: CommitWrite, op: OpOf<"message.append">): void {
  const tail = markChanged(write, op.sessionID)
  if (tail.hasRevertMark) {
    throw hasRevertMark(tail.id)
  }
  if (tail.open) {
    throw previousMessageOpen(tail.open.id)
  }
  if (findLocation(write, tail, op.message.id)) {
    throw messageTaken(tail.id, op.message.id)
  }
  appendTo(write, tail, op)
}

/** Appends a message at the end of the tail. The caller has checked that the message may be appended. */
export function appendTo(
  write: CommitWrite,
  tail: OpenTail,
  entry: { message: MessageBody; parts?: PartBody[]; sealed?: boolean },
): void {
  const sealed = entry.sealed === true
  const parts = entry.parts ?? []
  if (sealed) for (const part of parts) refuseUnsettled(entry.message.id, part)
  const position = tail.count
  const { id, role } = entry.message
  const completed = completedTime(entry.message)
  const firstPieceKey = sealed ? 0 : readNextPieceKey(write.db, tail.segment)
  insertMessage(write, tail, entry.message, { sealed, firstPieceKey: sealed ? null : firstPieceKey })
  const open: OpenMessage = {
    position,
    id,
    role,
    completed,
    parts: [],
    indexByPartID: new Map(),
    firstPieceKey,
    nextPieceKey: firstPieceKey,
  }
  for (const part of parts) {
    if (open.indexByPartID.has(part.id)) throw duplicatePartID(id)
    open.indexByPartID.set(part.id, open.parts.length)
    open.parts.push(insertPart(write, tail, { position, index: open.parts.length, part }))
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

function queueForIndex(write: CommitWrite, segment: number, position: number): void {
  write.db.run("INSERT OR IGNORE INTO unindexed (segment, position) VALUES (?, ?)", segment, position)
  write.needsIndexing = true
}

function refuseUnsettled(messageID: string, part: PartBody): void {
  if (part.type !== "tool" || isSettled(part.state)) return
  throw toolCallUnsettled(messageID, part.id)
}

export function putMessage(write: CommitWrite, op: OpOf<"message.put">): void {
  const tail = markChanged(write, op.sessionID)
  const open = openMessage(write, tail, op.message.id)
  requireSameMessage(open, op.message)
  open.completed = completedTime(op.message)
  updateMessage(write, tail, { position: open.position, message: op.message, sealed: false })
}

function requireSameMessage(open: OpenMessage, message: MessageBody): void {
  if (message.id === open.id && message.role === open.role) return
  throw messageIdentityChanged(open.id)
}

function updateMessage(
  write: CommitWrite,
  tail: OpenTail,
  entry: { position: number; message: MessageBody; sealed: boolean },
): void {
  const stored = encodeMessage(entry.message)
  write.db.run(
    "UPDATE messages SET version = ?, sealed = ?, constants = ?, data = ? WHERE segment = ? AND position = ?",
    write.version,
    entry.sealed ? 1 : 0,
    write.dictionary.intern(stored.constants),
    stored.data,
    tail.segment,
    entry.position,
  )
}

export function sealMessage(write: CommitWrite, op: OpOf<"message.seal">): void {
  const tail = markChanged(write, op.sessionID)
  const open = openMessage(write, tail, op.messageID)
  if (op.message) requireSameMessage(open, op.message)
  const running = open.parts.find((part) => part.status === "pending" || part.status === "running")
  if (running) {
    throw toolCallUnsettled(open.id, running.id)
  }
  const keepsPieces = foldPieces(write, open)
  dropStaleBlobRefs(write, tail.segment, open)
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
    keepsPieces ? open.firstPieceKey : null,
    keepsPieces ? open.nextPieceKey - 1 : null,
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
