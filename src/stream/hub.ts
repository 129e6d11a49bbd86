import {
  type Clock,
  type SessionStatus,
  StemmaError,
  type StemmaEvent,
  systemClock,
} from "../protocol/index.ts"
import type { Store } from "../stores/store.ts"
import { bufferMaxStandard, type Delta, type SubscribeOptions, type Subscription } from "./frame.ts"
import { LiveStore } from "./live/live-store.ts"
import { hubClosed, scopeMissing, toStemmaError, wrongBufferMax } from "./stream-error.ts"
import { CatchUp } from "./subscriber/catch-up.ts"
import { Subscriber } from "./subscriber/subscriber.ts"
import { Waker } from "./subscriber/waker.ts"

export type { Delta, Frame, SubscribeOptions, Subscription } from "./frame.ts"

export interface HubOptions {
  store: Store
  clock?: Clock
}

/** The live events of a store, for any number of subscribers in this process. A writer never waits for a subscriber. */
export interface Hub extends AsyncDisposable {
  /**
   * Sends events from now on, or from `since`. The first frame is `synced`; with `since`, it follows the events of the
   * past. Ends with a StemmaError if the store fails, and with code `invalid` if `since` is a cursor of another store.
   */
  subscribe(options?: SubscribeOptions): Subscription
  /**
   * Text that a run of this process has just received. Subscribers get it at the end of the event loop tick, before it is
   * committed as a piece. Costs almost nothing if the session has no subscriber.
   * Subscribers receive the object itself, so the caller must not change it.
   */
  delta(delta: Delta): void
  /**
   * What a run of this process is doing. It is not stored. Subscribers receive it after the events of everything that
   * was committed before. `idle` also sends `session.idle`.
   */
  setStatus(sessionID: string, status: SessionStatus): void
  /**
   * Resolves when the subscribers of a session have been given the events of everything that was committed, and of every
   * status that was set, before this call. They may not have taken the events yet. Resolves at once without subscribers.
   */
  sent(sessionID: string): Promise<void>
  /**
   * Sends a question of a session to the subscribers of its ancestors that set `questions`. `path`: the ids of the
   * ancestors.
   */
  question(path: readonly string[], event: StemmaEvent): void
  /** Idle if no status was set. */
  status(sessionID: string): SessionStatus
  /** The sessions that are not idle. */
  statuses(): Map<string, SessionStatus>
  /** Ends every subscription; frames that wait can still be read. The store stays open. */
  close(): Promise<void>
}

export function createHub(options: HubOptions): Hub {
  return new StoreHub(options)
}

const idle: SessionStatus = { type: "idle" }

class StoreHub implements Hub {
  readonly #store: Store
  readonly #clock: Clock
  readonly #waker = new Waker()
  readonly #statuses = new Map<string, SessionStatus>()
  /** All open subscribers, including subscribers that are still catching up. */
  readonly #subscribers = new Set<Subscriber>()
  /** The subscribers that set `questions`. */
  readonly #questioners = new Set<Subscriber>()
  #live: LiveStore | undefined
  #closed = false

  constructor({ store, clock = systemClock }: HubOptions) {
    this.#store = store
    this.#clock = clock
  }

  subscribe(options: SubscribeOptions = {}): Subscription {
    checkOptions(options)
    const { scope, signal, bufferMax = bufferMaxStandard } = options
    const abort = () => subscriber.close()
    const subscriber: Subscriber = new Subscriber({
      scope,
      takesRows: options.as === "rows",
      bufferMax,
      waker: this.#waker,
      onClose: () => {
        signal?.removeEventListener("abort", abort)
        this.#subscribers.delete(subscriber)
        this.#questioners.delete(subscriber)
        this.#live?.remove(subscriber)
      },
    })
    if (this.#closed) subscriber.end(hubClosed())
    else if (signal?.aborted) subscriber.close()
    else {
      this.#subscribers.add(subscriber)
      if (options.questions) this.#questioners.add(subscriber)
      signal?.addEventListener("abort", abort, { once: true })
      this.#open(subscriber, options).catch((error) => subscriber.end(toStemmaError(error)))
    }
    return subscriber
  }

  delta(delta: Delta): void {
    if (this.#live === undefined || delta.delta === "") return
    this.#live.delta(delta)
  }

  setStatus(sessionID: string, status: SessionStatus): void {
    if (status.type === "idle") this.#statuses.delete(sessionID)
    else this.#statuses.set(sessionID, status)
    const events: StemmaEvent[] = [{ type: "session.status", properties: { sessionID, status } }]
    if (status.type === "idle") events.push({ type: "session.idle", properties: { sessionID } })
    this.#live?.sendAfterCommits(sessionID, events)
  }

  sent(sessionID: string): Promise<void> {
    const live = this.#live
    if (!live) return Promise.resolve()
    return new Promise((resolve) => live.sendAfterCommits(sessionID, [], resolve))
  }

  question(path: readonly string[], event: StemmaEvent): void {
    const frame = { event }
    for (const subscriber of this.#questioners) {
      const { scope } = subscriber
      if (scope && "sessionID" in scope && path.includes(scope.sessionID)) subscriber.push(frame)
    }
  }

  status(sessionID: string): SessionStatus {
    return this.#statuses.get(sessionID) ?? idle
  }

  statuses(): Map<string, SessionStatus> {
    return new Map(this.#statuses)
  }

  async close(): Promise<void> {
    this.#closed = true
    for (const subscriber of [...this.#subscribers]) subscriber.end()
    this.#live?.close()
    this.#live = undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #open(subscriber: Subscriber, { since, scope, bufferMax }: SubscribeOptions): Promise<void> {
    if (bufferMax !== undefined && !(Number.isInteger(bufferMax) && bufferMax >= 1))
      throw wrongBufferMax(bufferMax)
    if (since !== undefined && scope === undefined) throw scopeMissing()
    const live = this.#startLive()
    await live.ready
    if (since === undefined) {
      await live.add(subscriber)
      subscriber.start()
      return
    }
    subscriber.begin(since)
    const past = new CatchUp({
      store: this.#store,
      subscriber,
      since,
      join: (cursor, onJoined) => live.join(subscriber, { cursor, onJoined }),
    })
    await past.next()
    subscriber.start(past.isOver ? undefined : past.next)
  }

  #startLive(): LiveStore {
    if (this.#live) return this.#live
    const live = new LiveStore({
      store: this.#store,
      clock: this.#clock,
      onError: (error) => this.#fail(error),
    })
    live.ready.catch((error) => this.#fail(error))
    this.#live = live
    return live
  }

  /** The store can no longer be followed. A later subscription starts to follow it again. */
  #fail(error: unknown): void {
    this.#live?.close()
    this.#live = undefined
    for (const subscriber of [...this.#subscribers]) subscriber.end(toStemmaError(error))
  }
}

/** Checked at run time because callers may be plain JavaScript. */
function checkOptions({ scope, since, signal }: SubscribeOptions): void {
  const wrong = (what: string) => new StemmaError("invalid", `subscribe() was called with a wrong ${what}.`)
  if (scope !== undefined) {
    const [name, ...more] = typeof scope === "object" && scope !== null ? Object.entries(scope) : []
    const isOne = more.length === 0 && /^(sessionID|treeID|directory)$/.test(String(name?.[0]))
    if (!isOne || typeof name?.[1] !== "string") {
      throw wrong("`scope`: it must be { sessionID }, { treeID } or { directory }")
    }
  }
  if (since !== undefined && typeof since !== "string")
    throw wrong("`since`: it must be the cursor of a frame")
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw wrong("`signal`: it must be an AbortSignal")
}
