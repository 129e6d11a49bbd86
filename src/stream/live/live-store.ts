import type { Clock, Row, StemmaEvent } from "../../protocol/index.ts"
import { ifFound } from "../../stores/if-found.ts"
import type { Store, Watched } from "../../stores/store.ts"
import { readExtras } from "../feed/extra-reads.ts"
import { KnownSessions } from "../feed/known-sessions.ts"
import type { Delta, Frame } from "../frame.ts"
import { toStemmaError } from "../stream-error.ts"
import { cursorVersion } from "../subscriber/cursor-version.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"
import type { LiveSession, SessionChanges } from "./live-session.ts"
import { LiveSessions } from "./live-sessions.ts"

/** A round yields to the event loop after this long. */
const sliceMs = 5
/** The store announces commits within 100 ms. A status waits no longer than this. */
const statusWaitMs = 200

interface Range {
  since: string
  until: number
}

interface SessionRead {
  session: LiveSession
  batch: SessionChanges
}

interface DelayedEvents {
  sessionID: string
  events: StemmaEvent[]
  /**
   * The events are sent once the changes up to this version were sent. Undefined until the store has returned its
   * cursor.
   */
  version: number | undefined
  onSent: (() => void) | undefined
}

/**
 * Follows the whole store in rounds. When commits are announced, one round reads the changes of the changed sessions
 * that have subscribers, once for each session, and then sends them to all subscribers in one event loop tick.
 */
