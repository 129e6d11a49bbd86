import type { OpOf } from "../../commit.ts"
import { moveWhileOpen } from "../../refusals.ts"
import type { Change } from "../change.ts"
import { findPosition, findSession, openMessage } from "../read/find.ts"
import { addMessage } from "./message-ops.ts"
import { notesUpTo } from "./note.ts"
import { checkSegment } from "./session-ops.ts"

/** Makes a revert real: the history ends before the named message, and the old history becomes a left tail. */
export function moveHistory(change: Change, op: OpOf<"history.move">): void {
  const session = findSession(change.state, op.sessionID)
  const { undo } = change
  const open = openMessage(session)
  if (open) throw moveWhileOpen(open.body.id)
  const keep = findPosition(session, op.messageID)
  checkSegment(change.state, op.segment)
  const { segment, messages, notes } = session
  // Messages that lose notes by the move must be read again by replicas.
  const unchanged = notes.reduce(
    (least, note) => (note.at > keep ? Math.min(least, note.position) : least),
    keep,
  )

  undo.push(session.left, { segment, keep, messages, notes })
  undo.setAdd(change.state.segments, op.segment)
  undo.set(session, "segment", op.segment)
  undo.set(session, "messages", messages.slice(0, keep))
  undo.set(session, "positions", new Map(messages.slice(0, keep).map((message, at) => [message.body.id, at])))
  undo.set(session, "notes", notesUpTo(notes, keep))
  undo.set(session, "base", Math.min(session.base, keep))
  change.moveHistory(session, unchanged)
  change.changeInfo(session, { revert: undefined })
  if (op.tail) addMessage(change, session, { ...op.tail, sealed: true })
}
