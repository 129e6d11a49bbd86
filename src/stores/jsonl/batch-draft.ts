import { StemmaError } from "../../protocol/index.ts"
import { blobRefs } from "../../session/blob-refs.ts"
import type { Applied, PlainSession, Touched } from "../plain/index.ts"
import { type Core, type Entry, removedName } from "./core.ts"
import { emptyBook, type Encoded, encodeTouched, encodeWhole } from "./encode.ts"
import { folderOf, mainName, stateName } from "./header.ts"
import type { Append, Batch, SessionChange } from "./journal.ts"
import { formatLines } from "./lines.ts"
import { rewriteMain } from "./rewrite.ts"
import type { Adoption } from "./state-line.ts"
import { estimateSession, messageTokens, sessionBlobs } from "./summary.ts"

/** A new file this long is written before the journal, which then only names it. */
const draftBytesMin = 64 * 1024

/** Collects what the commits of one turn do to the files, and how to take it back. */
export class BatchDraft {
  readonly #core: Core
  readonly #appends = new Map<string, Append>()
  readonly #sessions = new Map<string, { entry: Entry; summary: boolean } | null>()
  readonly #undo: (() => void)[] = []
  readonly #deletes: string[] = []
  readonly #tombstones: NonNullable<Batch["tombstones"]> = []
  /** New contents of whole files. */
  readonly wholes = new Map<string, string>()
  /** Sessions to tell watchers about. */
  readonly touched = new Set<string>()
  /** To be called when the batch is in the files. */
  readonly done: (() => void)[] = []
  /** True if what the journal says must not stay there: it holds content that was redacted. */
  purge = false

  constructor(core: Core) {
    this.#core = core
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.wholes.size === 0 && this.#deletes.length === 0
  }

  /** Puts lines at the end of one of a session's files. */
  append(entry: Entry, kind: "main" | "state", text: string): void {
    if (text === "") return
    this.#mark(entry, { summary: false })
    const file = kind === "main" ? this.#core.mainFile(entry) : this.#core.stateFile(entry)
    let lines = text
    if (kind === "main" && entry.book?.unended) {
      entry.book.unended = false
      lines = `\n${text}`
    }
    const whole = this.wholes.get(file)
    const known = this.#appends.get(file)
    if (whole !== undefined) this.wholes.set(file, whole + lines)
    else if (known) known.text += lines
    else this.#appends.set(file, { file, at: entry[kind], text: lines })
    entry[kind] += Buffer.byteLength(lines)
  }

  /** Notes that a session changed in a way that lists show. */
  summarize(entry: Entry): void {
    this.#mark(entry, { summary: true })
  }

  onUndo(step: () => void): void {
    this.#undo.push(step)
  }

  /** Takes in a change of the plain state: all that it touched becomes lines. */
  take(applied: Applied, options: { adopt?: { id: string; adoption: Omit<Adoption, "version"> } } = {}): void {
    const { version } = applied
    this.onUndo(() => applied.rollback())
    for (const [id, touched] of applied.touched) {
      if (applied.removed.includes(id)) continue
      const adopt = options.adopt?.id === id ? options.adopt.adoption : undefined
      if (touched.created && !adopt) this.#create(touched, version)
      else if (touched.redacted) this.#rewrite(touched)
      else this.#change(touched, { version, adopt })
      if (!touched.session.importing) this.touched.add(id)
    }
    for (const id of applied.removed) this.#remove(id)
  }

