import type { PlainNote, PlainPiece, PlainSession, PlainState } from "./model.ts"
import { Undo } from "./undo.ts"

/** What one change did to one session: which of its rows have the change's version now. */
export interface Touched {
  session: PlainSession
  created: boolean
  published: boolean
  /** The session row. */
  info: boolean
  /** The history pointer moved: by a fork, a revert made real, the end of an import, a redaction. */
  moved: boolean
  /** Content of the session's messages was replaced: positions in the history, and whether left tails have some. */
  redacted: { positions: number[]; left: boolean } | undefined
  /** Positions of messages whose row changed, and among them of those that were sealed. */
  messages: Set<number>
  sealed: Set<number>
  /** Parts whose row changed, as `position/index`. */
  parts: Set<string>
  pieces: { position: number; index: number; piece: PlainPiece }[]
  notes: PlainNote[]
  todos: boolean
  /** Ids of the requests. */
  permissions: Set<string>
  inbox: boolean
}

/** A change that was made. `rollback` takes it back, as long as no other was made after it. */
export interface Applied {
  version: number
  /** The new seq of each session that was touched. */
  seq: Record<string, number>
  touched: Map<string, Touched>
  /** The sessions that were removed, the named one first. */
  removed: string[]
  rollback(): void
}

/** One atomic change of the state, with a version of its own. */
export class Change {
  readonly state: PlainState
  readonly undo = new Undo()
  readonly touched = new Map<string, Touched>()
  readonly removed: string[] = []
  #made = 0

  constructor(state: PlainState) {
    this.state = state
    this.undo.set(state, "version", state.version + 1)
  }

  get version(): number {
    return this.state.version
  }

  /** Grows from commit to commit and within one: the order in which sessions, parts and requests were made. */
  nextSerial(): number {
    return this.version * 2 ** 20 + this.#made++
  }

  /** To be called for a session before anything of it changes; the first call counts the commit in its seq. */
  touch(session: PlainSession): Touched {
    const known = this.touched.get(session.info.id)
    if (known) return known
    this.undo.set(session, "seq", session.seq + 1)
    this.undo.set(session, "newest", this.version)
    const touched: Touched = {
      session,
      created: false,
      published: false,
      info: false,
      moved: false,
      redacted: undefined,
      messages: new Set(),
      sealed: new Set(),
      parts: new Set(),
      pieces: [],
      notes: [],
      todos: false,
      permissions: new Set(),
      inbox: false,
    }
    this.touched.set(session.info.id, touched)
    return touched
  }

  /** Replaces fields of the session row, if any are given, and marks the row as changed. */
  changeInfo(session: PlainSession, fields: Partial<PlainSession["info"]> = {}): void {
    this.touch(session).info = true
    this.undo.set(session, "info", { ...session.info, ...fields })
    this.undo.set(session, "version", this.version)
  }

  /** The history pointer moved: a replica may keep its first `keep` messages. */
  moveHistory(session: PlainSession, keep: number): void {
    this.touch(session).moved = true
    this.undo.set(session, "epoch", session.epoch + 1)
    this.undo.push(session.moves, { version: this.version, keep })
    this.changeInfo(session)
  }
}

/** Runs `body` as one change: all of it or, if it throws, nothing. */
export function applyChange(state: PlainState, body: (change: Change) => void): Applied {
  const change = new Change(state)
  try {
    body(change)
  } catch (error) {
    change.undo.rollback()
    throw error
  }
  const seq: Record<string, number> = {}
  for (const [id, touched] of change.touched) seq[id] = touched.session.seq
  return {
    version: change.version,
    seq,
    touched: change.touched,
    removed: change.removed,
    rollback: () => change.undo.rollback(),
  }
}
