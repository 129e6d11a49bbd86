import { mayFollow, type PartBody } from "../../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "../../../session/replica/grow.ts"
import type { OpOf } from "../../commit.ts"
import {
  fieldDoesNotGrow,
  growingFieldNotEmpty,
  grownTextHasNoField,
  noPart,
  partTypeChanged,
  toolStateNotAllowed,
  wrongOffset,
} from "../../refusals.ts"
import type { Change } from "../change.ts"
import { type PlainPart, presentLength } from "../model.ts"
import { findOpen, newPart } from "./message-ops.ts"

export function putPart(change: Change, op: OpOf<"part.put">): void {
  const { session, position, message } = findOpen(change, op)
  const keep = op.grown === "keep"
  if (keep && grownText(op.part) !== "") throw growingFieldNotEmpty(op.part.id)
  const index = message.parts.findIndex((part) => part.body.id === op.part.id)
  const known = message.parts[index]
  if (known) replacePart(change, known, { body: op.part, keep })
  else change.undo.push(message.parts, newPart(change, op.part))
  change.markChanged(session).parts.add(`${position}/${known ? index : message.parts.length - 1}`)
}

function replacePart(change: Change, part: PlainPart, next: { body: PartBody; keep: boolean }): void {
  checkSuccessor(part.body, next.body)
  change.undo.set(part, "version", change.version)
  if (!next.keep || presentLength(part) === 0) {
    change.undo.set(part, "body", next.body)
    change.undo.set(part, "pieces", [])
    return
  }
  if (growingField(part.body) !== growingField(next.body)) throw grownTextHasNoField(part.body.id)
  const own = grownText(part.body)
  change.undo.set(part, "body", own === "" ? next.body : withGrownText(next.body, own))
  // In `changes`, the pieces must come after the new row of the part, so they get its version.
  const { version } = change
  change.undo.set(
    part,
    "pieces",
    part.pieces.map((piece) => ({ ...piece, version })),
  )
}

function checkSuccessor(present: PartBody, next: PartBody): void {
  if (present.type !== next.type)
    throw partTypeChanged(present.id, { present: present.type, next: next.type })
  if (present.type !== "tool" || next.type !== "tool") return
  if (mayFollow(present.state.status, next.state.status)) return
  throw toolStateNotAllowed(present.id, { present: present.state.status, next: next.state.status })
}

export function truncateParts(change: Change, op: OpOf<"part.truncate">): void {
  const { session, position, message } = findOpen(change, op)
  change.markChanged(session).messages.add(position)
  change.undo.set(message, "parts", message.parts.slice(0, op.keep))
  change.undo.set(message, "version", change.version)
}

export function addPiece(change: Change, op: OpOf<"piece.add">): void {
  const { session, position, message } = findOpen(change, op)
  const index = message.parts.findIndex((candidate) => candidate.body.id === op.partID)
  const part = message.parts[index]
  if (!part) throw noPart(op.messageID, op.partID)
  if (growingField(part.body) !== op.field) throw fieldDoesNotGrow(op.partID, op.field)
  const length = presentLength(part)
  if (op.offset !== length) throw wrongOffset(op.partID, { field: op.field, offset: op.offset, length })
  const changed = change.markChanged(session)
  if (op.text === "") return
  const piece = { offset: op.offset, text: op.text, version: change.version }
  change.undo.push(part.pieces, piece)
  changed.pieces.push({ position, index, piece })
}
