import { StemmaError } from "../../../protocol/index.ts"
import { blobRefs } from "../../../session/history/blob-refs.ts"
import type { Applied, ChangedSession, PlainSession } from "../../plain/index.ts"
import { type Core, type Entry, removedName } from "../core.ts"
import { rewriteFiles } from "../disk/rewrite.ts"
import {
  type Encoded,
  type EncodeOptions,
  emptyBook,
  encodeState,
  encodeTouched,
  encodeWhole,
  settle,
} from "../format/encode.ts"
import { folderOf, mainName, stateName } from "../format/header.ts"
import { formatLines } from "../format/lines.ts"
import type { Adoption } from "../format/state-line.ts"
import { estimateSession, messageTokens, questionsOf, sessionBlobs } from "../format/summary.ts"
import type { Append, Batch, SessionChange } from "./journal.ts"

/** A new file this long is written before the journal, which then only names it. */
const draftBytesMin = 64 * 1024

/** Collects what the commits of one turn do to the files, and how to take it back. */
export class BatchDraft {
  readonly #core: Core
  readonly #appends = new Map<string, Append>()
  readonly #sessions = new Map<string, { replicaPart: Entry; summary: boolean } | null>()
  readonly #undo: (() => void)[] = []
  readonly #before = new Map<Entry, Partial<Entry>>()
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
  /** Why the batch cannot be written: a change was made that could not be turned into lines. */
  failure: unknown

  constructor(core: Core) {
    this.#core = core
  }

  get isEmpty(): boolean {
    return this.#sessions.size === 0 && this.wholes.size === 0 && this.#deletes.length === 0
  }

  /** Puts lines at the end of one of a session's files. */
  append(replicaPart: Entry, kind: "main" | "state", text: string): void {
    if (text === "") return
    this.#mark(replicaPart, { summary: false })
    const file = kind === "main" ? this.#core.mainFile(replicaPart) : this.#core.stateFile(replicaPart)
    let lines = text
    if (kind === "main" && replicaPart.appendState?.unended) {
      replicaPart.appendState.unended = false
      lines = `\n${text}`
    }
    const whole = this.wholes.get(file)
    const known = this.#appends.get(file)
    if (whole !== undefined) this.wholes.set(file, whole + lines)
    else if (known) known.text += lines
    else this.#appends.set(file, { file, at: replicaPart[kind], text: lines })
    replicaPart[kind] += Buffer.byteLength(lines)
  }

  /** Something to be done when everything is taken back. */
  onUndo(step: () => void): void {
    this.#undo.push(step)
  }

  /** True if the batch changes the session: then its files are not what memory says. */
  has(replicaPart: Entry): boolean {
    return this.#sessions.has(replicaPart.id)
  }

  /** Takes in a change of the plain state: all that it touched becomes lines. */
  take(applied: Applied): void {
    this.onUndo(() => applied.rollback())
    try {
      this.#takeTouched(applied)
    } catch (error) {
      this.failure = error
      throw error
    }
  }

