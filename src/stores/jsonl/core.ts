import type { Clock } from "../../protocol/index.ts"
import { StemmaError } from "../../protocol/index.ts"
import { encodeCursor } from "../cursor.ts"
import { FutureLeases } from "../future-leases.ts"
import { createState, namesOf, type PlainSession, type PlainState, type Tombstone } from "../plain/index.ts"
import type { Holder } from "../store.ts"
import { Watchers } from "../watchers.ts"
import type { Unadopted } from "./catalog/catalog.ts"
import type { Files } from "./disk/files.ts"
import { mainName, stateName } from "./format/header.ts"
import { type Questions, type Summary, stubOf, summarize } from "./format/summary.ts"
import type { AppendState } from "./journal/append-state.ts"
import { Journal } from "./journal/journal.ts"

/** The file with the tombstones of removed sessions. */
export const removedName = "removed.jsonl"

/**
 * What the driver knows about a session besides the plain model: where its files are, how much of them is accounted
 * for, and cached facts about its content.
 */
export interface TrackedSession {
  readonly id: string
  /** The directory `agents/{agentId}/sessions`, and the name of the session's files without their extensions. */
  readonly folder: string
  readonly name: string
  /**
   * How many bytes of the main file and of the state file are accounted for. Bytes after them were written by another
   * program or by an interrupted write.
   */
  main: number
  state: number
  /** The id of the oldest session among the forks that share messages. */
  family: string
  /** An estimate of the tokens that a model would be shown. */
  tokens: number
  /** The blobs that messages and inbox items refer to. */
  blobs: Set<string>
  /** Whether the session has permission requests. Undefined if the files must be read to know. */
  questions: Questions | undefined
  /** Set while the session's messages are in memory. */
  appendState: AppendState | undefined
  /** Set while the session's files are being read. */
  loading: Promise<void> | undefined
  /** When the session was last used, and how many calls use it now. Idle sessions without pins are unloaded. */
  usedAt: number
  pins: number
  /** The size of the main file when it was last checked for lines of other programs. */
  seen: number
  /** Why the session's files cannot be read. */
  problem: StemmaError | undefined
  /** The session's cached line in the index. Undefined after a change. */
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

/**
 * The state that all parts of the driver share. A session whose files were not read is in `state` as a stub: the fields
 * that the index knows, without messages.
 */
export class Core {
  readonly files: Files
  journal: Journal
  readonly state: PlainState
  readonly clock: Clock
  readonly holder: Holder
  readonly futureLeases: FutureLeases
  readonly syncsCommits: boolean
  readonly readOnly: boolean
  readonly watchers = new Watchers()
  readonly tracked = new Map<string, TrackedSession>()
  /** Directories whose index file is out of date. */
  readonly staleIndexes = new Set<string>()
  /** Files that were written since the last checkpoint and may not be synced to disk. */
  readonly unsynced = new Set<string>()
  /** True if the newest batch of the journal may not be in the files. It is written again before the next batch. */
  lastBatchPending = false
  /** When idle sessions were last unloaded. */
  unloadedAt = 0
  /** True if lines of other programs were adopted in memory only, because the store is read-only. */
  adoptedInMemoryOnly = false
  /** The last warning about each file, so that a warning is not repeated. */
  #lastWarnings = new Map<string, string>()
  /** Main files that are missing although their sessions were not removed. */
  readonly missingFiles = new Set<string>()
  /** Files in session directories that are not sessions, with their size and modification time. */
  readonly nonSessionFiles = new Map<string, string>()
  /** Files and lines of other programs that were found and are not adopted yet. */
  unadopted: Unadopted = { foreign: [], grown: [] }
  readonly #options: CoreOptions

  constructor(options: CoreOptions) {
    this.#options = options
    this.files = options.files
    this.journal = new Journal(options.files)
    this.state = createState(options.storeID)
    this.clock = options.clock
    this.holder = options.holder
    this.futureLeases = new FutureLeases(options.clock)
    this.syncsCommits = options.durability === "full"
    this.readOnly = options.readOnly
  }

