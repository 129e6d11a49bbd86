import { type Clock, type Row, StemmaError, type StemmaEvent } from "../../protocol/index.ts"
import type { Store, Watched } from "../../stores/store.ts"
import { readExtras } from "../feed/extra-reads.ts"
import { KnownSessions } from "../feed/known-sessions.ts"
import type { Delta, Frame } from "../frame.ts"
import { toStemmaError } from "../stream-error.ts"
import { versionOf } from "../subscriber/position.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"
import type { Batch, LiveSession } from "./live-session.ts"
import { LiveSessions } from "./live-sessions.ts"

/** A round lets others run after this long. */
const sliceMs = 5
/** Commits are announced within 100 ms; a status waits no longer than this. */
const statusWaitMs = 200

interface Range {
  since: string
  until: number
}

interface Read {
  session: LiveSession
  batch: Batch
}

interface Later {
  sessionID: string
  events: StemmaEvent[]
  /** Told when this version is; unknown until the store has said. */
  version: number | undefined
}

/**
 * Follows the whole store, in rounds: when commits are announced, the changes of the sessions that they touched and that
 * somebody listens to are read once, and told to all listeners in one breath.
 */
export class LiveStore {
  /** Resolves when everything committed from then on will be told. */
  readonly ready: Promise<void>
  readonly #store: Store
  readonly #onError: (error: unknown) => void
  readonly #known: KnownSessions
  readonly #sessions: LiveSessions
  #unwatch: (() => void) | undefined
  /** Everything up to here was told. */
  #cursor = ""
  #version = 0
  #touched = new Set<string>()
  #announced = ""
  #isReading = true
  #atRest: (() => void)[] = []
  #later: Later[] = []
  #closed = false

  constructor(options: { store: Store; clock: Clock; onError: (error: unknown) => void }) {
    this.#store = options.store
    this.#onError = options.onError
    this.#known = new KnownSessions(options.clock)
    this.#sessions = new LiveSessions(options.store)
    this.ready = this.#start()
  }

