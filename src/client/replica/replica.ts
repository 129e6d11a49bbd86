import {
  type GrowingField,
  type HistoryItem,
  type Row,
  type Session,
  type SessionStatus,
  StemmaError,
} from "../../protocol/index.ts"
import type { RouteAnswer, sessionRoutes } from "../../protocol/routes/index.ts"
import { visibleItems } from "../../session/history/revert.ts"
import { endDeltas, reduceDelta, reducePage, reduceRow } from "../../session/replica/reduce.ts"
import { emptyView, type SessionView, viewCount, viewMessages } from "../../session/replica/view.ts"
import { isPassing, retryAfterOf } from "../answer-error.ts"
import type { Connection } from "../connection.ts"
import type { RouteCalls } from "../route-call.ts"
import { Backoff, pause } from "../stream/backoff.ts"
import { follow, type StreamFrame } from "../stream/follow.ts"
import { Pager } from "./pager.ts"

export interface ReplicaOptions {
  /** How many messages to begin with, from the end; 100 if absent. */
  last?: number
  /** Closes it. */
  signal?: AbortSignal
}

/** What a replica asks the server for, beside its stream. */
export type ReplicaReads = Pick<RouteCalls<typeof sessionRoutes, "id">, "snapshot" | "history">

type Snapshot = RouteAnswer<typeof sessionRoutes.snapshot>

/** A record, so that the compiler misses a type that is forgotten here. */
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
 * A live copy of one session. It begins with the last messages, follows what changes, and comes back by itself from every
 * loss with nothing missing. What it hands out is never changed afterwards.
 */
