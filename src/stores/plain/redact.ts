import { StemmaError } from "../../protocol/index.ts"
import { redacted, redactMessage, redactPart } from "../../session/redact.ts"
import type { Redaction } from "../store.ts"
import { type Applied, applyChange, type Change } from "./change.ts"
import { findVisible, inOrder, noMessage } from "./find.ts"
import { type Claimant, isHeldByOther } from "./lease.ts"
import {
  type PlainMessage,
  type PlainNote,
  type PlainSession,
  type PlainState,
  reachedLists,
} from "./model.ts"
import { messageBlobs, unreferenced } from "./remove.ts"

export interface RedactionTarget {
  sessionID: string
  messageID?: string
  partID?: string
}

/** A redaction that was made, and the blobs that nothing refers to any more. */
export interface RedactionMade {
  applied: Applied
  redaction: Redaction
  freedBlobs: string[]
}

/** The messages as they shall be, by origin. */
type Replacements = Map<string, PlainMessage>

export function redactContent(state: PlainState, target: RedactionTarget, claimant: Claimant): RedactionMade {
  const session = findVisible(state, target.sessionID)
  const messages = targetMessages(session, target)
  for (const message of messages) requireSealed(message)
  if (target.messageID === undefined) requireQuiet(session, claimant)
  const replacements: Replacements = new Map(
    messages.map((message) => [message.origin, redactOne(message, target)]),
  )
  const sharing = inOrder(state).filter(
    (candidate) =>
      candidate === session ||
      reachedLists(candidate)
        .flat()
        .some(({ origin }) => replacements.has(origin)),
  )
  const applied = applyChange(state, (change) => {
    for (const candidate of sharing) replaceIn(change, candidate, replacements)
    if (target.messageID === undefined) redactFields(change, session)
  })
  const parts =
    target.partID === undefined ? messages.reduce((sum, message) => sum + message.parts.length, 0) : 1
  return {
    applied,
    redaction: { messages: messages.length, parts, sessions: sharing.map(({ info }) => info.id) },
    freedBlobs: unreferenced(state, messageBlobs(messages)),
  }
}

/** What the target names, each message once: in the history first, then in the tails that reverts left. */
function targetMessages(session: PlainSession, target: RedactionTarget): PlainMessage[] {
  const reached = [
    ...new Map(
      reachedLists(session)
        .flat()
        .map((message) => [message.origin, message]),
    ).values(),
  ]
  if (target.messageID === undefined) {
    if (target.partID === undefined) return reached
    throw new StemmaError("invalid", `Name the message of part ${target.partID} too: messageID is missing.`)
  }
  const message = reached.find(({ body }) => body.id === target.messageID)
  if (!message) throw noMessage(session, target.messageID)
  if (target.partID === undefined || message.parts.some(({ body }) => body.id === target.partID))
    return [message]
  throw new StemmaError(
    "not_found",
    `There is no part ${target.partID} in message ${target.messageID}. Read the message for the ids it has.`,
    {
      details: { ...target },
    },
  )
}

function requireSealed(message: PlainMessage): void {
  if (message.sealed) return
  throw new StemmaError(
    "conflict",
    `Message ${message.body.id} is still being written. Redact it when it is sealed.`,
    {
      details: { messageID: message.body.id },
    },
  )
}

function requireQuiet(session: PlainSession, claimant: Claimant): void {
  const sessionID = session.info.id
  if (session.inbox.length > 0) {
    throw new StemmaError(
      "conflict",
      `Session ${sessionID} has prompts waiting. Let its run take them first.`,
      {
        details: { sessionID },
      },
    )
  }
  if (isHeldByOther(session, claimant)) {
    throw new StemmaError("conflict", `Session ${sessionID} is being run. Stop the run, then redact.`, {
      details: { sessionID },
    })
  }
}

function redactOne(message: PlainMessage, target: RedactionTarget): PlainMessage {
  return {
    ...message,
    body: target.partID === undefined ? redactMessage(message.body) : message.body,
    parts: message.parts.map((part) =>
      target.partID === undefined || part.body.id === target.partID
        ? { ...part, body: redactPart(part.body) }
        : part,
    ),
  }
}

function replaceIn(change: Change, session: PlainSession, replacements: Replacements): void {
  const touched = change.touch(session)
  const positions = replaceInHistory(change, session, replacements)
  let lowest = positions[0] ?? Number.POSITIVE_INFINITY
  let left = false
  for (const tail of session.left) {
    const [first] = replaceInHistory(change, tail, replacements)
    if (first === undefined) continue
    left = true
    lowest = Math.min(lowest, first)
  }
  touched.redacted = { positions, left }
  if (lowest < Number.POSITIVE_INFINITY) {
    change.moveHistory(session, Math.min(lowest, session.messages.length))
  }
}

/** Replaces the messages of one list and takes the notes on them away. Gives their positions, rising. */
function replaceInHistory(
  change: Change,
  history: { messages: PlainMessage[]; notes: PlainNote[] },
  replacements: Replacements,
): number[] {
  const positions = [...history.messages.keys()].filter((position) =>
    replacements.has(history.messages[position]!.origin),
  )
  if (positions.length === 0) return positions
  const replaced = new Set(positions)
  change.undo.set(
    history,
    "messages",
    history.messages.map((message) => replacements.get(message.origin) ?? message),
  )
  change.undo.set(
    history,
    "notes",
    history.notes.filter((note) => !replaced.has(note.position)),
  )
  return positions
}

/** What a session says beside its messages. */
function redactFields(change: Change, session: PlainSession): void {
  const { revert } = session.info
  change.changeInfo(session, {
    title: redacted,
    summary: undefined,
    revert: revert && { ...revert, diff: undefined },
  })
  const touched = change.touch(session)
  for (const permission of session.permissions) {
    const { feedback: _feedback, ...request } = permission.request
    touched.permissions.add(request.id)
    change.undo.set(permission, "request", { ...request, patterns: [], always: [], metadata: {} })
    change.undo.set(permission, "version", change.version)
  }
  if (session.todos.length === 0) return
  touched.todos = true
  change.undo.set(session, "todos", [])
  change.undo.set(session, "todosVersion", change.version)
}
