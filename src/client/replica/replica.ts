import { StemmaError } from "../../protocol/error/error.ts"
import type { GrowingField, HistoryItem, Row, Session, SessionStatus } from "../../protocol/index.ts"
import type { RouteAnswer, sessionRoutes } from "../../protocol/routes/index.ts"
import { visibleItems } from "../../session/history/revert.ts"
import { endDeltas, reduceDelta, reducePage, reduceRow } from "../../session/replica/reduce.ts"
import { emptyView, type SessionView, viewCount, viewMessages } from "../../session/replica/view.ts"
import { isTemporary, retryAfterOf } from "../answer-error.ts"
import type { Connection } from "../connection.ts"
import type { RouteCalls } from "../route-call.ts"
import { Backoff, pause } from "../stream/backoff.ts"
import { follow, type StreamFrame } from "../stream/follow.ts"
import { Pager } from "./pager.ts"

export interface ReplicaOptions {
  /** How many messages to load at first, from the end; 100 if absent. */
  last?: number
  /** Closes the replica. */
  signal?: AbortSignal
}

/** The calls of a replica, besides its stream. */
export type ReplicaReads = Pick<RouteCalls<typeof sessionRoutes, "id">, "snapshot" | "history">

type Snapshot = RouteAnswer<typeof sessionRoutes.snapshot>

/** A record, so that the compiler reports a missing row type. */
const rowTypes: Record<Row["type"], true> = {
  session: true,
  removed: true,
  history: true,
  message: true,
  part: true,
  piece: true,
  note: true,
  todos: true,
  permission: true,
  inbox: true,
}

/**
 * A live copy of one session. It starts with the last messages, follows the changes, and reconnects by itself without
 * losing any. Objects that it returns are never changed afterwards.
 */
export class Replica implements Disposable {
  readonly sessionID: string
  /** Resolves when the replica is live for the first time. Rejects if it fails before. */
  readonly ready: Promise<void>
  readonly #connection: Connection
  readonly #reads: ReplicaReads
  readonly #last: number
  readonly #controller = new AbortController()
  readonly #signal: AbortSignal
  readonly #ready = Promise.withResolvers<void>()
  readonly #listeners = new Set<() => void>()
  readonly #pager: Pager
  #view = emptyView()
  #status: SessionStatus = { type: "idle" }
  #isLive = false
  #error: StemmaError | undefined
  /** Messages before this position were not requested. */
  #from = 0
  /** Rows of a batch that is not complete yet. A view shows all rows of a batch or none. */
  #pendingRows: Row[] = []
  #messages: { view: SessionView; revision: number; from: number; items: readonly HistoryItem[] } | undefined

  constructor(connection: Connection, reads: ReplicaReads, options: ReplicaOptions & { sessionID: string }) {
    const { signal, last = 100, sessionID } = options
    this.sessionID = sessionID
    this.#connection = connection
    this.#reads = reads
    this.#last = last
    this.#signal = signal ? AbortSignal.any([signal, this.#controller.signal]) : this.#controller.signal
    this.ready = this.#ready.promise
    this.ready.catch(() => {})
    this.#pager = new Pager({
      view: () => this.#view,
      last: () => viewCount(this.#view) - this.#from,
      read: (range) => reads.history({ ...range, take: "start" }, { signal: this.#signal }),
      onPage: (view, page) => {
        if (view === this.#view && reducePage(view, page)) this.#notify()
      },
      backoff: new Backoff(connection.reconnect),
      signal: this.#signal,
    })
    this.#run().then(
      () => this.#end(undefined),
      (error) => this.#end(error),
    )
  }

  /** The state of the session, for the functions of `session/view`. A new object after each new snapshot. */
  get view(): SessionView {
    return this.#view
  }

  /** Undefined before the first snapshot, and after the session was removed. */
  get session(): Session | undefined {
    return this.#view.session
  }

  /** What the session is doing in the server, according to the last status event. */
  get status(): SessionStatus {
    return this.#status
  }

  /** False until the past is loaded, and while the server cannot be reached. */
  get isLive(): boolean {
    return this.#isLive && !this.#signal.aborted
  }

  /** Why the replica is not live, if there is a known reason. It keeps reconnecting unless the error is permanent. */
  get error(): StemmaError | undefined {
    return this.#error
  }

  /** How many messages the history has before the loaded ones. */
  get older(): number {
    return this.#from
  }

  /** The messages from the first requested one on. Returns the same array until a message changes. */
  messages(): readonly HistoryItem[] {
    const view = this.#view
    const from = this.#from
    const known = this.#messages
    if (known?.view === view && known.revision === view.revision && known.from === from) return known.items
    const items = viewMessages(view)
    // The view may also know a much older message that changed, with a gap after it.
    const shown =
      (items[0]?.position ?? from) >= from ? items : items.filter(({ position }) => position >= from)
    this.#messages = { view, revision: view.revision, from, items: shown }
    return shown
  }

  /** `messages()` without the messages that a revert hides. */
  visibleMessages(): readonly HistoryItem[] {
    const mark = this.#view.session?.revert
    const items = this.messages()
    if (mark === undefined) return items
    const marked = items.find(({ message }) => message.id === mark.messageID)
    if (mark.partID !== undefined && marked && !marked.parts.some(({ id }) => id === mark.partID))
      return items
    // A mark that is not among the loaded messages is before them.
    return visibleItems(items, mark, { position: this.#from })
  }

  /**
   * Calls `listener` once after each batch of changes, until `close()` or the signal. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: () => void): () => void {
    // A caller may subscribe the same function twice.
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** Resolves when `count` more messages are loaded, or all that the history has. */
  async loadOlder(count: number): Promise<void> {
    this.#signal.throwIfAborted()
    this.#from = Math.max(0, this.#from - count)
    this.#notify()
    await this.#pager.load()
  }

  /** Stops following the session. The loaded state stays readable. */
  close(): void {
    this.#controller.abort()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#connection.reconnect)
    while (!this.#signal.aborted) {
      const snapshot = await this.#readSnapshot(backoff)
      if (!snapshot) return
      this.#startFrom(snapshot)
      try {
        await this.#follow(snapshot.cursor)
      } catch (error) {
        // The cursor belongs to another store or to a restored one, so the known state may be wrong. Start again.
        if (!StemmaError.is(error, "invalid")) throw error
        this.#drop(error)
        await pause(backoff.nextMs(), this.#signal)
      }
    }
  }

  async #readSnapshot(backoff: Backoff): Promise<Snapshot | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await this.#reads.snapshot({ last: this.#last }, { signal: this.#signal })
      } catch (error) {
        if (this.#signal.aborted) return undefined
        if (!isTemporary(error)) throw error
        this.#drop(error)
        await pause(backoff.nextMs(retryAfterOf(error)), this.#signal)
      }
    }
    return undefined
  }

  #startFrom({ rows, page }: Snapshot): void {
    const view = emptyView()
    for (const row of rows) if (isKnown(row)) reduceRow(view, row)
    reducePage(view, page)
    // A caller that compares revisions must see that everything may have changed.
    view.revision += this.#view.revision + 1
    this.#view = view
    this.#pendingRows = []
    this.#from = Math.max(0, viewCount(view) - this.#last)
    this.#notify()
  }

  async #follow(since: string): Promise<void> {
    const batches = follow(this.#connection, {
      path: `/sessions/${encodeURIComponent(this.sessionID)}/event`,
      query: { format: "rows" },
      since,
      signal: this.#signal,
      onDrop: (error) => this.#drop(error),
    })
    for await (const batch of batches) this.#applyBatch(batch)
  }

