import type { Clock } from "../../protocol/index.ts"
import { type Commit, type Op, type OpOf, runOps } from "../commit.ts"
import { fenceMissing, leaseLost, noSession, seqMoved } from "../refusals.ts"
import { putNote, putPermission, putTodos, takeItem } from "./apply-aside.ts"
import { addPiece, appendMessage, putMessage, putPart, sealMessage, truncateParts } from "./apply-message.ts"
import { createSession, forkSession, moveHistory, patchSession, publishSession } from "./apply-session.ts"
import type { Database } from "./database.ts"
import type { Names } from "./names.ts"
import type { Segments } from "./segments.ts"
import type { Tail, Tails } from "./tail.ts"

/** What the operations of one commit work with. */
export interface Write extends Omit<Applier, "clock"> {
  nowMs: number
  version: number
  /** The sessions that this commit touched, by id. */
  touched: Map<string, Tail>
  /** Those that it made. */
  made: Set<string>
  /** True once something was written that the text index should hear of. */
  sealed: boolean
}

export interface Applied {
  version: number
  seq: Record<string, number>
  sessions: string[]
  sealed: boolean
}

export interface Applier {
  db: Database
  names: Names
  segments: Segments
  tails: Tails
  clock: Clock
}

/** Applies a commit inside the running write transaction. Throws before or after any write: the caller rolls back. */
export function applyCommit(applier: Applier, commit: Commit, version: number): Applied {
  const write: Write = {
    db: applier.db,
    names: applier.names,
    segments: applier.segments,
    tails: applier.tails,
    nowMs: applier.clock.now(),
    version,
    touched: new Map(),
    made: new Set(),
    sealed: false,
  }
  if (commit.fences) checkFences(write, commit.fences)
  if (commit.expectSeq) checkSeq(write, commit.expectSeq)
  for (const op of commit.ops) {
    if (runOps.has(op.op)) checkRun(write, op as Op & { sessionID: string }, commit.fences)
    applyOp(write, op)
  }
  const seq: Record<string, number> = {}
  for (const tail of write.touched.values()) {
    tail.seq += 1
    seq[tail.id] = tail.seq
    write.db.run("UPDATE tips SET seq = ?, version = ? WHERE session = ?", tail.seq, version, tail.key)
  }
  return { version, seq, sessions: visible(write), sealed: write.sealed }
}

/** The tail of a session that this commit changes. */
export function touch(write: Write, sessionID: string): Tail {
  const known = write.touched.get(sessionID)
  if (known !== undefined) return known
  const tail = write.tails.get(sessionID)
  write.touched.set(sessionID, tail)
  return tail
}

function visible(write: Write): string[] {
  const ids: string[] = []
  for (const tail of write.touched.values()) if (!tail.importing) ids.push(tail.id)
  return ids
}

function checkSeq(write: Write, expected: Record<string, number>): void {
  for (const [sessionID, seq] of Object.entries(expected)) {
    const tail = write.tails.get(sessionID)
    if (tail.seq === seq) continue
    throw seqMoved(sessionID, { expected: seq, present: tail.seq })
  }
}

function checkFences(write: Write, fences: Record<string, number>): void {
  for (const [sessionID, fence] of Object.entries(fences)) {
    const tail = write.tails.get(sessionID)
    if (tail.fence === fence && tail.expires > write.nowMs) continue
    throw leaseLost(sessionID, fence)
  }
}

/** Promise 2: only the holder of the lease writes a run. */
function checkRun(write: Write, op: Op & { sessionID: string }, fences: Commit["fences"]): void {
  const id = op.sessionID
  if (fences?.[id] !== undefined || write.made.has(id)) return
  if (write.tails.get(id).importing) return
  throw fenceMissing(id, op.op)
}

type Handlers = { [Name in Op["op"]]: (write: Write, op: OpOf<Name>) => void }

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

function applyOp<Name extends Op["op"]>(write: Write, op: OpOf<Name>): void {
  handlers[op.op as Name](write, op)
}

/** Refuses what is still being imported, unless this commit is part of the import. */
export function published(tail: Tail): Tail {
  if (tail.importing) throw noSession(tail.id)
  return tail
}
