import { redacted, redactMessage, redactPart } from "../../../session/history/redact.ts"
import { titlesFrom } from "../../../session/prompt/title.ts"
import {
  messageIDMissing,
  noMessage,
  noPart,
  redactWhileOpen,
  redactWhileRunning,
  redactWhileWaiting,
} from "../../refusals.ts"
import type { Redaction, RedactionTarget } from "../../store.ts"
import { type Applied, applyChange, type Change } from "../change.ts"
import { type Claimant, isHeldByOther } from "../lease.ts"
import {
  type PlainMessage,
  type PlainNote,
  type PlainSession,
  type PlainState,
  reachedLists,
} from "../model.ts"
import { findVisible, sessionsInOrder } from "../read/find.ts"
import { messageBlobs, unreferencedBlobs } from "./remove.ts"

/** A redaction that was applied, and the blobs that nothing refers to any more. */
export interface RedactionMade {
  applied: Applied
  redaction: Redaction
  freedBlobs: string[]
}

/** The redacted messages by origin. */
type Replacements = Map<string, PlainMessage>

export function redactContent(state: PlainState, target: RedactionTarget, claimant: Claimant): RedactionMade {
  const session = findVisible(state, target.sessionID)
  const messages = targetMessages(session, target)
  if (messages.some(({ sealed }) => !sealed)) throw redactWhileOpen(target.sessionID)
  if (target.messageID === undefined) requireQuiet(session, claimant)
  const replacements: Replacements = new Map(
    messages.map((message) => [message.origin, redactOne(message, target)]),
  )
  const sharing = sessionsInOrder(state).filter(
    (candidate) =>
      candidate === session ||
      reachedLists(candidate)
        .flat()
        .some(({ origin }) => replacements.has(origin)),
  )
  const redactedParts = messages.flatMap(({ parts }) =>
    parts.filter(({ body }) => target.partID === undefined || body.id === target.partID),
  )
  const titles = new Set(redactedParts.flatMap(({ body }) => titlesFrom(body)))
  const applied = applyChange(state, (change) => {
    for (const candidate of sharing) {
      replaceIn(change, candidate, replacements)
      // The title was made of redacted text.
      if (titles.has(candidate.info.title)) change.changeInfo(candidate, { title: redacted })
    }
    if (target.messageID === undefined) redactFields(change, session)
  })
  const parts =
    target.partID === undefined ? messages.reduce((sum, message) => sum + message.parts.length, 0) : 1
  return {
    applied,
    redaction: { messages: messages.length, parts, sessions: sharing.map(({ info }) => info.id) },
    freedBlobs: unreferencedBlobs(state, messageBlobs(messages)),
  }
}

/**
 * Returns the messages that the target names, each once. A message id that is both in the history and in a left tail
 * means the message in the history.
 */
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
    throw messageIDMissing(target.partID)
  }
  const message = reached.find(({ body }) => body.id === target.messageID)
  if (!message) throw noMessage(target.sessionID, target.messageID)
  if (target.partID === undefined || message.parts.some(({ body }) => body.id === target.partID))
    return [message]
  throw noPart(target.messageID, target.partID)
}

/** Refuses to redact a whole session while its inbox has items or another process holds its lease. */
function requireQuiet(session: PlainSession, claimant: Claimant): void {
  const sessionID = session.info.id
  if (session.inbox.length > 0) throw redactWhileWaiting(sessionID)
  if (isHeldByOther(session, claimant)) throw redactWhileRunning(sessionID)
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
  const changed = change.markChanged(session)
  const positions = replaceInHistory(change, session, replacements)
  let lowest = positions[0] ?? Number.POSITIVE_INFINITY
  let left = false
  for (const tail of session.left) {
    const [first] = replaceInHistory(change, tail, replacements)
    if (first === undefined) continue
    left = true
    lowest = Math.min(lowest, first)
  }
  changed.redacted = { positions, left }
  if (lowest < Number.POSITIVE_INFINITY) {
    change.moveHistory(session, Math.min(lowest, session.messages.length))
  }
}

/** Replaces the redacted messages of one history and deletes the notes on them. Returns their positions, ascending. */
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

/** Redacts the title, summary, permission requests and todos of a session. */
function redactFields(change: Change, session: PlainSession): void {
  const { revert } = session.info
  change.changeInfo(session, {
    title: redacted,
    summary: undefined,
    revert: revert && { ...revert, diff: undefined },
  })
  const changed = change.markChanged(session)
  for (const permission of session.permissions) {
    const { feedback: _feedback, ...request } = permission.request
    changed.permissions.add(request.id)
    change.undo.set(permission, "request", { ...request, patterns: [], always: [], metadata: {} })
    change.undo.set(permission, "version", change.version)
  }
  if (session.todos.length === 0) return
  changed.todos = true
  change.undo.set(session, "todos", [])
  change.undo.set(session, "todosVersion", change.version)
}
