import type { OpOf } from "../../commit.ts"
import { noteOnOpen } from "../../refusals.ts"
import type { Change } from "../change.ts"
import type { PlainNote } from "../model.ts"
import { findPosition, findSession } from "../read/find.ts"

export function putNote(change: Change, op: OpOf<"note.put">): void {
  const session = findSession(change.state, op.sessionID)
  const position = findPosition(session, op.messageID)
  if (!session.messages[position]!.sealed) throw noteOnOpen(op.messageID)
  const note: PlainNote = {
    position,
    messageID: op.messageID,
    key: op.key,
    value: op.value ?? null,
    at: session.messages.length,
    writer: op.sessionID,
    version: change.version,
  }
  change.undo.push(session.notes, note)
  change.markChanged(session).notes.push(note)
}

/**
 * Returns the notes that a history of `count` messages has: notes that were written when the history was not longer.
 */
export function notesUpTo(notes: PlainNote[], count: number): PlainNote[] {
  return notes.filter((note) => note.at <= count)
}

/** Returns the newest note of each message and key. */
export function newestNotes(notes: PlainNote[]): PlainNote[] {
  const newest = new Map<string, PlainNote>()
  for (const note of notes) newest.set(`${note.position}/${note.key}`, note)
  return [...newest.values()]
}

/** Returns the notes on one message by key, or undefined if there are none. */
export function notesOf(notes: PlainNote[], position: number): Record<string, unknown> | undefined {
  const own = newestNotes(notes.filter((note) => note.position === position))
  const present = own.filter((note) => note.value !== null)
  return present.length === 0 ? undefined : Object.fromEntries(present.map((note) => [note.key, note.value]))
}
