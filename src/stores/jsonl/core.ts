import type { Clock } from "../../protocol/index.ts"
import { StemmaError } from "../../protocol/index.ts"
import { encodeCursor } from "../cursor.ts"
import { createState, namesOf, type PlainSession, type PlainState, type Tombstone } from "../plain/index.ts"
import type { Holder } from "../store.ts"
import { Watchers } from "../watchers.ts"
import type { Unsettled } from "./catalog/catalog.ts"
import type { Files } from "./disk/files.ts"
import { mainName, stateName } from "./format/header.ts"
import { type Questions, type Summary, shellOf, summarize } from "./format/summary.ts"
import type { AppendState } from "./journal/append-state.ts"
import { Journal } from "./journal/journal.ts"

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
  /** Undefined if only its files tell. */
  questions: Questions | undefined
  /** There while the session's messages are in memory. */
  appendState: AppendState | undefined
  loading: Promise<void> | undefined
  /** When it was last asked for, and by how many just now: for dropping what nobody asks for. */
  usedAt: number
  pins: number
  /** How long the main file was when somebody last looked whether there is something to adopt. */
  seen: number
  /** Why its files cannot be read. */
  problem: StemmaError | undefined
  /** Its line in the index, as long as nothing changes. */
  indexLine: string | undefined
}

interface CoreOptions {
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
  journal: Journal
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
  /** True if the newest batch may not be in the files: then it is done again before the next one. */
  undone = false
  /** When sessions that nobody asks for were last dropped from memory. */
  droppedAt = 0
  /** True if foreign lines were adopted in memory only, since nothing may be written. */
  provisional = false
  /** What was told last about a file that has something wrong. */
  #told = new Map<string, string>()
  /** Main files of sessions that were known and are gone, though nobody removed the sessions. */
  readonly lost = new Set<string>()
  /** Files among the sessions that are none, and how they looked. */
  readonly strangers = new Map<string, string>()
  /** Files that others wrote, found and not yet taken in. */
  unsettled: Unsettled = { foreign: [], grown: [] }
  readonly #options: CoreOptions

  constructor(options: CoreOptions) {
    this.#options = options
    this.files = options.files
    this.journal = new Journal(options.files)
    this.state = createState(options.storeID)
    this.clock = options.clock
    this.holder = options.holder
    this.full = options.durability === "full"
    this.readOnly = options.readOnly
  }

  /** Another core on the same files that knows nothing yet. */
  blank(): Core {
    const core = new Core(this.#options)
    core.#told = this.#told
    return core
  }

  /** Knows from now on what the other one knows, and tells the watchers of every session that differs. */
  become(other: Core): void {
    const before = new Map([...this.state.sessions].map(([id, { newest }]) => [id, newest]))
    const { sessions, tombstones, names, segments } = other.state
    this.journal.close()
    this.journal = other.journal
    this.state.version = other.state.version
    Object.assign(this.state, { sessions, tombstones, names })
    for (const segment of segments) this.state.segments.add(segment)
    replaceAll(this.entries, other.entries)
    for (const folder of other.staleIndexes) this.staleIndexes.add(folder)
    for (const file of other.unsynced) this.unsynced.add(file)
    for (const file of other.lost) this.lost.add(file)
    for (const [file, stamp] of other.strangers) this.strangers.set(file, stamp)
    this.unsettled = other.unsettled
    this.provisional = other.provisional
    const gone = [...before.keys()].filter((id) => !sessions.has(id))
    const changed = [...sessions].filter(
      ([id, session]) => session.newest !== before.get(id) && !session.importing,
    )
    const ids = [...gone, ...changed.map(([id]) => id)]
    this.watchers.notify(encodeCursor(this.state.storeID, this.state.version), ids)
  }

  warn(warning: string): void {
    this.#options.onWarning(warning)
  }

  /** Warns of something that stays as it is for a while: once, until there is something else to say of the file. */
  warnOnce(file: string, warning: string): void {
    if (this.#told.get(file) === warning) return
    this.#told.set(file, warning)
    this.warn(warning)
  }

  mainFile(entry: Pick<Entry, "folder" | "name">): string {
    return `${entry.folder}/${mainName(entry.name)}`
  }

  stateFile(entry: Pick<Entry, "folder" | "name">): string {
    return `${entry.folder}/${stateName(entry.name)}`
  }

  addEntry(place: { id: string; folder: string; name: string }): Entry {
    const replicaPart: Entry = {
      ...place,
      main: 0,
      state: 0,
      family: place.id,
      tokens: 0,
      blobs: new Set(),
      questions: undefined,
      appendState: undefined,
      loading: undefined,
      usedAt: 0,
      pins: 0,
      seen: 0,
      problem: undefined,
      indexLine: undefined,
    }
    this.entries.set(place.id, replicaPart)
    return replicaPart
  }

  /** Puts a session as far as its summary tells, in place of what is there. */
  putShell(replicaPart: Entry, summary: Summary): void {
    replicaPart.family = summary.family
    replicaPart.tokens = summary.tokens
    replicaPart.blobs = new Set(summary.blobs)
    replicaPart.questions = summary.questions
    replicaPart.appendState = undefined
    this.putSession(shellOf(summary))
    for (const { segment } of summary.chain) this.state.segments.add(segment)
  }

  /** Puts a session into the state, in place of the one that is there. */
  putSession(session: PlainSession): void {
    const { id } = session.info
    this.#dropNames(id)
    for (const name of namesOf(session.info)) this.state.names.set(name, id)
    this.state.sessions.set(id, session)
    this.state.version = Math.max(this.state.version, session.newest)
  }

  summary(replicaPart: Entry): Summary {
    return summarize(this.state.sessions.get(replicaPart.id)!, replicaPart)
  }

  /** Forgets the messages of a session; the next use reads them again. */
  unload(replicaPart: Entry): void {
    if (!this.state.sessions.has(replicaPart.id)) return
    this.putShell(replicaPart, this.summary(replicaPart))
  }

  /** The session's line in the index, and the index, no longer tell what is so. */
  stale(replicaPart: Entry): void {
    replicaPart.indexLine = undefined
    this.staleIndexes.add(replicaPart.folder)
  }

  /** Forgets a session that is gone. */
  drop(id: string): void {
    const replicaPart = this.entries.get(id)
    this.#dropNames(id)
    this.state.sessions.delete(id)
    this.entries.delete(id)
    if (replicaPart) this.staleIndexes.add(replicaPart.folder)
  }

  bury(tombstones: Iterable<Tombstone>): void {
    for (const tombstone of tombstones) {
      this.state.tombstones.set(tombstone.sessionID, tombstone)
      this.state.version = Math.max(this.state.version, tombstone.version)
    }
  }

  /** The session's row changed in place: its names may be others now. */
  rename(session: PlainSession, before: readonly string[]): void {
    this.#forgetNames(session.info.id, before)
    for (const name of namesOf(session.info)) this.state.names.set(name, session.info.id)
  }

  #dropNames(id: string): void {
    const known = this.state.sessions.get(id)
    if (known) this.#forgetNames(id, namesOf(known.info))
  }

  #forgetNames(id: string, names: readonly string[]): void {
    for (const name of names) if (this.state.names.get(name) === id) this.state.names.delete(name)
  }
}

function replaceAll<K, V>(map: Map<K, V>, other: Map<K, V>): void {
  map.clear()
  for (const [key, value] of other) map.set(key, value)
}

export function damaged(file: string, why: string): StemmaError {
  return new StemmaError("internal", `${file} ${why}. Restore it from a copy, or remove the session.`, {
    details: { file },
  })
}