export class Replica implements Disposable {
  readonly sessionID: string
  /** Resolves when it is live for the first time; rejects if it never will be. */
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
  /** Messages before this position were not asked for. */
  #from = 0
  /** Rows of an answer whose end has not come yet: a view shows all of it or nothing. */
  #rows: Row[] = []
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
        if (view === this.#view && reducePage(view, page)) this.#tell()
      },
      backoff: new Backoff(connection.reconnect),
      signal: this.#signal,
    })
    this.#run().then(
      () => this.#end(undefined),
      (error) => this.#end(error),
    )
  }

  /** What is known of the session: for the functions of `session/view`. Another object after a new beginning. */
  get view(): SessionView {
    return this.#view
  }

  /** Undefined until the first snapshot, and when the session is removed. */
  get session(): Session | undefined {
    return this.#view.session
  }

  /** What the session is doing in the server, as it was last heard of. */
  get status(): SessionStatus {
    return this.#status
  }

  /** False until all of the past is there, and while the server is out of reach. */
  get isLive(): boolean {
    return this.#isLive && !this.#signal.aborted
  }

  /** Why it is not live, if there is a reason; it goes on trying unless the error says that this is of no use. */
  get error(): StemmaError | undefined {
    return this.#error
  }

  /** How many messages there are before those that it has. */
  get older(): number {
    return this.#from
  }

  /** The messages from the first one that was asked for. The same array as long as nothing changes. */
  messages(): readonly HistoryItem[] {
    const view = this.#view
    const from = this.#from
    const known = this.#messages
    if (known?.view === view && known.revision === view.revision && known.from === from) return known.items
    const items = viewMessages(view)
    // What changed long before them may be known too, with nothing in between.
    const shown =
      (items[0]?.position ?? from) >= from ? items : items.filter(({ position }) => position >= from)
    this.#messages = { view, revision: view.revision, from, items: shown }
    return shown
  }

  /** The same without what a revert hides. */
  visibleMessages(): readonly HistoryItem[] {
    const mark = this.#view.session?.revert
    const items = this.messages()
    if (mark === undefined) return items
    const marked = items.find(({ message }) => message.id === mark.messageID)
    if (mark.partID !== undefined && marked && !marked.parts.some(({ id }) => id === mark.partID))
      return items
    // A mark that is not among them is before them.
    return visibleItems(items, mark, { position: this.#from })
  }

  /** Called after each batch of changes, once, and not any more after `close()` or the signal. Returns what ends that. */
  subscribe(listener: () => void): () => void {
    // The same function may be given twice.
    const own = () => listener()
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** Resolves when so many messages more are there, or all there are. */
  async loadOlder(count: number): Promise<void> {
    this.#signal.throwIfAborted()
    this.#from = Math.max(0, this.#from - count)
    this.#tell()
    await this.#pager.load()
  }

  /** Follows no more; what it has stays. */
  close(): void {
    this.#controller.abort()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async #run(): Promise<void> {
    const backoff = new Backoff(this.#connection.reconnect)
    while (!this.#signal.aborted) {
      const snapshot = await this.#read(backoff)
      if (!snapshot) return
      this.#begin(snapshot)
      try {
        await this.#follow(snapshot.cursor)
      } catch (error) {
        // The cursor is of another store, or of one that was restored: what is known may never have been.
        if (!StemmaError.is(error, "invalid")) throw error
        this.#drop(error)
        await pause(backoff.nextMs(), this.#signal)
      }
    }
  }

  async #read(backoff: Backoff): Promise<Snapshot | undefined> {
    while (!this.#signal.aborted) {
      try {
        return await this.#reads.snapshot({ last: this.#last }, { signal: this.#signal })
      } catch (error) {
        if (this.#signal.aborted) return undefined
        if (!isPassing(error)) throw error
        this.#drop(error)
        await pause(backoff.nextMs(retryAfterOf(error)), this.#signal)
      }
    }
    return undefined
  }

  #begin({ rows, page }: Snapshot): void {
    const view = emptyView()
    for (const row of rows) if (isKnown(row)) reduceRow(view, row)
    reducePage(view, page)
    // Whoever compares revisions is to see that everything may be different.
    view.revision += this.#view.revision + 1
    this.#view = view
    this.#rows = []
    this.#from = Math.max(0, viewCount(view) - this.#last)
    this.#tell()
  }

  async #follow(since: string): Promise<void> {
    const batches = follow(this.#connection, {
      path: `/sessions/${encodeURIComponent(this.sessionID)}/event`,
      query: { format: "rows" },
      since,
      signal: this.#signal,
      onDrop: (error) => this.#drop(error),
    })
    for await (const batch of batches) this.#take(batch)
  }

  #take(batch: readonly StreamFrame[]): void {
    const before = this.#view.revision
    let isNews = false
    for (const frame of batch) if (this.#frame(frame)) isNews = true
    const count = viewCount(this.#view)
    // A history that was cut short shows as much as one that it began with.
    this.#from = Math.min(this.#from, Math.max(0, count - this.#last))
    if (isNews || this.#view.revision !== before) this.#tell()
    if (this.#isLive) this.#ready.resolve()
    // Within an answer nothing is missing yet.
    if (this.#isLive && this.#rows.length === 0) this.#pager.load().catch(() => {})
  }

  /** True if something beside the view changed. */
  #frame({ value }: StreamFrame): boolean {
    if (isRow(value)) {
      const { more, ...row } = value
      // One of a newer server may still be what ends an answer.
      if (isKnown(row)) this.#rows.push(row)
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
    for (const row of this.#rows) reduceRow(this.#view, row)
    this.#rows = []
  }

  #setStatus({ sessionID, status }: { sessionID: string; status: SessionStatus }): boolean {
    if (sessionID !== this.sessionID) return false
    if (status.type === "idle") endDeltas(this.#view)
    this.#status = status
    return true
  }

  #drop(error: unknown): void {
    this.#rows = []
    this.#isLive = false
    this.#error = StemmaError.is(error) ? error : undefined
    this.#tell()
  }

  #end(error: unknown): void {
    this.#isLive = false
    if (!this.#signal.aborted) this.#fail(error)
    this.#ready.reject(this.#error ?? new StemmaError("unavailable", "This replica was closed."))
    this.#tell()
    this.#listeners.clear()
    this.#controller.abort()
  }

  #fail(error: unknown): void {
    this.#error = StemmaError.is(error)
      ? error
      : new StemmaError("internal", "The replica cannot follow its session any more.", { cause: error })
    if (!StemmaError.is(error, "not_found") || this.#view.session === undefined) return
    // It was removed while nobody could tell.
    const view = emptyView()
    view.removed = true
    view.revision = this.#view.revision + 1
    this.#view = view
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) {
      // Whoever closed it needs no telling; one that is called may be who closes it.
      if (this.#signal.aborted) return
      if (!this.#listeners.has(listener)) continue
      try {
        listener()
      } catch (error) {
        // As for listeners of events: it is the program's to hear of, and no reason to stop following.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** What is stored has a version; what is live, or says something of the stream, has not. */
function isRow(value: object): value is RowFrame {
  return "version" in value
}

/** False for what a newer server has beside what this client knows. */
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
