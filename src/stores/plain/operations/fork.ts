import { noTokens } from "../../../protocol/index.ts"
import type { OpOf } from "../../commit.ts"
import { noMessage } from "../../refusals.ts"
import type { Change } from "../change.ts"
import type { PlainMessage, PlainNote, PlainSession } from "../model.ts"
import { findTail, findVisible } from "../read/find.ts"
import { addMessage } from "./message-ops.ts"
import { notesUpTo } from "./note.ts"
import { addSession } from "./session-ops.ts"

export function forkSession(change: Change, op: OpOf<"session.fork">, options: { nowMs: number }): void {
  const source = findVisible(change.state, op.sourceID)
  const { messages, notes } = forkedHistory(source, op)
  const { info } = source
  const fork = addSession(change, {
    info: {
      ...op.session,
      projectID: op.session.projectID ?? info.projectID,
      directory: op.session.directory ?? info.directory,
      agent: op.session.agent ?? info.agent,
      model: op.session.model ?? info.model,
      permission: op.session.permission ?? info.permission,
      maxHistory: op.session.maxHistory ?? info.maxHistory,
      forkedFrom: { sessionID: op.sourceID, messageID: op.messageID },
      cost: 0,
      tokens: noTokens(),
    },
    segment: op.segment,
    importing: false,
    nowMs: options.nowMs,
    messages,
    notes,
  })
  change.moveHistory(fork, 0)
  if (op.tail) addMessage(change, fork, { ...op.tail, sealed: true })
}

/**
 * Returns the messages and notes that a fork shares: sealed messages before the named message, without messages that a
 * revert mark hides.
 */
function forkedHistory(
  source: PlainSession,
  op: OpOf<"session.fork">,
): { messages: PlainMessage[]; notes: PlainNote[] } {
  const { messages, notes } = op.left === undefined ? source : findTail(source, op.left)
  let keep = messages.at(-1)?.sealed === false ? messages.length - 1 : messages.length
  if (op.left === undefined && source.info.revert) {
    keep = Math.min(keep, source.positions.get(source.info.revert.messageID)!)
  }
  if (op.messageID !== undefined) {
    const position = messages.findIndex((message) => message.body.id === op.messageID)
    if (position < 0) throw noMessage(source.info.id, op.messageID)
    keep = Math.min(keep, position)
  }
  return { messages: messages.slice(0, keep), notes: notesUpTo(notes, keep) }
}
