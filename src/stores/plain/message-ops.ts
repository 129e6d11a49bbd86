import { isSettled, type MessageBody, type PartBody, StemmaError } from "../../protocol/index.ts"
import type { OpOf } from "../commit.ts"
import type { Change } from "./change.ts"
import { findPosition, findSession, openMessage } from "./find.ts"
import { grownBody, type PlainMessage, type PlainPart, type PlainSession } from "./model.ts"

export function appendMessage(change: Change, op: OpOf<"message.append">): void {
  const session = findSession(change.state, op.sessionID)
  if (session.info.revert) {
    throw new StemmaError(
      "invalid",
      `Session ${op.sessionID} has a revert mark. Make the revert real with history.move, or clear the mark.`,
    )
  }
  const open = openMessage(session)
  if (open) {
    throw new StemmaError("conflict", `Message ${open.body.id} is still open. Seal it before the next one.`, {
      details: { sessionID: op.sessionID, messageID: open.body.id },
    })
  }
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
  if (session.positions.has(message.id)) {
    throw new StemmaError(
      "conflict",
      `Message ${message.id} is already in the history of session ${session.info.id}. Make a new id.`,
      { details: { sessionID: session.info.id, messageID: message.id } },
    )
  }
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
  if (ids.size < content.parts.length) {
    throw new StemmaError("invalid", `Message ${content.message.id} has two parts with the same id.`)
  }
  if (content.sealed) requireSettled(content.message.id, content.parts)
}

function requireSettled(messageID: string, parts: PartBody[]): void {
  const unsettled = parts.find((part) => part.type === "tool" && !isSettled(part.state))
  if (!unsettled) return
  throw new StemmaError(
    "invalid",
    `Message ${messageID} cannot be sealed: tool call ${unsettled.id} has no result yet. Complete or fail it first.`,
    { details: { messageID, partID: unsettled.id } },
  )
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
  throw new StemmaError(
    "invalid",
    `Message ${op.messageID} is sealed and never changes. Write a note, or fork or revert the session.`,
    { details: { sessionID: op.sessionID, messageID: op.messageID } },
  )
}

export function putMessage(change: Change, op: OpOf<"message.put">): void {
  const place = findOpen(change, { sessionID: op.sessionID, messageID: op.message.id })
  replaceBody(change, place, op.message)
}

function replaceBody(change: Change, { session, position, message }: OpenPlace, body: MessageBody): void {
  if (body.id !== message.body.id || body.role !== message.body.role) {
    throw new StemmaError(
      "invalid",
      `Message ${message.body.id} keeps its id and its role as long as it lives.`,
    )
  }
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
