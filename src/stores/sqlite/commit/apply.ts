import { type Commit, type Op, type OpOf, runOps } from "../../commit.ts"
import { fenceMissing, leaseLost, seqChanged } from "../../refusals.ts"
import { appendMessage, putMessage, sealMessage } from "./apply-message.ts"
import { addPiece, putPart, truncateParts } from "./apply-part.ts"
import { createSession, forkSession, moveHistory, patchSession, publishSession } from "./apply-session.ts"
import { putNote, putPermission, putTodos, takeItem } from "./apply-side-rows.ts"
import type { CommitContext, CommitWrite } from "./commit-write.ts"
import type { Versions } from "./writer.ts"

export interface Applied {
  version: number
  seq: Record<string, number>
  needsIndexing: boolean
}

/**
 * Applies a commit inside the running write transaction. After an error, the caller must roll back to the state before
 * the commit.
 */
export function applyCommit(context: CommitContext, commit: Commit, versions: Versions): Applied {
  const write: CommitWrite = {
    db: context.db,
    dictionary: context.dictionary,
    segments: context.segments,
    tails: context.tails,
    nowMs: context.clock.now(),
    version: 0,
    changed: [],
    created: undefined,
    needsIndexing: false,
  }
  if (commit.fences) checkFences(write, commit.fences)
  if (commit.expectSeq) checkSeq(write, commit.expectSeq)
  // After the checks, because loading a tail also reads the newest version, which `take` then need not query.
  write.version = versions.take()
  for (const op of commit.ops) {
    if (runOps.has(op.op)) checkRun(write, op as Op & { sessionID: string }, commit.fences)
    applyOp(write, op)
  }
  const seq: Record<string, number> = {}
  for (const tail of write.changed) {
    tail.seq += 1
    seq[tail.id] = tail.seq
    write.db.run("UPDATE tips SET seq = ?, version = ? WHERE session = ?", tail.seq, write.version, tail.key)
  }
  return { version: write.version, seq, needsIndexing: write.needsIndexing }
}

function checkSeq(write: CommitWrite, expected: Record<string, number>): void {
  for (const [sessionID, seq] of Object.entries(expected)) {
    const tail = write.tails.get(sessionID)
    if (tail.seq === seq) continue
    throw seqChanged(sessionID, { expected: seq, present: tail.seq })
  }
}

function checkFences(write: CommitWrite, fences: Record<string, number>): void {
  for (const sessionID of Object.keys(fences)) {
    const fence = fences[sessionID]!
    const tail = write.tails.get(sessionID)
    if (tail.fence === fence && tail.expires > write.nowMs) continue
    throw leaseLost(sessionID, fence)
  }
}

/** Only the holder of the lease may write a run. */
function checkRun(write: CommitWrite, op: Op & { sessionID: string }, fences: Commit["fences"]): void {
  const id = op.sessionID
  if (fences?.[id] !== undefined || write.created?.has(id)) return
  if (write.tails.get(id).importing) return
  throw fenceMissing(id, op.op)
}

type Handlers = { [Name in Op["op"]]: (write: CommitWrite, op: OpOf<Name>) => void }

const handlers: Handlers = {
  "session.create": createSession,
  "session.publish": publishSession,
  "session.patch": patchSession,
  "session.fork": forkSession,
  "history.move": moveHistory,
  "message.append": appendMessage,
  "message.put": putMessage,
  "part.put": putPart,
  "part.truncate": truncateParts,
  "piece.add": addPiece,
  "message.seal": sealMessage,
  "note.put": putNote,
  "todos.put": putTodos,
  "permission.put": putPermission,
  "inbox.take": takeItem,
}

function applyOp<Name extends Op["op"]>(write: CommitWrite, op: OpOf<Name>): void {
  handlers[op.op as Name](write, op)
}
