import { StemmaError } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import type { Applied, ChangedSession, PlainSession } from "../../plain/index.ts"
import { type Core, removedName, type TrackedSession } from "../core.ts"
import { rewriteFiles } from "../disk/rewrite.ts"
import {
  type Encoded,
  type EncodeOptions,
  emptyAppendState,
  encodeState,
  encodeTouched,
  encodeWhole,
  markWritten,
} from "../format/encode.ts"
import { folderOf, mainName, stateName } from "../format/header.ts"
import { formatLines } from "../format/lines.ts"
import type { Adoption } from "../format/state-line.ts"
import { estimateSession, messageTokens, questionsOf, sessionBlobs } from "../format/summary.ts"
import type { Append, Batch, SessionChange } from "./journal.ts"

/** A new file of at least this size is written before the journal, and the journal only names it. */
const draftBytesMin = 64 * 1024

/** Collects the changes of one batch to the files, and how to roll them back. */
export class BatchDraft {
  readonly #core: Core
  readonly #appends = new Map<string, Append>()
  readonly #sessions = new Map<string, { tracked: TrackedSession; summary: boolean } | null>()
  readonly #undo: (() => void)[] = []
  readonly #before = new Map<TrackedSession, Partial<TrackedSession>>()
  readonly #deletes: string[] = []
  readonly #tombstones: NonNullable<Batch["tombstones"]> = []
  /** The new content of files that are replaced or created as a whole. */
  readonly newFiles = new Map<string, string>()
  /** The sessions that watchers are notified of. */
  readonly changedIDs = new Set<string>()
  /** Functions to call after the batch is in the files. */
  readonly afterCommit: (() => void)[] = []
  /** True if the journal must be cleared after this batch, because it contains redacted content. */
  clearsJournal = false
  /** Why the batch cannot be written: a change could not be encoded. */
  failure: unknown

  constructor(core: Core) {
    this.#core = core
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.newFiles.size === 0 && this.#deletes.length === 0
  }

  /** Appends lines to one of a session's files. */
  append(tracked: TrackedSession, kind: "main" | "state", text: string): void {
    if (text === "") return
    this.#markChanged(tracked, { summary: false })
    const file = kind === "main" ? this.#core.mainFile(tracked) : this.#core.stateFile(tracked)
    let lines = text
    if (kind === "main" && tracked.appendState?.unended) {
      tracked.appendState.unended = false
      lines = `\n${text}`
    }
    const whole = this.newFiles.get(file)
    const known = this.#appends.get(file)
    if (whole !== undefined) this.newFiles.set(file, whole + lines)
    else if (known) known.text += lines
    else this.#appends.set(file, { file, at: tracked[kind], text: lines })
    tracked[kind] += Buffer.byteLength(lines)
  }

  /** Adds a function that a rollback calls. */
  onUndo(step: () => void): void {
    this.#undo.push(step)
  }

  /** True if the batch changes the session, so that its files do not match memory yet. */
  has(tracked: TrackedSession): boolean {
    return this.#sessions.has(tracked.id)
  }

  /** Adds a change of the plain state: encodes everything that it changed. */
  addChange(applied: Applied): void {
    this.onUndo(() => applied.rollback())
    try {
      this.#takeTouched(applied)
    } catch (error) {
      this.failure = error
      throw error
    }
  }

