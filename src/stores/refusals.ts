import { type ErrorCode, StemmaError } from "../protocol/index.ts"
import type { Holder } from "./store.ts"

/**
 * The errors that all drivers share, so that every driver fails with the same code and text. Each text says what is
 * wrong and what to do.
 */
function refusal(code: ErrorCode, message: string, details?: Record<string, unknown>): StemmaError {
  return new StemmaError(code, message, { details })
}

export function noSession(sessionID: string): StemmaError {
  return refusal("not_found", `There is no session ${sessionID}. Check the id, or list the sessions.`, {
    sessionID,
  })
}

export function noMessage(sessionID: string, messageID: string): StemmaError {
  return refusal(
    "not_found",
    `There is no message ${messageID} in session ${sessionID}. Read the history to see its message ids.`,
    { sessionID, messageID },
  )
}

export function noPart(messageID: string, partID: string): StemmaError {
  return refusal(
    "not_found",
    `There is no part ${partID} in message ${messageID}. Read the message to see its part ids.`,
    { messageID, partID },
  )
}

export function noLeftTail(sessionID: string, segment: string): StemmaError {
  return refusal(
    "not_found",
    `Session ${sessionID} has no left tail ${segment}. Its left tails are listed in history.left.`,
    {
      sessionID,
      segment,
    },
  )
}

export function noBlob(hash: string): StemmaError {
  return refusal("not_found", `There is no blob ${hash}. Check the hash, or put the blob first.`, { hash })
}

export function sessionTaken(sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `Session id ${sessionID} is in use, or belonged to a session that was removed. Create the session with a new id.`,
    {
      sessionID,
    },
  )
}

export function segmentTaken(segment: string): StemmaError {
  return refusal("conflict", `Segment id ${segment} was used before. Use a new segment id.`, { segment })
}

export function keyTaken(key: string, sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `Key ${key} belongs to session ${sessionID}. Use that session, or another key.`,
    {
      sessionID,
      key,
    },
  )
}

export function shareTaken(sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `Session ${sessionID} is already shared under this secret. Share with a new secret.`,
    {
      sessionID,
    },
  )
}

export function permissionQueryTooBroad(): StemmaError {
  return refusal(
    "invalid",
    "The query selects all permission requests of all sessions. Name a session, name a request, or ask for open requests only.",
  )
}

export function messageTaken(sessionID: string, messageID: string): StemmaError {
  return refusal(
    "conflict",
    `Message ${messageID} is already in the history of session ${sessionID}. Append the message with a new id.`,
    {
      sessionID,
      messageID,
    },
  )
}

export function notImporting(sessionID: string): StemmaError {
  return refusal("invalid", `Session ${sessionID} is not being imported. Leave session.publish out.`)
}

export function seqChanged(sessionID: string, seq: { expected: number; present: number }): StemmaError {
  return refusal(
    "conflict",
    `Session ${sessionID} was changed by another commit: its seq is ${seq.present}, not ${seq.expected}. Read the session again and retry.`,
    { sessionID, expected: seq.expected, seq: seq.present },
  )
}

export function leaseLost(sessionID: string, fence: number): StemmaError {
  return refusal(
    "conflict",
    `The lease on session ${sessionID} with fence ${fence} is lost. Stop this run, and claim the session again to continue.`,
    { sessionID, fence },
  )
}

export function leaseHeld(sessionID: string, holder: Holder, expiresAt: number): StemmaError {
  return refusal(
    "conflict",
    `Session ${sessionID} is being run by process ${holder.pid} on ${holder.host}. Wait until the lease is free, or admit an item to the session's inbox.`,
    { sessionID, holder: { ...holder }, expiresAt },
  )
}

export function fenceMissing(sessionID: string, op: string): StemmaError {
  return refusal(
    "conflict",
    `${op} needs the lease on session ${sessionID}. Claim the session, and commit with the fence of the lease.`,
    { sessionID },
  )
}

export function hasRevertMark(sessionID: string): StemmaError {
  return refusal(
    "invalid",
    `Session ${sessionID} has a revert mark. Make the revert real with history.move, or clear the mark first.`,
    { sessionID },
  )
}

export function previousMessageOpen(messageID: string): StemmaError {
  return refusal(
    "conflict",
    `Message ${messageID} is still open. Seal it before you append the next message.`,
    { messageID },
  )
}

export function moveWhileOpen(messageID: string): StemmaError {
  return refusal("invalid", `Message ${messageID} is still open. Seal it before you move the history.`, {
    messageID,
  })
}

