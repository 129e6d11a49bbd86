import { isSettled, type MessageBody, type PartBody } from "../../../protocol/index.ts"
import type { OpOf } from "../../commit.ts"
import {
  duplicatePartID,
  hasRevertMark,
  messageIdentityChanged,
  messageSealed,
  messageTaken,
  previousMessageOpen,
  toolCallUnsettled,
} from "../../refusals.ts"
import type { Change } from "../change.ts"
import { grownBody, type PlainMessage, type PlainPart, type PlainSession } from "../model.ts"
import { findPosition, findSession, openMessage } from "../read/find.ts"

export function appendMessage(change: Change, op: OpOf<"message.append">): void {
  const session = findSession(change.state, op.sessionID)
  if (session.info.revert) throw hasRevertMark(op.sessionID)
  const open = openMessage(session)
  if (open) throw previousMessageOpen(open.body.id)
  addMessage(change, session, { message: op.message, parts: op.parts ?? [], sealed: op.sealed ?? false })
  const updated = Math.max(session.info.time.updated, op.message.time.created)
  change.changeInfo(session, { time: { ...session.info.time, updated } })
}

/** Appends a message to the history. */
export function addMessage(
  change: Change,
  session: PlainSession,
  content: { message: MessageBody; parts: PartBody[]; sealed: boolean },
): void {
  const { message, sealed } = content
  const position = session.messages.length
  checkParts(content)
  if (session.positions.has(message.id)) throw messageTaken(session.info.id, message.id)
  const parts = content.parts.map((body) => newPart(change, body))
  change.undo.push(session.messages, {
    origin: `${session.segment}/${position}`,
    writer: session.info.id,
    body: message,
    version: change.version,
    sealed,
    parts,
  })
  change.undo.mapSet(session.positions, message.id, position)
  const changed = change.markChanged(session)
  changed.messages.add(position)
  if (sealed) changed.sealed.add(position)
  for (const index of parts.keys()) changed.parts.add(`${position}/${index}`)
}

export function newPart(change: Change, body: PartBody): PlainPart {
  return { body, version: change.version, serial: change.nextSerial(), pieces: [] }
}

function checkParts(content: { message: MessageBody; parts: PartBody[]; sealed: boolean }): void {
  const ids = new Set(content.parts.map((part) => part.id))
  if (ids.size < content.parts.length) throw duplicatePartID(content.message.id)
  if (content.sealed) requireSettled(content.message.id, content.parts)
}

function requireSettled(messageID: string, parts: PartBody[]): void {
  const waiting = parts.find((part) => part.type === "tool" && !isSettled(part.state))
  if (waiting) throw toolCallUnsettled(messageID, waiting.id)
}

/** The open message of a session and its position. */
export interface OpenMessageRef {
  session: PlainSession
  position: number
  message: PlainMessage
}

/** Returns the open message with this id. `invalid` if the message is sealed. */
export function findOpen(change: Change, op: { sessionID: string; messageID: string }): OpenMessageRef {
  const session = findSession(change.state, op.sessionID)
  const position = findPosition(session, op.messageID)
  const message = session.messages[position]!
  if (!message.sealed) return { session, position, message }
  throw messageSealed(op.messageID)
}

export function putMessage(change: Change, op: OpOf<"message.put">): void {
  const open = findOpen(change, { sessionID: op.sessionID, messageID: op.message.id })
  replaceBody(change, open, op.message)
}

function replaceBody(
  change: Change,
  { session, position, message }: OpenMessageRef,
  body: MessageBody,
): void {
  if (body.id !== message.body.id || body.role !== message.body.role)
    throw messageIdentityChanged(message.body.id)
  change.markChanged(session).messages.add(position)
  change.undo.set(message, "body", body)
  change.undo.set(message, "version", change.version)
}

export function sealMessage(change: Change, op: OpOf<"message.seal">): void {
  const open = findOpen(change, op)
  const { session, position, message } = open
  if (op.message) replaceBody(change, open, op.message)
  requireSettled(
    op.messageID,
    message.parts.map((part) => part.body),
  )
  for (const part of message.parts) foldPieces(change, part)
  change.undo.set(message, "sealed", true)
  change.undo.set(message, "version", change.version)
  const completed = message.body.role === "assistant" ? (message.body.time.completed ?? 0) : 0
  const updated = Math.max(session.info.time.updated, completed)
  change.changeInfo(session, { time: { ...session.info.time, updated } })
  const changed = change.markChanged(session)
  changed.messages.add(position)
  changed.sealed.add(position)
}

/**
 * Moves the text of the pieces into the part. A replica that has the last piece has the whole text, so the part gets
 * the version of its last piece.
 */
function foldPieces(change: Change, part: PlainPart): void {
  const last = part.pieces.at(-1)
  if (!last) return
  change.undo.set(part, "body", grownBody(part))
  change.undo.set(part, "version", last.version)
  change.undo.set(part, "pieces", [])
}