  #applyBatch(batch: readonly StreamFrame[]): void {
    const before = this.#view.revision
    let isNews = false
    for (const frame of batch) if (this.#applyFrame(frame)) isNews = true
    const count = viewCount(this.#view)
    // After the history became shorter, the replica shows at least as many messages as at the start.
    this.#from = Math.min(this.#from, Math.max(0, count - this.#last))
    if (isNews || this.#view.revision !== before) this.#notify()
    if (this.#isLive) this.#ready.resolve()
    // Within an incomplete batch of rows, missing messages are expected.
    if (this.#isLive && this.#pendingRows.length === 0) this.#pager.load().catch(() => {})
  }

  /** True if a value besides the view changed. */
  #applyFrame({ value }: StreamFrame): boolean {
    if (isRow(value)) {
      const { more, ...row } = value
      // An unknown row of a newer server may still be the last row of its batch.
      if (isKnown(row)) this.#pendingRows.push(row)
      if (!more) this.#applyRows()
      return false
    }
    switch (value.type) {
      case "synced":
        this.#isLive = true
        this.#error = undefined
        return true
      case "message.part.delta":
        reduceDelta(this.#view, value.properties as Delta)
        return false
      case "session.status":
        return this.#setStatus(value.properties as { sessionID: string; status: SessionStatus })
      default:
        return false
    }
  }

  #applyRows(): void {
    for (const row of this.#pendingRows) reduceRow(this.#view, row)
    this.#pendingRows = []
  }

  #setStatus({ sessionID, status }: { sessionID: string; status: SessionStatus }): boolean {
    if (sessionID !== this.sessionID) return false
    if (status.type === "idle") endDeltas(this.#view)
    this.#status = status
    return true
  }

  #drop(error: unknown): void {
    this.#pendingRows = []
    this.#isLive = false
    this.#error = StemmaError.is(error) ? error : undefined
    this.#notify()
  }

  #end(error: unknown): void {
    this.#isLive = false
    if (!this.#signal.aborted) this.#fail(error)
    this.#ready.reject(
      this.#error ?? new StemmaError("unavailable", "The replica was closed. Open a new one."),
    )
    this.#notify()
    this.#listeners.clear()
    this.#controller.abort()
  }

  #fail(error: unknown): void {
    this.#error = StemmaError.is(error)
      ? error
      : new StemmaError("internal", "The replica can no longer follow its session. Open a new one.", {
          cause: error,
        })
    if (!StemmaError.is(error, "not_found") || this.#view.session === undefined) return
    // The session was removed while the replica was not connected.
    const view = emptyView()
    view.removed = true
    view.revision = this.#view.revision + 1
    this.#view = view
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) {
      // A listener may close the replica: then the remaining listeners are not called.
      if (this.#signal.aborted) return
      if (!this.#listeners.has(listener)) continue
      try {
        listener()
      } catch (error) {
        // As with DOM events, an error of a listener goes to the program's error handler and does not stop the replica.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** A row has a version. Live text and messages about the stream have none. */
function isRow(value: object): value is RowFrame {
  return "version" in value
}

/** False for a row type that only a newer server knows. */
function isKnown(row: { type: string }): row is Row {
  return Object.hasOwn(rowTypes, row.type)
}

interface RowFrame {
  type: string
  version: number
  more?: boolean
}

interface Delta {
  messageID: string
  partID: string
  field: GrowingField
  offset: number
  delta: string
}
