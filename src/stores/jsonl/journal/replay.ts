import type { PlainMessage, PlainNote, PlainSession } from "../../plain/index.ts"
import type { CommitLine, StateLine } from "../format/state-line.ts"

/** The open message as the lines of the state file give it. A later line of the main file may have sealed it. */
export interface ReplayedOpenMessage {
  chain: number
  position: number
  message: PlainMessage
}

/** Applies lines of the state file to a session. The messages and segments of the session must be there already. */
export class Replay {
  readonly session: PlainSession
  open: ReplayedOpenMessage | undefined
  readonly #addNote: (note: PlainNote, chain: number) => void

  constructor(
    session: PlainSession,
    options: { open?: ReplayedOpenMessage; addNote(note: PlainNote, chain: number): void },
  ) {
    this.session = session
    this.open = options.open
    this.#addNote = options.addNote
  }

  take(line: StateLine): void {
    const { session } = this
    switch (line.type) {
      case "commit":
        this.#takeCommit(line)
        break
      case "lease":
        session.fence = line.fence
        session.lease =
          line.holder && line.expiresAt !== undefined
            ? { holder: line.holder, expiresAt: line.expiresAt }
            : undefined
        break
      case "forget":
        for (const id of line.taken) session.taken.delete(id)
        break
      case "snapshot":
        break
    }
  }

  #takeCommit(line: CommitLine): void {
    const { session } = this
    const { v } = line
    session.seq = line.seq
    session.newest = v
    if (line.info) {
      const info = { ...session.info, ...line.info.set }
      for (const name of line.info.unset ?? []) delete (info as Record<string, unknown>)[name]
      session.info = info
      session.version = v
    }
    if (line.published) session.importing = false
    for (const { keep } of line.chain ?? []) session.base = Math.min(session.base, keep)
    for (const keep of line.moves ?? []) {
      session.epoch++
      session.moves.push({ version: v, keep })
    }
    this.#takeOpen(line)
    for (const { chain, ...note } of line.notes ?? []) {
      this.#addNote({ ...note, writer: session.info.id, version: v }, chain)
    }
    this.#takeRows(line)
  }

  #takeOpen(line: CommitLine): void {
    const { v } = line
    if (line.open) this.#beginOpen(line.open, v)
    const message = this.open?.message
    if (!message) return
    for (const { index, body, serial, kept } of line.parts ?? []) {
      const before = kept === undefined ? [] : (message.parts[index]?.pieces ?? [])
      const pieces = before.slice(0, kept).map((piece) => ({ ...piece, version: v }))
      message.parts[index] = { body, version: v, serial, pieces }
    }
    for (const [index, offset, text] of line.pieces ?? []) {
      message.parts[index]?.pieces.push({ offset, text, version: v })
    }
  }

  #beginOpen({ at: [chain, position], body, parts }: NonNullable<CommitLine["open"]>, version: number): void {
    const known = this.open
    if (known && known.chain === chain && known.position === position) {
      known.message.body = body
      known.message.version = version
      known.message.parts.length = Math.min(known.message.parts.length, parts)
      return
    }
    const { id } = this.session.info
    // The caller, which knows the chain of segments, sets `origin`.
    const message: PlainMessage = { origin: "", writer: id, body, version, sealed: false, parts: [] }
    this.open = { chain, position, message }
  }

  #takeRows(line: CommitLine): void {
    const { session } = this
    const { v } = line
    if (line.todos) {
      session.todos = line.todos
      session.todosVersion = v
    }
    for (const [index, request] of (line.permissions ?? []).entries()) {
      const known = session.permissions.find((permission) => permission.request.id === request.id)
      if (known) Object.assign(known, { request, version: v })
      else {
        const serial = line.asked?.[index] ?? session.permissions.length
        session.permissions.push({ request, version: v, serial })
      }
    }
    if (line.admitted || line.taken) session.inboxVersion = v
    for (const item of line.admitted ?? []) session.inbox.push(item)
    for (const [id, item] of line.taken ?? []) {
      session.inbox = session.inbox.filter((candidate) => candidate.id !== id)
      session.taken.set(id, item)
    }
  }
}