  #takeTouched({ version, changed, removed }: Applied): void {
    for (const [id, changedSession] of changed) {
      if (removed.includes(id)) continue
      if (changedSession.created) this.#create(changedSession, version)
      else if (changedSession.redacted) this.#rewrite(changedSession)
      else this.#change(changedSession, { version })
      if (!changedSession.session.importing) this.changedIDs.add(id)
    }
    for (const id of removed) this.#remove(id)
  }

  /** Adds the adoption of lines that are already in the main file. Only the state file records it. */
  adopt(applied: Applied, tracked: TrackedSession, adopt: Omit<Adoption, "version"> | undefined): void {
    const { version } = applied
    const changed = applied.changed.get(tracked.id)!
    this.onUndo(() => applied.rollback())
    if (changed.created) {
      const appendState = tracked.appendState!
      if (adopt) appendState.adopted.push({ ...adopt, version })
      markWritten(changed.session, appendState)
      this.#updateFacts(tracked, changed.session)
      this.#markChanged(tracked, { summary: true })
      this.append(
        tracked,
        "state",
        encodeState(changed.session, appendState, { store: this.#core.state.storeID }),
      )
    } else this.#change(changed, { version, adopted: true, ...(adopt ? { adopt } : {}) })
    this.changedIDs.add(tracked.id)
  }

  /** Records the accounted bytes of a session's files in the journal. */
  recordLengths(tracked: TrackedSession): void {
    this.#markChanged(tracked, { summary: false })
  }

  #create({ session }: ChangedSession, version: number): void {
    const core = this.#core
    const { id, agent, forkedFrom } = session.info
    const source = forkedFrom && core.tracked.get(forkedFrom.sessionID)
    const tracked = core.track({ id, folder: folderOf(agent), name: id })
    this.onUndo(() => core.tracked.delete(id))
    tracked.family = source?.family ?? id
    tracked.appendState = emptyAppendState(session, tracked.family)
    const text = encodeWhole(session, tracked.appendState, {
      store: core.state.storeID,
      folder: tracked.folder,
      ...(source ? { parentSession: core.files.path(core.mainFile(source)) } : {}),
      version,
      nowMs: core.clock.now(),
    })
    this.#updateFacts(tracked, session)
    this.#markChanged(tracked, { summary: true })
    for (const kind of ["main", "state"] as const) this.#begin(tracked, kind, text)
  }

  #begin(tracked: TrackedSession, kind: "main" | "state", text: Encoded): void {
    const file = kind === "main" ? this.#core.mainFile(tracked) : this.#core.stateFile(tracked)
    if (text[kind].length < draftBytesMin) this.append(tracked, kind, text[kind])
    else {
      this.newFiles.set(file, text[kind])
      tracked[kind] = Buffer.byteLength(text[kind])
    }
  }

  #change(changed: ChangedSession, options: Omit<EncodeOptions, "nowMs">): void {
    const { session } = changed
    const tracked = this.#requireLoaded(session)
    const text = encodeTouched(changed, tracked.appendState!, {
      ...options,
      nowMs: this.#core.clock.now(),
    })
    this.#markChanged(tracked, { summary: changed.sessionRow || changed.moved || changed.published })
    this.append(tracked, "main", text.main)
    this.append(tracked, "state", text.state)
    this.#updateFactsAfter(tracked, changed)
  }

  /** Encodes both files of a redacted session again. */
  #rewrite({ session, redacted }: ChangedSession): void {
    const core = this.#core
    const tracked = this.#requireLoaded(session)
    const whole = redacted!.positions.length === session.messages.length
    const { main, state } = rewriteFiles(core, tracked, { session, whole })
    this.#markChanged(tracked, { summary: true })
    this.#replace(tracked, "main", main)
    this.#replace(tracked, "state", state)
    this.#updateFacts(tracked, session)
    this.clearsJournal = true
  }

  /** Returns the sessions whose state files have at least this many bytes. */
  longStates(bytesMin: number): string[] {
    return [...this.#sessions].flatMap(([id, marked]) =>
      marked && marked.tracked.state >= bytesMin ? [id] : [],
    )
  }

  /** Replaces a session's state file with a snapshot, if that halves its size. */
  shortenState(tracked: TrackedSession): void {
    const session = this.#core.state.sessions.get(tracked.id)
    if (!session || !tracked.appendState) return
    const text = encodeState(session, tracked.appendState, { store: this.#core.state.storeID })
    if (Buffer.byteLength(text) * 2 > tracked.state) return
    this.#markChanged(tracked, { summary: false })
    this.#replace(tracked, "state", text)
  }

  #replace(tracked: TrackedSession, kind: "main" | "state", text: string): void {
    const file = kind === "main" ? this.#core.mainFile(tracked) : this.#core.stateFile(tracked)
    this.#appends.delete(file)
    this.newFiles.set(file, text)
    tracked[kind] = Buffer.byteLength(text)
  }

  #remove(id: string): void {
    const core = this.#core
    const tracked = core.tracked.get(id)
    const tombstone = core.state.tombstones.get(id)
    if (tombstone) {
      this.#tombstones.push(tombstone)
      this.changedIDs.add(id)
    }
    this.#sessions.set(id, null)
    if (!tracked) return
    core.tracked.delete(id)
    core.staleIndexes.add(tracked.folder)
    this.onUndo(() => core.tracked.set(id, tracked))
    for (const file of [core.mainFile(tracked), core.stateFile(tracked)]) {
      this.#appends.delete(file)
      this.newFiles.delete(file)
      this.#deletes.push(file)
    }
  }

  /** Writes the tombstone file again after old tombstones were dropped. */
  replaceTombstones(): void {
    this.newFiles.set(removedName, formatLines([...this.#core.state.tombstones.values()]))
  }

  /** Returns the batch for the journal. */
  build(): Batch {
    const core = this.#core
    const sessions: Batch["sessions"] = {}
    for (const [id, marked] of this.#sessions) {
      sessions[id] = marked && this.#sessionChange(marked.tracked, marked.summary)
    }
    const appends = [...this.#appends.values()]
    if (this.#tombstones.length > 0 && !this.newFiles.has(removedName)) {
      const at = core.files.stat(removedName)?.size ?? 0
      appends.push({ file: removedName, at, text: formatLines(this.#tombstones) })
    }
    return {
      n: core.journal.n + 1,
      version: core.state.version,
      sessions,
      appends,
      ...(this.newFiles.size > 0
        ? { renames: [...this.newFiles.keys()].map((file) => [this.draftName(file), file]) }
        : {}),
      ...(this.#deletes.length > 0 ? { deletes: this.#deletes } : {}),
      ...(this.#tombstones.length > 0 ? { tombstones: this.#tombstones } : {}),
    }
  }

  /** Returns the name of the temporary file for new content. No other batch uses the same name. */
  draftName(file: string): string {
    return `${file}.${this.#core.journal.n + 1}.tmp`
  }

  /** Undoes all changes, newest first. */
  rollback(): void {
    for (const step of this.#undo.reverse()) step()
    this.#undo.length = 0
    // The append states are ahead of the files now. Unloading the sessions is simpler than keeping a copy of each
    // append state.
    for (const [tracked, fields] of this.#before) {
      Object.assign(tracked, fields)
      if (this.#core.tracked.get(tracked.id) === tracked) this.#core.unload(tracked)
    }
  }

  #sessionChange(tracked: TrackedSession, summary: boolean): SessionChange {
    const { folder, name, main, state } = tracked
    const { seq, newest } = this.#core.state.sessions.get(tracked.id)!
    return {
      folder,
      name,
      seq,
      newest,
      main,
      state,
      ...(summary ? { summary: this.#core.summary(tracked) } : {}),
    }
  }

  #markChanged(tracked: TrackedSession, { summary }: { summary: boolean }): void {
    const core = this.#core
    const known = this.#sessions.get(tracked.id)
    if (known) known.summary ||= summary
    else {
      const { main, state, tokens, blobs, questions, family } = tracked
      this.#sessions.set(tracked.id, { tracked, summary })
      this.#before.set(tracked, { main, state, tokens, blobs, questions, family })
    }
    core.markStale(tracked)
  }

  #requireLoaded(session: PlainSession): TrackedSession {
    const tracked = this.#core.tracked.get(session.info.id)
    if (tracked?.appendState) return tracked
    throw new StemmaError(
      "internal",
      `Session ${session.info.id} was changed before its files were read. Try again.`,
    )
  }

  #updateFacts(tracked: TrackedSession, session: PlainSession): void {
    tracked.tokens = estimateSession(session)
    tracked.blobs = sessionBlobs(session)
    tracked.questions = questionsOf(session)
  }

  #updateFactsAfter(tracked: TrackedSession, changed: ChangedSession): void {
    const { session } = changed
    const rows = changed.parts.size > 0 || changed.messages.size > 0 || changed.inbox || changed.moved
    if (rows && (tracked.blobs.size > 0 || namesBlobs(changed))) {
      const blobs = sessionBlobs(session)
      const same = blobs.size === tracked.blobs.size && blobs.isSubsetOf(tracked.blobs)
      tracked.blobs = blobs
      if (!same) this.#markChanged(tracked, { summary: true })
    }
    if (changed.permissions.size > 0) {
      const before = tracked.questions
      tracked.questions = questionsOf(session)
      if (tracked.questions !== before) this.#markChanged(tracked, { summary: true })
    }
    const sealed = [...changed.sealed].map((position) => session.messages[position])
    const simple = sealed.every((message) => message?.parts.every((part) => part.body.type !== "compaction"))
    if (changed.moved || !simple) tracked.tokens = estimateSession(session)
    else for (const message of sealed) if (message) tracked.tokens += messageTokens(message)
  }
}

/** True if a changed part or a waiting inbox item refers to a blob. */
function namesBlobs({ session, parts, inbox }: ChangedSession): boolean {
  const named = [...parts].some((key) => {
    const [position, index] = key.split("/").map(Number) as [number, number]
    const part = session.messages[position]?.parts[index]
    return part !== undefined && blobRefs(part.body).length > 0
  })
  const waiting = inbox ? session.inbox.flatMap((item) => (item.type === "prompt" ? item.parts : [])) : []
  return named || waiting.some((part) => blobRefs(part).length > 0)
}

/** True if a file with the name of a new session's file exists already. */
export function hasFileConflict(core: Core, session: { id: string; agent?: string }): boolean {
  const folder = folderOf(session.agent)
  const names = [mainName(session.id), stateName(session.id)]
  return (
    !core.tracked.has(session.id) && names.some((name) => core.files.stat(`${folder}/${name}`) !== undefined)
  )
}