  #create({ session }: Touched, version: number): void {
    const core = this.#core
    const { id, agent, forkedFrom } = session.info
    const source = forkedFrom && core.entries.get(forkedFrom.sessionID)
    const entry = core.addEntry({ id, folder: folderOf(agent), name: id })
    this.onUndo(() => core.entries.delete(id))
    entry.family = source?.family ?? id
    entry.book = emptyBook(session, entry.family)
    const text = encodeWhole(session, entry.book, {
      store: core.state.storeID,
      folder: entry.folder,
      ...(source ? { parentSession: core.files.path(core.mainFile(source)) } : {}),
      version,
      nowMs: core.clock.now(),
    })
    this.#count(entry, session)
    this.#mark(entry, { summary: true })
    for (const kind of ["main", "state"] as const) this.#begin(entry, kind, text)
  }

  #begin(entry: Entry, kind: "main" | "state", text: Encoded): void {
    const file = kind === "main" ? this.#core.mainFile(entry) : this.#core.stateFile(entry)
    if (text[kind].length < draftBytesMin) return this.append(entry, kind, text[kind])
    this.wholes.set(file, text[kind])
    entry[kind] = Buffer.byteLength(text[kind])
  }

  #change(touched: Touched, options: { version: number; adopt: Omit<Adoption, "version"> | undefined }): void {
    const { session } = touched
    const entry = this.#entryOf(session)
    const text = encodeTouched(touched, entry.book!, { ...options, nowMs: this.#core.clock.now() })
    this.#mark(entry, { summary: touched.info || touched.moved || touched.published })
    this.append(entry, "main", text.main)
    this.append(entry, "state", text.state)
    this.#recount(entry, touched)
  }

  /** Content was replaced in place: both files are written again. */
  #rewrite({ session }: Touched): void {
    const core = this.#core
    const entry = this.#entryOf(session)
    const { main, state } = rewriteMain(core, entry, session)
    this.#mark(entry, { summary: true })
    this.#replace(entry, "main", main)
    this.#replace(entry, "state", state)
    this.#count(entry, session)
    this.purge = true
  }

  /** Gives one of a session's files a whole new content. */
  replaceState(entry: Entry, text: string): void {
    this.#mark(entry, { summary: false })
    this.#replace(entry, "state", text)
  }

  #replace(entry: Entry, kind: "main" | "state", text: string): void {
    const file = kind === "main" ? this.#core.mainFile(entry) : this.#core.stateFile(entry)
    this.#appends.delete(file)
    this.wholes.set(file, text)
    entry[kind] = Buffer.byteLength(text)
  }

  #remove(id: string): void {
    const core = this.#core
    const entry = core.entries.get(id)
    const tombstone = core.state.tombstones.get(id)
    if (tombstone) {
      this.#tombstones.push(tombstone)
      this.touched.add(id)
    }
    this.#sessions.set(id, null)
    if (!entry) return
    core.entries.delete(id)
    core.staleIndexes.add(entry.folder)
    this.onUndo(() => core.entries.set(id, entry))
    for (const file of [core.mainFile(entry), core.stateFile(entry)]) {
      this.#appends.delete(file)
      this.wholes.delete(file)
      this.#deletes.push(file)
    }
  }

  /** Forgets old tombstones: their file is written again. */
  replaceTombstones(): void {
    this.wholes.set(removedName, formatLines([...this.#core.state.tombstones.values()]))
  }

  /** What the journal says of all this. */
  build(): Batch {
    const core = this.#core
    const sessions: Batch["sessions"] = {}
    for (const [id, marked] of this.#sessions) {
      sessions[id] = marked && this.#sessionChange(marked.entry, marked.summary)
    }
    const appends = [...this.#appends.values()]
    if (this.#tombstones.length > 0 && !this.wholes.has(removedName)) {
      const at = core.files.stat(removedName)?.size ?? 0
      appends.push({ file: removedName, at, text: formatLines(this.#tombstones) })
    }
    return {
      n: core.journal.n + 1,
      version: core.state.version,
      sessions,
      appends,
      ...(this.wholes.size > 0 ? { renames: [...this.wholes.keys()].map((file) => [draftOf(file), file]) } : {}),
      ...(this.#deletes.length > 0 ? { deletes: this.#deletes } : {}),
      ...(this.#tombstones.length > 0 ? { tombstones: this.#tombstones } : {}),
    }
  }

  /** Takes everything back, newest first. */
  rollback(): void {
    for (const step of this.#undo.reverse()) step()
    this.#undo.length = 0
  }

  #sessionChange(entry: Entry, summary: boolean): SessionChange {
    const { folder, name, main, state } = entry
    const { seq, newest } = this.#core.state.sessions.get(entry.id)!
    return { folder, name, seq, newest, main, state, ...(summary ? { summary: this.#core.summary(entry) } : {}) }
  }

  #mark(entry: Entry, { summary }: { summary: boolean }): void {
    const core = this.#core
    const known = this.#sessions.get(entry.id)
    if (known) known.summary ||= summary
    else {
      const { main, state, tokens, blobs, family } = entry
      this.#sessions.set(entry.id, { entry, summary })
      // The book is ahead of the files then; reading them again is simpler than keeping two books.
      this.onUndo(() => {
        Object.assign(entry, { main, state, tokens, blobs, family })
        if (core.entries.get(entry.id) === entry) core.unload(entry)
      })
    }
    core.staleIndexes.add(entry.folder)
  }

  #entryOf(session: PlainSession): Entry {
    const entry = this.#core.entries.get(session.info.id)
    if (entry?.book) return entry
    throw new StemmaError("internal", `Session ${session.info.id} was changed before it was read. Try again.`)
  }

  #count(entry: Entry, session: PlainSession): void {
    entry.tokens = estimateSession(session)
    entry.blobs = sessionBlobs(session)
  }

  #recount(entry: Entry, touched: Touched): void {
    const { session } = touched
    const refs = [...touched.parts].flatMap((place) => {
      const [position, index] = place.split("/").map(Number) as [number, number]
      const part = session.messages[position]?.parts[index]
      return part ? blobRefs(part.body) : []
    })
    const rows = touched.parts.size > 0 || touched.messages.size > 0 || touched.inbox || touched.moved
    if (refs.length > 0 || (rows && (entry.blobs.size > 0 || touched.inbox))) {
      const blobs = sessionBlobs(session)
      const same = blobs.size === entry.blobs.size && blobs.isSubsetOf(entry.blobs)
      entry.blobs = blobs
      if (!same) this.#mark(entry, { summary: true })
    }
    const sealed = [...touched.sealed].map((position) => session.messages[position])
    const simple = sealed.every((message) => message?.parts.every((part) => part.body.type !== "compaction"))
    if (touched.moved || !simple) entry.tokens = estimateSession(session)
    else for (const message of sealed) if (message) entry.tokens += messageTokens(message)
  }
}

/** The name under which a whole new file waits for its place. */
export function draftOf(file: string): string {
  return `${file}.tmp`
}

/** True if a file of that name would be in the way of a new session. */
export function isInTheWay(core: Core, session: { id: string; agent?: string }): boolean {
  const folder = folderOf(session.agent)
  const names = [mainName(session.id), stateName(session.id)]
  return !core.entries.has(session.id) && names.some((name) => core.files.stat(`${folder}/${name}`) !== undefined)
}
