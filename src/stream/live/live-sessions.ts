import type { Scope, Store } from "../../stores/store.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"
import { LiveSession } from "./live-session.ts"
import { isInScope, SessionLocations } from "./session-locations.ts"

/** A session without an open message is forgotten after this long. */
const quietMs = 10_000
const sweepMs = 1000
const ignoredMax = 10_000

/** Who listens to which session. */
export class LiveSessions {
  readonly #locations: SessionLocations
  readonly #subscribers = new Set<Subscriber>()
  /** How many of them can only be matched by the place of a session. */
  #placed = 0
  readonly #sessions = new Map<string, LiveSession>()
  /** Sessions that nobody listens to, so that their text costs nothing. */
  readonly #ignored = new Set<string>()
  #sweptMs = 0

  constructor(store: Store) {
    this.#locations = new SessionLocations(store)
  }

  get isEmpty(): boolean {
    return this.#subscribers.size === 0
  }

  clear(): void {
    this.#sessions.clear()
    this.#subscribers.clear()
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber)
    if (needsPlace(subscriber.scope)) this.#placed++
    this.#ignored.clear()
    for (const session of this.#inReach(subscriber.scope)) {
      if (this.#matches(subscriber, session.feed.sessionID)) session.add(subscriber)
    }
  }

  remove(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return
    if (needsPlace(subscriber.scope)) this.#placed--
    for (const session of this.#inReach(subscriber.scope)) {
      session.subscribers.delete(subscriber)
      if (session.subscribers.size === 0) this.#sessions.delete(session.feed.sessionID)
    }
  }

  /** The session if somebody listens to it, or may be found to when its place is known. */
  of(sessionID: string): LiveSession | undefined {
    const known = this.#sessions.get(sessionID)
    if (known) return known
    if (this.#subscribers.size === 0 || this.#ignored.has(sessionID)) return undefined
    const listeners = this.listeners(sessionID)
    const isUndecided = this.#placed > 0 && this.#locations.get(sessionID) === undefined
    if (listeners.length === 0 && !isUndecided) {
      if (this.#ignored.size >= ignoredMax) this.#ignored.clear()
      this.#ignored.add(sessionID)
      return undefined
    }
    const session = new LiveSession(sessionID)
    session.isPlaced = this.#locations.get(sessionID) !== undefined
    for (const subscriber of listeners) session.add(subscriber)
    this.#sessions.set(sessionID, session)
    return session
  }

  listeners(sessionID: string): Subscriber[] {
    return [...this.#subscribers].filter((subscriber) => this.#matches(subscriber, sessionID))
  }

  /** Learns where a session belongs, if that matters to anybody, and so who listens to it. */
  async place(sessionID: string): Promise<void> {
    if (this.#placed === 0) return
    if (!this.#locations.get(sessionID)) await this.#locations.load(sessionID)
    const session = this.#sessions.get(sessionID)
    if (!session || session.isPlaced) return
    session.isPlaced = true
    for (const subscriber of this.listeners(sessionID)) session.add(subscriber)
    if (session.subscribers.size === 0) this.#sessions.delete(sessionID)
  }

  forgetQuiet(): void {
    const now = performance.now()
    if (now - this.#sweptMs < sweepMs) return
    this.#sweptMs = now
    for (const [sessionID, { feed, touchedMs }] of this.#sessions) {
      if (feed.isQuiet && now - touchedMs > quietMs) this.#sessions.delete(sessionID)
    }
  }

  #matches(subscriber: Subscriber, sessionID: string): boolean {
    return isInScope(subscriber.scope, sessionID, this.#locations.get(sessionID))
  }

  #inReach(scope: Scope | undefined): LiveSession[] {
    if (scope === undefined || !("sessionID" in scope)) return [...this.#sessions.values()]
    const session = this.#sessions.get(scope.sessionID)
    return session ? [session] : []
  }
}

function needsPlace(scope: Scope | undefined): boolean {
  return scope !== undefined && !("sessionID" in scope)
}
