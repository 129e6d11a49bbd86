import type { Clock } from "../../protocol/index.ts"
import { StemmaError } from "../../protocol/index.ts"
import { createState, keyName, type PlainSession, type PlainState, type Tombstone } from "../plain/index.ts"
import type { Holder } from "../store.ts"
import type { Book } from "./book.ts"
import type { Files } from "./files.ts"
import { mainName, stateName } from "./header.ts"
import { Journal } from "./journal.ts"
import { shellOf, type Summary, summarize } from "./summary.ts"
import { Watchers } from "./watchers.ts"

/** Where the ids of removed sessions are kept. */
export const removedName = "removed.jsonl"

/** What the driver knows of a session beside what the plain model knows. */
export interface Entry {
  readonly id: string
  /** `agents/{agentId}/sessions`, and the name of the files in it without their endings. */
  readonly folder: string
  readonly name: string
  /** How many bytes of its files are accounted for; whatever follows is somebody else's, or torn. */
  main: number
  state: number
  family: string
  tokens: number
  blobs: Set<string>
  /** There while the session's messages are in memory. */
  book: Book | undefined
  loading: Promise<void> | undefined
  /** When it was last asked for, for dropping what nobody asks for. */
  usedAt: number
  /** Why its files cannot be read. */
  problem: StemmaError | undefined
}

export interface CoreOptions {
  files: Files
  storeID: string
  clock: Clock
  holder: Holder
  durability: "normal" | "full"
  readOnly: boolean
  onWarning: (warning: string) => void
}

/** Everything that the parts of the driver share. Sessions that are not loaded are in the state as shells. */
export class Core {
  readonly files: Files
  readonly journal: Journal
  readonly state: PlainState
  readonly clock: Clock
  readonly holder: Holder
  readonly full: boolean
  readonly readOnly: boolean
  readonly watchers = new Watchers()
  readonly entries = new Map<string, Entry>()
  /** Folders whose index no longer tells what is so. */
  readonly staleIndexes = new Set<string>()
  /** Files that were written since the journal was begun, and may not be synced. */
  readonly unsynced = new Set<string>()
  /** What was found torn and cut, for `check`. */
  readonly warnings: string[] = []
  /** True if the newest batch may not be in the files: then it is done again before the next one. */
  undone = false
  /** True if foreign lines were adopted in memory only, since nothing may be written. */
  provisional = false
  readonly #onWarning: (warning: string) => void

  constructor(options: CoreOptions) {
    this.files = options.files
    this.journal = new Journal(options.files)
    this.state = createState(options.storeID)
    this.clock = options.clock
    this.holder = options.holder
    this.full = options.durability === "full"
    this.readOnly = options.readOnly
    this.#onWarning = options.onWarning
  }

  warn(warning: string): void {
    this.warnings.push(warning)
    if (this.warnings.length > 100) this.warnings.shift()
    this.#onWarning(warning)
  }

  mainFile(entry: Pick<Entry, "folder" | "name">): string {
    return `${entry.folder}/${mainName(entry.name)}`
  }

  stateFile(entry: Pick<Entry, "folder" | "name">): string {
    return `${entry.folder}/${stateName(entry.name)}`
  }

  addEntry(place: { id: string; folder: string; name: string }): Entry {
    const entry: Entry = {
      ...place,
      main: 0,
      state: 0,
      family: place.id,
      tokens: 0,
      blobs: new Set(),
      book: undefined,
      loading: undefined,
      usedAt: 0,
      problem: undefined,
    }
    this.entries.set(place.id, entry)
    return entry
  }

  /** Puts a session as far as its summary tells, in place of what is there. */
  putShell(entry: Entry, summary: Summary): void {
    entry.family = summary.family
    entry.tokens = summary.tokens
    entry.blobs = new Set(summary.blobs)
    entry.book = undefined
    this.putSession(shellOf(summary))
    for (const { segment } of summary.chain) this.state.segments.add(segment)
  }

  /** Puts a session into the state, in place of the one that is there. */
  putSession(session: PlainSession): void {
    const { id } = session.info
    this.#dropKey(id)
    const key = keyName(session.info)
    if (key !== undefined) this.state.keys.set(key, id)
    this.state.sessions.set(id, session)
    this.state.version = Math.max(this.state.version, session.newest)
  }

  summary(entry: Entry): Summary {
    return summarize(this.state.sessions.get(entry.id)!, entry)
  }

  /** Forgets the messages of a session; the next use reads them again. */
  unload(entry: Entry): void {
    if (!this.state.sessions.has(entry.id)) return
    this.putShell(entry, this.summary(entry))
  }

  /** Forgets a session that is gone. */
  drop(id: string): void {
    const entry = this.entries.get(id)
    this.#dropKey(id)
    this.state.sessions.delete(id)
    this.entries.delete(id)
    if (entry) this.staleIndexes.add(entry.folder)
  }

  bury(tombstones: Iterable<Tombstone>): void {
    for (const tombstone of tombstones) {
      this.state.tombstones.set(tombstone.sessionID, tombstone)
      this.state.version = Math.max(this.state.version, tombstone.version)
    }
  }

  /** The session's row changed in place: its key may be another one now. */
  rekey(session: PlainSession, before: string | undefined): void {
    const after = keyName(session.info)
    if (before === after) return
    if (before !== undefined && this.state.keys.get(before) === session.info.id) this.state.keys.delete(before)
    if (after !== undefined) this.state.keys.set(after, session.info.id)
  }

  #dropKey(id: string): void {
    const known = this.state.sessions.get(id)
    const key = known && keyName(known.info)
    if (key !== undefined && this.state.keys.get(key) === id) this.state.keys.delete(key)
  }
}

export function damaged(file: string, why: string): StemmaError {
  return new StemmaError("internal", `${file} ${why}. Restore it from a copy, or remove the session.`, {
    details: { file },
  })
}