export class LiveStore {
  /** Resolves when everything committed from then on will be sent. */
  readonly ready: Promise<void>
  readonly #store: Store
  readonly #onError: (error: unknown) => void
  readonly #known: KnownSessions
  readonly #sessions: LiveSessions
  #unwatch: (() => void) | undefined
  /** Everything up to this cursor was sent. */
  #cursor = ""
  #version = 0
  #changedSessions = new Set<string>()
  #announced = ""
  #isReading = true
  #roundEndCallbacks: (() => void)[] = []
  #delayed: DelayedEvents[] = []
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
    for (const { onSent } of this.#delayed.splice(0)) onSent?.()
    for (const resume of this.#roundEndCallbacks) resume()
  }

  /** Adds a subscriber for everything that is committed from now on. */
  async add(subscriber: Subscriber): Promise<void> {
    const now = await this.#store.cursor()
    await this.#betweenRounds(() => {
      const cursor = cursorVersion(now) > this.#version ? now : this.#cursor
      subscriber.begin(cursor)
      subscriber.push({ synced: true, cursor })
      this.#attach(subscriber, cursor)
    })
  }

  /** Adds a subscriber that has received everything up to a cursor. Does nothing if newer changes were already sent. */
  async join(subscriber: Subscriber, options: { cursor: string; onJoined: () => void }): Promise<void> {
    await this.#betweenRounds(() => {
      if (cursorVersion(options.cursor) < this.#version) return
      options.onJoined()
      this.#attach(subscriber, options.cursor)
    })
  }

  remove(subscriber: Subscriber): void {
    this.#sessions.remove(subscriber)
  }

  delta(delta: Delta): void {
    this.#sessions.get(delta.sessionID)?.delta(delta)
  }

  /** Sends the events after everything that is committed by now. Then calls `onSent`. */
  sendAfterCommits(sessionID: string, events: StemmaEvent[], onSent?: () => void): void {
    if (this.#sessions.isEmpty || this.#closed) {
      onSent?.()
      return
    }
    const delayed: DelayedEvents = { sessionID, events, version: undefined, onSent }
    this.#delayed.push(delayed)
    this.#setVersion(delayed).catch((error) => this.#fail(error))
  }

  async #setVersion(delayed: DelayedEvents): Promise<void> {
    await this.#sessions.locate(delayed.sessionID)
    delayed.version = cursorVersion(await this.#store.cursor())
    this.#sendDelayed()
    if (!this.#delayed.includes(delayed)) return
    // A commit that changed no visible session is never announced, so the wait has a timeout.
    setTimeout(() => {
      delayed.version = 0
      this.#sendDelayed()
    }, statusWaitMs).unref()
  }

  #sendDelayed(): void {
    for (let first = this.#delayed[0]; first; first = this.#delayed[0]) {
      if (first.version === undefined || first.version > this.#version) return
      this.#delayed.shift()
      // All subscribers share the frames, so that each frame is serialised once.
      const frames = first.events.map((event): Frame => ({ event }))
      for (const subscriber of this.#sessions.subscribersOf(first.sessionID)) {
        for (const frame of frames) subscriber.push(frame)
      }
      first.onSent?.()
    }
  }

  #attach(subscriber: Subscriber, cursor: string): void {
    if (this.#closed || !subscriber.isOpen) return
    subscriber.fromVersion = cursorVersion(cursor)
    this.#sessions.add(subscriber)
  }

  /** Adds subscribers between rounds: a subscriber that joined within a round would miss the sessions read before. */
  #betweenRounds(body: () => void): Promise<void> {
    return new Promise((resolve) => {
      const run = () => {
        body()
        resolve()
      }
      if (this.#isReading && !this.#closed) this.#roundEndCallbacks.push(run)
      else run()
    })
  }

  async #start(): Promise<void> {
    this.#unwatch = this.#store.watch((change) => this.#onCommit(change))
    if (this.#closed) this.#unwatch()
    this.#cursor = await this.#store.cursor()
    this.#version = cursorVersion(this.#cursor)
    await this.#known.learn(this.#store)
    this.#isReading = false
    this.#read()
  }

  #onCommit(change: Watched): void {
    for (const id of change.sessions) this.#changedSessions.add(id)
    this.#announced = change.cursor
    this.#read()
  }

  #read(): void {
    if (this.#isReading || this.#closed || this.#changedSessions.size === 0) return
    this.#isReading = true
    this.#readRounds().catch((error) => this.#fail(error))
  }

  async #readRounds(): Promise<void> {
    while (this.#changedSessions.size > 0 && !this.#closed) {
      const touched = this.#changedSessions
      const cursor = this.#announced
      this.#changedSessions = new Set()
      if (cursorVersion(cursor) > this.#version) await this.#readRound(touched, cursor)
      for (const resume of this.#roundEndCallbacks.splice(0)) resume()
    }
    this.#isReading = false
  }

  async #readRound(touched: Set<string>, cursor: string): Promise<void> {
    const range = { since: this.#cursor, until: cursorVersion(cursor) }
    const read: SessionRead[] = []
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
    this.#send(read, cursor)
    for (const id of touched) this.#known.add(id)
    this.#cursor = cursor
    this.#version = range.until
    this.#sendDelayed()
    this.#sessions.forgetQuiet()
  }

  /** Reads the changes of a session that has subscribers. A failed read ends only the subscriptions of that session. */
  async #readSession(sessionID: string, range: Range): Promise<SessionRead | undefined> {
    let session: LiveSession | undefined
    try {
      await this.#sessions.locate(sessionID)
      session = this.#sessions.get(sessionID)
      if (!session) return undefined
      const rows = await readRows(this.#store, sessionID, range)
      if (rows.length === 0) return undefined
      if (this.#isNew(sessionID, rows)) session.feed.markNew()
      return { session, batch: { rows, extras: await readExtras(this.#store, session.feed, rows) } }
    } catch (error) {
      const subscribers = session?.subscribers ?? this.#sessions.subscribersOf(sessionID)
      for (const subscriber of [...subscribers]) subscriber.end(toStemmaError(error))
      return undefined
    }
  }

  #isNew(sessionID: string, rows: Row[]): boolean {
    if (this.#known.has(sessionID)) return false
    const row = rows.find((candidate) => candidate.type === "session")
    return row !== undefined && this.#known.isRecent(row.session)
  }

  /**
   * Every frame of a round but the last has the cursor from before the round, so a subscriber that disconnects within a
   * round receives the whole round again.
   */
  #send(read: SessionRead[], cursor: string): void {
    const before = this.#cursor
    for (const [index, { session, batch }] of read.entries()) {
      const after = index === read.length - 1 ? cursor : before
      session.send(batch, { before, after })
    }
  }

  #fail(error: unknown): void {
    if (!this.#closed) this.#onError(error)
  }
}

/** The changes of a session up to a version. Newer changes are left for the next round. */
async function readRows(store: Store, sessionID: string, range: Range): Promise<Row[]> {
  const rows: Row[] = []
  for (let { since } = range; ; ) {
    const page = await ifFound(store.changes({ sessionID }, since))
    if (!page) return rows
    for (const row of page.rows) if (row.version <= range.until) rows.push(row)
    if (!page.more || cursorVersion(page.cursor) >= range.until) return rows
    since = page.cursor
  }
}
