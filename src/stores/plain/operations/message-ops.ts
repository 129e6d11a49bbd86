import { isSettled, type MessageBody, type PartBody } from "../../../protocol/index.ts"
import type { OpOf } from "../../commit.ts"
import {
  isSealed,
  marked,
  messageTaken,
  otherMessage,
  partTwice,
  stillOpen,
  unsettled,
} from "../../refusals.ts"
import type { Change } from "../change.ts"
import { grownBody, type PlainMessage, type PlainPart, type PlainSession } from "../model.ts"
import { findPosition, findSession, openMessage } from "../read/find.ts"

export function appendMessage(change: Change, op: OpOf<"message.append">): void {
  const session = findSession(change.state, op.sessionID)
  if (session.info.revert) throw marked(op.sessionID)
  const open = openMessage(session)
  if (open) throw stillOpen(open.body.id, "the next one")
  addMessage(change, session, { message: op.message, parts: op.parts ?? [], sealed: op.sealed ?? false })
  const updated = Math.max(session.info.time.updated, op.message.time.created)
  change.changeInfo(session, { time: { ...session.info.time, updated } })
}

/** Puts a message at the end of the history. */
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
  const touched = change.touch(session)
  touched.messages.add(position)
  if (sealed) touched.sealed.add(position)
  for (const index of parts.keys()) touched.parts.add(`${position}/${index}`)
}

export function newPart(change: Change, body: PartBody): PlainPart {
  return { body, version: change.version, serial: change.nextSerial(), pieces: [] }
}

function checkParts(content: { message: MessageBody; parts: PartBody[]; sealed: boolean }): void {
  const ids = new Set(content.parts.map((part) => part.id))
  if (ids.size < content.parts.length) throw partTwice(content.message.id)
  if (content.sealed) requireSettled(content.message.id, content.parts)
}

function requireSettled(messageID: string, parts: PartBody[]): void {
  const waiting = parts.find((part) => part.type === "tool" && !isSettled(part.state))
  if (waiting) throw unsettled(messageID, waiting.id)
}

export interface OpenPlace {
  session: PlainSession
  position: number
  message: PlainMessage
}

/** The open message of a session, by its id. */
export function findOpen(change: Change, op: { sessionID: string; messageID: string }): OpenPlace {
  const session = findSession(change.state, op.sessionID)
  const position = findPosition(session, op.messageID)
  const message = session.messages[position]!
  if (!message.sealed) return { session, position, message }
  throw isSealed(op.messageID)
}

export function putMessage(change: Change, op: OpOf<"message.put">): void {
  const place = findOpen(change, { sessionID: op.sessionID, messageID: op.message.id })
  replaceBody(change, place, op.message)
}

function replaceBody(change: Change, { session, position, message }: OpenPlace, body: MessageBody): void {
  if (body.id !== message.body.id || body.role !== message.body.role) throw otherMessage(message.body.id)
  change.touch(session).messages.add(position)
  change.undo.set(message, "body", body)
  change.undo.set(message, "version", change.version)
}

export function sealMessage(change: Change, op: OpOf<"message.seal">): void {
  const place = findOpen(change, op)
  const { session, position, message } = place
  if (op.message) replaceBody(change, place, op.message)
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
  const touched = change.touch(session)
  touched.messages.add(position)
  touched.sealed.add(position)
}

/**
 * Makes one value of a part and its pieces. Its version is that of the last piece: whoever has seen that one has the
 * whole text.
 */
function foldPieces(change: Change, part: PlainPart): void {
  const last = part.pieces.at(-1)
  if (!last) return
  change.undo.set(part, "body", grownBody(part))
  change.undo.set(part, "version", last.version)
  change.undo.set(part, "pieces", [])
}
