import { type Commit, type Op, type OpOf, runOps } from "../commit.ts"
import { fenceMissing, seqChanged } from "../refusals.ts"
import { type Applied, applyChange, type Change } from "./change.ts"
import { checkFence } from "./lease.ts"
import type { PlainState } from "./model.ts"
import { forkSession } from "./operations/fork.ts"
import { takeItem } from "./operations/inbox.ts"
import { appendMessage, putMessage, sealMessage } from "./operations/message-ops.ts"
import { moveHistory } from "./operations/move.ts"
import { putNote } from "./operations/note.ts"
import { addPiece, putPart, truncateParts } from "./operations/part-ops.ts"
import {
  createSession,
  patchSession,
  publishSession,
  putPermission,
  putTodos,
} from "./operations/session-ops.ts"
import { findSession } from "./read/find.ts"

/** Applies a prepared commit, all or nothing. `nowMs` is the time by the store's clock. */
export function applyCommit(state: PlainState, commit: Commit, options: { nowMs: number }): Applied {
  return applyChange(state, (change) => {
    for (const [sessionID, fence] of Object.entries(commit.fences ?? {})) {
      checkFence(findSession(state, sessionID), fence, options)
    }
    for (const [sessionID, seq] of Object.entries(commit.expectSeq ?? {})) {
      checkSeq(state, sessionID, seq)
    }
    for (const op of commit.ops) {
      requireFence(change, commit, op)
      const apply = handlers[op.op] as ApplyOp<Op["op"]>
      apply(change, op, options)
    }
  })
}

function checkSeq(state: PlainState, sessionID: string, expected: number): void {
  const { seq } = findSession(state, sessionID)
  if (seq === expected) return
  throw seqChanged(sessionID, { expected, present: seq })
}

/** Fails with `conflict` if the operation needs a fence and the commit has none for the session. */
function requireFence(change: Change, commit: Commit, op: Op): void {
  if (!runOps.has(op.op)) return
  const { sessionID } = op as Extract<Op, { sessionID: string }>
  if (commit.fences?.[sessionID] !== undefined || change.changed.get(sessionID)?.created) return
  if (findSession(change.state, sessionID).importing) return
  throw fenceMissing(sessionID, op.op)
}

type ApplyOp<T extends Op["op"]> = (change: Change, op: OpOf<T>, options: { nowMs: number }) => void

const handlers: { [T in Op["op"]]: ApplyOp<T> } = {
  "session.create": createSession,
  "session.publish": publishSession,
  "session.patch": patchSession,
  "session.fork": forkSession,
  "message.append": appendMessage,
  "message.put": putMessage,
  "message.seal": sealMessage,
  "part.put": putPart,
  "part.truncate": truncateParts,
  "piece.add": addPiece,
  "note.put": putNote,
  "todos.put": putTodos,
  "permission.put": putPermission,
  "inbox.take": takeItem,
  "history.move": moveHistory,
}