  close(): void {
    this.#closed = true
    this.#unwatch?.()
    this.#sessions.clear()
    this.#later = []
    for (const resume of this.#atRest) resume()
  }

  /** A listener for what is committed from now on. */
  async add(subscriber: Subscriber): Promise<void> {
    const now = await this.#store.cursor()
    await this.#rest(() => {
      const cursor = versionOf(now) > this.#version ? now : this.#cursor
      subscriber.begin(cursor)
      subscriber.push({ synced: true, cursor })
      this.#attach(subscriber, cursor)
    })
  }

  /** The same for one that was given everything up to a cursor, unless more than that was told by now. */
  async join(subscriber: Subscriber, options: { cursor: string; onJoined: () => void }): Promise<void> {
    await this.#rest(() => {
      if (versionOf(options.cursor) < this.#version) return
      options.onJoined()
      this.#attach(subscriber, options.cursor)
    })
  }

  remove(subscriber: Subscriber): void {
    this.#sessions.remove(subscriber)
  }

  delta(delta: Delta): void {
    this.#sessions.of(delta.sessionID)?.delta(delta)
  }

  /** Tells the events when all that is committed by now was told. */
  tellAfter(sessionID: string, events: StemmaEvent[]): void {
    if (this.#sessions.isEmpty) return
    const later: Later = { sessionID, events, version: undefined }
    this.#later.push(later)
    this.#date(later).catch((error) => this.#fail(error))
  }

  async #date(later: Later): Promise<void> {
    await this.#sessions.place(later.sessionID)
    later.version = versionOf(await this.#store.cursor())
    this.#tellLater()
    if (!this.#later.includes(later)) return
    // A commit that touched no visible session is not announced.
    setTimeout(() => {
      later.version = 0
      this.#tellLater()
    }, statusWaitMs).unref()
  }

  #tellLater(): void {
    for (let first = this.#later[0]; first; first = this.#later[0]) {
      if (first.version === undefined || first.version > this.#version) return
      this.#later.shift()
      // The same frames for all, so that they are written once.
      const frames = first.events.map((event): Frame => ({ event }))
      for (const subscriber of this.#sessions.listeners(first.sessionID)) {
        for (const frame of frames) subscriber.push(frame)
      }
    }
  }

  #attach(subscriber: Subscriber, cursor: string): void {
    if (this.#closed || !subscriber.isOpen) return
    subscriber.from = versionOf(cursor)
    this.#sessions.add(subscriber)
  }

  /** Listeners come between rounds: one that came within would miss what was read before. */
  #rest(body: () => void): Promise<void> {
    return new Promise((resolve) => {
      const run = () => {
        body()
        resolve()
      }
      if (this.#isReading && !this.#closed) this.#atRest.push(run)
      else run()
    })
  }

  async #start(): Promise<void> {
    this.#unwatch = this.#store.watch((change) => this.#hear(change))
    if (this.#closed) this.#unwatch()
    this.#cursor = await this.#store.cursor()
    this.#version = versionOf(this.#cursor)
    await this.#known.learn(this.#store)
    this.#isReading = false
    this.#read()
  }

  #hear(change: Watched): void {
    for (const id of change.sessions) this.#touched.add(id)
    this.#announced = change.cursor
    this.#read()
  }

  #read(): void {
    if (this.#isReading || this.#closed || this.#touched.size === 0) return
    this.#isReading = true
    this.#readRounds().catch((error) => this.#fail(error))
  }

  async #readRounds(): Promise<void> {
    while (this.#touched.size > 0 && !this.#closed) {
      const touched = this.#touched
      const cursor = this.#announced
      this.#touched = new Set()
      if (versionOf(cursor) > this.#version) await this.#readRound(touched, cursor)
      for (const resume of this.#atRest.splice(0)) resume()
    }
    this.#isReading = false
  }

  async #readRound(touched: Set<string>, cursor: string): Promise<void> {
    const range = { since: this.#cursor, until: versionOf(cursor) }
    const read: Read[] = []
    let sliceEnd = performance.now() + sliceMs
    for (const sessionID of touched) {
      if (performance.now() > sliceEnd) {
        await new Promise((resolve) => setImmediate(resolve))
        sliceEnd = performance.now() + sliceMs
      }
      const found = await this.#readSession(sessionID, range)
      if (found) read.push(found)
    }
    if (this.#closed) return
    this.#tell(read, cursor)
    for (const id of touched) this.#known.add(id)
    this.#cursor = cursor
    this.#version = range.until
    this.#tellLater()
    this.#sessions.forgetQuiet()
  }

  /** What changed of a session, if somebody listens to it. If that cannot be read, they are told, and nobody else. */
  async #readSession(sessionID: string, range: Range): Promise<Read | undefined> {
    let session: LiveSession | undefined
    try {
      await this.#sessions.place(sessionID)
      session = this.#sessions.of(sessionID)
      if (!session) return undefined
      const rows = await readRows(this.#store, sessionID, range)
      if (rows.length === 0) return undefined
      if (this.#isNew(sessionID, rows)) session.feed.setNew()
      return { session, batch: { rows, extras: await readExtras(this.#store, session.feed, rows) } }
    } catch (error) {
      const listeners = session?.subscribers ?? this.#sessions.listeners(sessionID)
      for (const subscriber of [...listeners]) subscriber.end(toStemmaError(error))
      return undefined
    }
  }

  #isNew(sessionID: string, rows: Row[]): boolean {
    if (this.#known.has(sessionID)) return false
    const row = rows.find((candidate) => candidate.type === "session")
    return row !== undefined && this.#known.isRecent(row.session)
  }

  /** Whoever drops within a round hears all of it again; the last frame leads on to the next. */
  #tell(read: Read[], cursor: string): void {
    const before = this.#cursor
    for (const [index, { session, batch }] of read.entries()) {
      const after = index === read.length - 1 ? cursor : before
      session.tell(batch, { before, after })
    }
  }

  #fail(error: unknown): void {
    if (!this.#closed) this.#onError(error)
  }
}

/** The changes of a session up to a version; what is newer is left for the next round. */
async function readRows(store: Store, sessionID: string, range: Range): Promise<Row[]> {
  const rows: Row[] = []
  for (let { since } = range; ; ) {
    const page = await present(store.changes({ sessionID }, since))
    if (!page) return rows
    for (const row of page.rows) if (row.version <= range.until) rows.push(row)
    if (!page.more || versionOf(page.cursor) >= range.until) return rows
    since = page.cursor
  }
}

/** What the store no longer knows anything of has no changes. */
async function present<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (StemmaError.is(error, "not_found")) return undefined
    throw error
  }
}
