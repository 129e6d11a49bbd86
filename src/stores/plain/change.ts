import type { PlainNote, PlainPiece, PlainSession, PlainState } from "./model.ts"
import { Undo } from "./undo.ts"

/** What one change did to one session: the rows that have the version of the change now. */
export interface ChangedSession {
  session: PlainSession
  created: boolean
  published: boolean
  /** The session row changed. */
  sessionRow: boolean
  /** The history pointer moved: by a fork, a revert made real, the end of an import, or a redaction. */
  moved: boolean
  /**
   * Content of messages was redacted: at which positions of the history, and whether left tails contain redacted
   * messages.
   */
  redacted: { positions: number[]; left: boolean } | undefined
  /** The positions of messages whose row changed, and the positions of messages that were sealed. */
  messages: Set<number>
  sealed: Set<number>
  /** Parts whose row changed, as `position/index`. */
  parts: Set<string>
  pieces: { position: number; index: number; piece: PlainPiece }[]
  notes: PlainNote[]
  todos: boolean
  /** The ids of permission requests whose row changed. */
  permissions: Set<string>
  inbox: boolean
}

/** A change that was applied. `rollback` undoes it and must be called before any other change is applied. */
export interface Applied {
  version: number
  /** The new `seq` of each changed session. */
  seq: Record<string, number>
  changed: Map<string, ChangedSession>
  /** The ids of removed sessions; the session that the caller named comes first. */
  removed: string[]
  rollback(): void
}

/** One atomic change of the state, with its own version. */
export class Change {
  readonly state: PlainState
  readonly undo = new Undo()
  readonly changed = new Map<string, ChangedSession>()
  readonly removed: string[] = []
  #made = 0

  constructor(state: PlainState) {
    this.state = state
    this.undo.set(state, "version", state.version + 1)
  }

  get version(): number {
    return this.state.version
  }

  /**
   * Returns a number that grows with every call and every change. It orders sessions, parts and requests by creation.
   */
  nextSerial(): number {
    return this.version * 2 ** 20 + this.#made++
  }

  /**
   * Records that the change affects a session. Must be called before the session changes. The first call increments the
   * session's `seq`.
   */
  markChanged(session: PlainSession): ChangedSession {
    const known = this.changed.get(session.info.id)
    if (known) return known
    this.undo.set(session, "seq", session.seq + 1)
    this.undo.set(session, "newest", this.version)
    const changed: ChangedSession = {
      session,
      created: false,
      published: false,
      sessionRow: false,
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
    this.changed.set(session.info.id, changed)
    return changed
  }

  /** Replaces fields of the session row and marks the row as changed. */
  changeInfo(session: PlainSession, fields: Partial<PlainSession["info"]> = {}): void {
    this.markChanged(session).sessionRow = true
    this.undo.set(session, "info", { ...session.info, ...fields })
    this.undo.set(session, "version", this.version)
  }

  /** Increments the epoch. A replica may keep the first `keep` messages of the history. */
  moveHistory(session: PlainSession, keep: number): void {
    this.markChanged(session).moved = true
    this.undo.set(session, "epoch", session.epoch + 1)
    this.undo.push(session.moves, { version: this.version, keep })
    this.changeInfo(session)
  }
}

/** Runs `body` as one change. If `body` throws, the state is unchanged. */
export function applyChange(state: PlainState, body: (change: Change) => void): Applied {
  const change = new Change(state)
  try {
    body(change)
  } catch (error) {
    change.undo.rollback()
    throw error
  }
  const seq: Record<string, number> = {}
  for (const [id, changed] of change.changed) seq[id] = changed.session.seq
  return {
    version: change.version,
    seq,
    changed: change.changed,
    removed: change.removed,
    rollback: () => change.undo.rollback(),
  }
}