  #takeTouched({ version, changed, removed }: Applied): void {
    for (const [id, one] of changed) {
      if (removed.includes(id)) continue
      if (one.created) this.#create(one, version)
      else if (one.redacted) this.#rewrite(one)
      else this.#change(one, { version })
      if (!one.session.importing) this.touched.add(id)
    }
    for (const id of removed) this.#remove(id)
  }

  /** Takes in what another program wrote into a session's main file: only the state file has to say so. */
  adopt(applied: Applied, replicaPart: Entry, adopt: Omit<Adoption, "version"> | undefined): void {
    const { version } = applied
    const changed = applied.changed.get(replicaPart.id)!
    this.onUndo(() => applied.rollback())
    if (changed.created) {
      const appendState = replicaPart.appendState!
      if (adopt) appendState.adopted.push({ ...adopt, version })
      settle(changed.session, appendState)
      this.#count(replicaPart, changed.session)
      this.#mark(replicaPart, { summary: true })
      this.append(
        replicaPart,
        "state",
        encodeState(changed.session, appendState, { store: this.#core.state.storeID }),
      )
    } else this.#change(changed, { version, adopted: true, ...(adopt ? { adopt } : {}) })
    this.touched.add(replicaPart.id)
  }

  /** Notes how much of a session's files is accounted for. */
  account(replicaPart: Entry): void {
    this.#mark(replicaPart, { summary: false })
  }

  #create({ session }: ChangedSession, version: number): void {
    const core = this.#core
    const { id, agent, forkedFrom } = session.info
    const source = forkedFrom && core.entries.get(forkedFrom.sessionID)
    const replicaPart = core.addEntry({ id, folder: folderOf(agent), name: id })
    this.onUndo(() => core.entries.delete(id))
    replicaPart.family = source?.family ?? id
    replicaPart.appendState = emptyBook(session, replicaPart.family)
    const text = encodeWhole(session, replicaPart.appendState, {
      store: core.state.storeID,
      folder: replicaPart.folder,
      ...(source ? { parentSession: core.files.path(core.mainFile(source)) } : {}),
      version,
      nowMs: core.clock.now(),
    })
    this.#count(replicaPart, session)
    this.#mark(replicaPart, { summary: true })
    for (const kind of ["main", "state"] as const) this.#begin(replicaPart, kind, text)
  }

  #begin(replicaPart: Entry, kind: "main" | "state", text: Encoded): void {
    const file = kind === "main" ? this.#core.mainFile(replicaPart) : this.#core.stateFile(replicaPart)
    if (text[kind].length < draftBytesMin) this.append(replicaPart, kind, text[kind])
    else {
      this.wholes.set(file, text[kind])
      replicaPart[kind] = Buffer.byteLength(text[kind])
    }
  }

  #change(changed: ChangedSession, options: Omit<EncodeOptions, "nowMs">): void {
    const { session } = changed
    const replicaPart = this.#entryOf(session)
    const text = encodeTouched(changed, replicaPart.appendState!, {
      ...options,
      nowMs: this.#core.clock.now(),
    })
    this.#mark(replicaPart, { summary: changed.sessionRow || changed.moved || changed.published })
    this.append(replicaPart, "main", text.main)
    this.append(replicaPart, "state", text.state)
    this.#recount(replicaPart, changed)
  }

  /** Content was replaced in place: both files are written again. */
  #rewrite({ session, redacted }: ChangedSession): void {
    const core = this.#core
    const replicaPart = this.#entryOf(session)
    const whole = redacted!.positions.length === session.messages.length
    const { main, state } = rewriteFiles(core, replicaPart, { session, whole })
    this.#mark(replicaPart, { summary: true })
    this.#replace(replicaPart, "main", main)
    this.#replace(replicaPart, "state", state)
    this.#count(replicaPart, session)
    this.purge = true
  }

  /** Sessions whose state files have become long. */
  longStates(bytesMin: number): string[] {
    return [...this.#sessions].flatMap(([id, marked]) =>
      marked && marked.replicaPart.state >= bytesMin ? [id] : [],
    )
  }

  /** Writes a session's state file from the beginning, if that makes it much shorter. */
  shortenState(replicaPart: Entry): void {
    const session = this.#core.state.sessions.get(replicaPart.id)
    if (!session || !replicaPart.appendState) return
    const text = encodeState(session, replicaPart.appendState, { store: this.#core.state.storeID })
    if (Buffer.byteLength(text) * 2 > replicaPart.state) return
    this.#mark(replicaPart, { summary: false })
    this.#replace(replicaPart, "state", text)
  }

  #replace(replicaPart: Entry, kind: "main" | "state", text: string): void {
    const file = kind === "main" ? this.#core.mainFile(replicaPart) : this.#core.stateFile(replicaPart)
    this.#appends.delete(file)
    this.wholes.set(file, text)
    replicaPart[kind] = Buffer.byteLength(text)
  }

  #remove(id: string): void {
    const core = this.#core
    const replicaPart = core.entries.get(id)
    const tombstone = core.state.tombstones.get(id)
    if (tombstone) {
      this.#tombstones.push(tombstone)
      this.touched.add(id)
    }
    this.#sessions.set(id, null)
    if (!replicaPart) return
    core.entries.delete(id)
    core.staleIndexes.add(replicaPart.folder)
    this.onUndo(() => core.entries.set(id, replicaPart))
    for (const file of [core.mainFile(replicaPart), core.stateFile(replicaPart)]) {
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
      sessions[id] = marked && this.#sessionChange(marked.replicaPart, marked.summary)
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
      ...(this.wholes.size > 0
        ? { renames: [...this.wholes.keys()].map((file) => [this.draftOf(file), file]) }
        : {}),
      ...(this.#deletes.length > 0 ? { deletes: this.#deletes } : {}),
      ...(this.#tombstones.length > 0 ? { tombstones: this.#tombstones } : {}),
    }
  }

  /** The name under which a whole new file waits for its place; no other batch uses the same. */
  draftOf(file: string): string {
    return `${file}.${this.#core.journal.n + 1}.tmp`
  }

  /** Takes everything back, newest first. */
  rollback(): void {
    for (const step of this.#undo.reverse()) step()
    this.#undo.length = 0
    // The books are ahead of the files now; reading those again is simpler than keeping two books.
    for (const [replicaPart, fields] of this.#before) {
      Object.assign(replicaPart, fields)
      if (this.#core.entries.get(replicaPart.id) === replicaPart) this.#core.unload(replicaPart)
    }
  }

  #sessionChange(replicaPart: Entry, summary: boolean): SessionChange {
    const { folder, name, main, state } = replicaPart
    const { seq, newest } = this.#core.state.sessions.get(replicaPart.id)!
    return {
      folder,
      name,
      seq,
      newest,
      main,
      state,
      ...(summary ? { summary: this.#core.summary(replicaPart) } : {}),
    }
  }

  #mark(replicaPart: Entry, { summary }: { summary: boolean }): void {
    const core = this.#core
    const known = this.#sessions.get(replicaPart.id)
    if (known) known.summary ||= summary
    else {
      const { main, state, tokens, blobs, questions, family } = replicaPart
      this.#sessions.set(replicaPart.id, { replicaPart, summary })
      this.#before.set(replicaPart, { main, state, tokens, blobs, questions, family })
    }
    core.stale(replicaPart)
  }

  #entryOf(session: PlainSession): Entry {
    const replicaPart = this.#core.entries.get(session.info.id)
    if (replicaPart?.appendState) return replicaPart
    throw new StemmaError("internal", `Session ${session.info.id} was changed before it was read. Try again.`)
  }

  #count(replicaPart: Entry, session: PlainSession): void {
    replicaPart.tokens = estimateSession(session)
    replicaPart.blobs = sessionBlobs(session)
    replicaPart.questions = questionsOf(session)
  }

  #recount(replicaPart: Entry, changed: ChangedSession): void {
    const { session } = changed
    const rows = changed.parts.size > 0 || changed.messages.size > 0 || changed.inbox || changed.moved
    if (rows && (replicaPart.blobs.size > 0 || namesBlobs(changed))) {
      const blobs = sessionBlobs(session)
      const same = blobs.size === replicaPart.blobs.size && blobs.isSubsetOf(replicaPart.blobs)
      replicaPart.blobs = blobs
      if (!same) this.#mark(replicaPart, { summary: true })
    }
    if (changed.permissions.size > 0) {
      const before = replicaPart.questions
      replicaPart.questions = questionsOf(session)
      if (replicaPart.questions !== before) this.#mark(replicaPart, { summary: true })
    }
    const sealed = [...changed.sealed].map((position) => session.messages[position])
    const simple = sealed.every((message) => message?.parts.every((part) => part.body.type !== "compaction"))
    if (changed.moved || !simple) replicaPart.tokens = estimateSession(session)
    else for (const message of sealed) if (message) replicaPart.tokens += messageTokens(message)
  }
}

/** True if a part that changed, or an item that waits, names a blob. */
function namesBlobs({ session, parts, inbox }: ChangedSession): boolean {
  const named = [...parts].some((place) => {
    const [position, index] = place.split("/").map(Number) as [number, number]
    const part = session.messages[position]?.parts[index]
    return part !== undefined && blobRefs(part.body).length > 0
  })
  const waiting = inbox ? session.inbox.flatMap((item) => (item.type === "prompt" ? item.parts : [])) : []
  return named || waiting.some((part) => blobRefs(part).length > 0)
}

/** True if a file of that name would be in the way of a new session. */
export function isInTheWay(core: Core, session: { id: string; agent?: string }): boolean {
  const folder = folderOf(session.agent)
  const names = [mainName(session.id), stateName(session.id)]
  return (
    !core.entries.has(session.id) && names.some((name) => core.files.stat(`${folder}/${name}`) !== undefined)
  )
}
