import { type ErrorCode, StemmaError } from "../protocol/index.ts"
import type { Holder } from "./store.ts"

/** The errors that are the same in every driver: what is wrong, and what to do. */
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
    `There is no message ${messageID} in session ${sessionID}. Read the history for the ids it has.`,
    { sessionID, messageID },
  )
}

export function noPart(messageID: string, partID: string): StemmaError {
  return refusal(
    "not_found",
    `There is no part ${partID} in message ${messageID}. Read the message for the ids it has.`,
    { messageID, partID },
  )
}

export function noLeftTail(sessionID: string, segment: string): StemmaError {
  return refusal(
    "not_found",
    `Session ${sessionID} left no tail ${segment}. Its history.left lists the tails it has.`,
    {
      sessionID,
      segment,
    },
  )
}

export function noBlob(hash: string): StemmaError {
  return refusal("not_found", `There is no blob ${hash}. Put it first, or check the hash.`, { hash })
}

export function sessionTaken(sessionID: string): StemmaError {
  return refusal("conflict", `There is, or was, a session ${sessionID}. Make the new one with another id.`, {
    sessionID,
  })
}

export function segmentTaken(segment: string): StemmaError {
  return refusal("conflict", `Segment ${segment} is in use. Make a new segment id.`, { segment })
}

export function keyTaken(key: string, sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `Key ${key} is taken by session ${sessionID}. Use that session, or another key.`,
    {
      sessionID,
      key,
    },
  )
}

export function shareTaken(sessionID: string): StemmaError {
  return refusal("conflict", `Session ${sessionID} is shared under this secret. Make a new one.`, {
    sessionID,
  })
}

export function noPermissionQuery(): StemmaError {
  return refusal(
    "invalid",
    "Say which permission requests: those of a session, the one with an id, or all that are open.",
  )
}

export function messageTaken(sessionID: string, messageID: string): StemmaError {
  return refusal(
    "conflict",
    `Message ${messageID} is already in the history of session ${sessionID}. Make a new id.`,
    {
      sessionID,
      messageID,
    },
  )
}

export function notImporting(sessionID: string): StemmaError {
  return refusal(
    "invalid",
    `Session ${sessionID} is not being imported; it needs no publishing. Leave it out.`,
  )
}

export function seqMoved(sessionID: string, seq: { expected: number; present: number }): StemmaError {
  return refusal(
    "conflict",
    `Session ${sessionID} was changed meanwhile: its seq is ${seq.present}, not ${seq.expected}. Read it again and retry.`,
    { sessionID, expected: seq.expected, seq: seq.present },
  )
}

export function leaseLost(sessionID: string, fence: number): StemmaError {
  return refusal(
    "conflict",
    `The lease on session ${sessionID} with fence ${fence} is lost. Stop this run; claim again to go on.`,
    { sessionID, fence },
  )
}

export function leaseHeld(sessionID: string, holder: Holder, expiresAt: number): StemmaError {
  return refusal(
    "conflict",
    `Session ${sessionID} is being run by process ${holder.pid} on ${holder.host}. Wait, or admit to its inbox.`,
    { sessionID, holder: { ...holder }, expiresAt },
  )
}

export function fenceMissing(sessionID: string, op: string): StemmaError {
  return refusal(
    "conflict",
    `${op} writes the run of session ${sessionID}: claim the session first and commit with its fence.`,
    { sessionID },
  )
}

export function marked(sessionID: string): StemmaError {
  return refusal(
    "invalid",
    `Session ${sessionID} has a revert mark. Make the revert real with history.move, or clear the mark.`,
    { sessionID },
  )
}

export function stillOpen(messageID: string, before: string): StemmaError {
  return refusal("conflict", `Message ${messageID} is still open. Seal it before ${before}.`, { messageID })
}

export function moveWhileOpen(messageID: string): StemmaError {
  return refusal("invalid", `Message ${messageID} is still open. Seal it before the history moves.`, {
    messageID,
  })
}

export function noteOnOpen(messageID: string): StemmaError {
  return refusal("invalid", `Message ${messageID} is still open. Seal it, or put what you know into it.`, {
    messageID,
  })
}