export function noteOnOpen(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} is still open, and only sealed messages have notes. Seal it first, or change its fields.`,
    {
      messageID,
    },
  )
}

export function messageSealed(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} is sealed and never changes. Add a note, or fork or revert the session.`,
    { messageID },
  )
}

export function messageIdentityChanged(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `The id and the role of message ${messageID} cannot change. Pass fields with the same id and role.`,
  )
}

export function duplicatePartID(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} has two parts with the same id. Give each part its own id.`,
    {
      messageID,
    },
  )
}

export function toolCallUnsettled(messageID: string, partID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} cannot be sealed: tool call ${partID} has no result yet. Complete or fail the call first.`,
    { messageID, partID },
  )
}

export function partTypeChanged(partID: string, types: { present: string; next: string }): StemmaError {
  return refusal(
    "invalid",
    `Part ${partID} is a ${types.present} part and cannot become a ${types.next} part. Put the new part under a new id.`,
    { partID },
  )
}

export function toolStateNotAllowed(partID: string, states: { present: string; next: string }): StemmaError {
  return refusal(
    "invalid",
    `Tool call ${partID} is ${states.present} and cannot become ${states.next}. Put a new part for a new call.`,
    { partID },
  )
}

export function growingFieldNotEmpty(partID: string): StemmaError {
  return refusal(
    "invalid",
    `Part ${partID} was put with grown: "keep" and text in its growing field. Leave the field empty, or leave grown out.`,
    {
      partID,
    },
  )
}

export function grownTextHasNoField(partID: string): StemmaError {
  return refusal(
    "invalid",
    `The new state of part ${partID} has no field for the text that has grown. Put the part with its whole value and without grown: "keep".`,
    { partID },
  )
}

export function fieldDoesNotGrow(partID: string, field: string): StemmaError {
  return refusal(
    "invalid",
    `Field ${field} of part ${partID} does not grow in the part's present state. Put the part with its whole value.`,
    {
      partID,
      field,
    },
  )
}

export function wrongOffset(
  partID: string,
  piece: { field: string; offset: number; length: number },
): StemmaError {
  return refusal(
    "conflict",
    `Field ${piece.field} of part ${partID} has length ${piece.length}, but the piece begins at offset ${piece.offset}. Send the text from offset ${piece.length} on.`,
    { partID, ...piece },
  )
}

export function noInboxItem(sessionID: string, itemID: string): StemmaError {
  return refusal(
    "not_found",
    `There is no item ${itemID} in the inbox of session ${sessionID}. Read the inbox to see its item ids.`,
    {
      sessionID,
      itemID,
    },
  )
}

export function inboxItemTaken(sessionID: string, itemID: string): StemmaError {
  return refusal("conflict", `Inbox item ${itemID} was taken already. Read the inbox again.`, {
    sessionID,
    itemID,
  })
}

export function inboxItemDiffers(sessionID: string, itemID: string): StemmaError {
  return refusal(
    "conflict",
    `Item ${itemID} was admitted to session ${sessionID} with another payload. Admit the new item with its own id.`,
    { sessionID, itemID },
  )
}

export function messageIDMissing(partID: string): StemmaError {
  return refusal(
    "invalid",
    `messageID is missing for part ${partID}. Pass the id of the part's message too.`,
    { partID },
  )
}

export function redactWhileOpen(sessionID: string): StemmaError {
  return refusal("conflict", `A message of session ${sessionID} is still open. Redact after it is sealed.`, {
    sessionID,
  })
}

export function redactWhileWaiting(sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `The inbox of session ${sessionID} is not empty. Redact after a run has taken its items.`,
    {
      sessionID,
    },
  )
}

export function redactWhileRunning(sessionID: string): StemmaError {
  return refusal("conflict", `Another process runs session ${sessionID}. Stop the run, then redact.`, {
    sessionID,
  })
}

export function filesGone(path: string): StemmaError {
  return refusal(
    "unavailable",
    `${path} was deleted, moved or replaced while the store was open. Nothing more is stored. Put it back, or start again with what is there now.`,
    { path },
  )
}

export function storeReadOnly(path: string): StemmaError {
  return refusal("denied", `The store ${path} was opened read-only. Open it without readOnly to write.`, {
    place: path,
  })
}

export function invalidPosition(value: number): StemmaError {
  return refusal(
    "invalid",
    `The position is ${value}, but must be a whole number from 0 on. Pass another position, or leave it out.`,
    {
      value,
    },
  )
}

export function storeClosed(): StemmaError {
  return refusal("unavailable", "The store is closed. Open it again.")
}