  /** Returns a core on the same files that has read nothing yet. */
  emptyCopy(): Core {
    const core = new Core(this.#options)
    core.#lastWarnings = this.#lastWarnings
    return core
  }

  /** Takes over the state of another core, and notifies the watchers of every session that differs. */
  replaceWith(other: Core): void {
    const before = new Map([...this.state.sessions].map(([id, { newest }]) => [id, newest]))
    const { sessions, tombstones, names, segments } = other.state
    this.journal.close()
    this.journal = other.journal
    this.state.version = other.state.version
    Object.assign(this.state, { sessions, tombstones, names })
    for (const segment of segments) this.state.segments.add(segment)
    replaceAll(this.tracked, other.tracked)
    for (const folder of other.staleIndexes) this.staleIndexes.add(folder)
    for (const file of other.unsynced) this.unsynced.add(file)
    for (const file of other.missingFiles) this.missingFiles.add(file)
    for (const [file, stamp] of other.nonSessionFiles) this.nonSessionFiles.set(file, stamp)
    this.unadopted = other.unadopted
    this.adoptedInMemoryOnly = other.adoptedInMemoryOnly
    const removed = [...before.keys()].filter((id) => !sessions.has(id))
    const changed = [...sessions].filter(
      ([id, session]) => session.newest !== before.get(id) && !session.importing,
    )
    const ids = [...removed, ...changed.map(([id]) => id)]
    this.watchers.notify(encodeCursor(this.state.storeID, this.state.version), ids)
  }

  warn(warning: string): void {
    this.#options.onWarning(warning)
  }

  /** Warns about a file, unless the last warning about this file was the same. */
  warnOnce(file: string, warning: string): void {
    if (this.#lastWarnings.get(file) === warning) return
    this.#lastWarnings.set(file, warning)
    this.warn(warning)
  }

  mainFile(entry: Pick<TrackedSession, "folder" | "name">): string {
    return `${entry.folder}/${mainName(entry.name)}`
  }

  stateFile(entry: Pick<TrackedSession, "folder" | "name">): string {
    return `${entry.folder}/${stateName(entry.name)}`
  }

  /** Starts to track a session. The caller adds its summary or its messages. */
  track(location: { id: string; folder: string; name: string }): TrackedSession {
    const tracked: TrackedSession = {
      ...location,
      main: 0,
      state: 0,
      family: location.id,
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
    this.tracked.set(location.id, tracked)
    return tracked
  }

  /** Replaces the session in the state with a stub made from its summary. */
  putStub(tracked: TrackedSession, summary: Summary): void {
    tracked.family = summary.family
    tracked.tokens = summary.tokens
    tracked.blobs = new Set(summary.blobs)
    tracked.questions = summary.questions
    tracked.appendState = undefined
    this.putSession(stubOf(summary))
    for (const { segment } of summary.chain) this.state.segments.add(segment)
  }

  /** Adds a session to the state, or replaces it. */
  putSession(session: PlainSession): void {
    const { id } = session.info
    this.#dropNames(id)
    for (const name of namesOf(session.info)) this.state.names.set(name, id)
    this.state.sessions.set(id, session)
    this.state.version = Math.max(this.state.version, session.newest)
  }

  summary(tracked: TrackedSession): Summary {
    return summarize(this.state.sessions.get(tracked.id)!, tracked)
  }

  /** Drops the messages of a session from memory. The next use reads its files again. */
  unload(tracked: TrackedSession): void {
    if (!this.state.sessions.has(tracked.id)) return
    this.putStub(tracked, this.summary(tracked))
  }

  /** Marks the session's line in the index, and the index file, as out of date. */
  markStale(tracked: TrackedSession): void {
    tracked.indexLine = undefined
    this.staleIndexes.add(tracked.folder)
  }

  /** Drops a session that was removed. */
  forget(id: string): void {
    const tracked = this.tracked.get(id)
    this.#dropNames(id)
    this.state.sessions.delete(id)
    this.tracked.delete(id)
    if (tracked) this.staleIndexes.add(tracked.folder)
  }

  addTombstones(tombstones: Iterable<Tombstone>): void {
    for (const tombstone of tombstones) {
      this.state.tombstones.set(tombstone.sessionID, tombstone)
      this.state.version = Math.max(this.state.version, tombstone.version)
    }
  }

  /** Updates the unique names of a session whose row was replaced. `before` are the names of the old row. */
  updateNames(session: PlainSession, before: readonly string[]): void {
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

/** Creates the error for a damaged file. `why` continues the sentence that begins with the file name. */
export function damagedFile(file: string, why: string): StemmaError {
  return new StemmaError(
    "internal",
    `${file} ${why}. Restore the file from a backup, or remove the session.`,
    {
      details: { file },
    },
  )
}