export function isSealed(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} is sealed and never changes. Write a note, or fork or revert the session.`,
    { messageID },
  )
}

export function otherMessage(messageID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} keeps its id and its role as long as it lives. Give the fields of that one.`,
  )
}

export function partTwice(messageID: string): StemmaError {
  return refusal("invalid", `Message ${messageID} has two parts with the same id. Give each its own.`, {
    messageID,
  })
}

export function unsettled(messageID: string, partID: string): StemmaError {
  return refusal(
    "invalid",
    `Message ${messageID} cannot be sealed: tool call ${partID} has no result yet. Complete or fail it first.`,
    { messageID, partID },
  )
}

export function otherType(partID: string, types: { present: string; next: string }): StemmaError {
  return refusal(
    "invalid",
    `Part ${partID} is a ${types.present} part and cannot become ${types.next}. Put it under a new id.`,
    { partID },
  )
}

export function illegalState(partID: string, states: { present: string; next: string }): StemmaError {
  return refusal(
    "invalid",
    `Tool call ${partID} is ${states.present} and cannot become ${states.next}. Put a new part instead.`,
    { partID },
  )
}

export function growsWhileKept(partID: string): StemmaError {
  return refusal("invalid", `Part ${partID} is put with grown: "keep", so its growing field must be empty.`, {
    partID,
  })
}

export function grownElsewhere(partID: string): StemmaError {
  return refusal(
    "invalid",
    `Part ${partID} has grown text that its new state has no place for. Put it with its whole value.`,
    { partID },
  )
}

export function growsNot(partID: string, field: string): StemmaError {
  return refusal(
    "invalid",
    `Part ${partID} has no field ${field} that grows now. Put the part with its whole value.`,
    {
      partID,
      field,
    },
  )
}

export function offsetWrong(
  partID: string,
  piece: { field: string; offset: number; length: number },
): StemmaError {
  return refusal(
    "conflict",
    `Field ${piece.field} of part ${partID} has ${piece.length} characters; the piece begins at ${piece.offset}. Send what follows.`,
    { partID, ...piece },
  )
}

export function noItem(sessionID: string, itemID: string): StemmaError {
  return refusal(
    "not_found",
    `There is no item ${itemID} in the inbox of ${sessionID}. Read the inbox for the ids it has.`,
    {
      sessionID,
      itemID,
    },
  )
}

export function itemTaken(sessionID: string, itemID: string): StemmaError {
  return refusal("conflict", `Item ${itemID} was taken already. Read the inbox again.`, { sessionID, itemID })
}

export function itemDiffers(sessionID: string, itemID: string): StemmaError {
  return refusal(
    "conflict",
    `Item ${itemID} was admitted to session ${sessionID} with another payload. Give the new one its own id.`,
    { sessionID, itemID },
  )
}

export function messageMissing(partID: string): StemmaError {
  return refusal("invalid", `Name the message of part ${partID} too: messageID is missing.`, { partID })
}

export function redactWhileOpen(sessionID: string): StemmaError {
  return refusal(
    "conflict",
    `A message of session ${sessionID} is still being written. Redact it when it is sealed.`,
    {
      sessionID,
    },
  )
}

export function redactWhileWaiting(sessionID: string): StemmaError {
  return refusal("conflict", `Session ${sessionID} has prompts waiting. Let its run take them first.`, {
    sessionID,
  })
}

export function redactWhileRunning(sessionID: string): StemmaError {
  return refusal("conflict", `Session ${sessionID} is being run. Stop the run, then redact.`, { sessionID })
}

export function readOnly(place: string): StemmaError {
  return refusal("denied", `${place} is open for reading only. Open it without readOnly to change it.`, {
    place,
  })
}

export function notAPosition(value: number): StemmaError {
  return refusal("invalid", "A position must be a whole number from 0 on. Give one, or leave it out.", {
    value,
  })
}

export function storeClosed(): StemmaError {
  return refusal("unavailable", "The store is closed. Open it again.")
}
