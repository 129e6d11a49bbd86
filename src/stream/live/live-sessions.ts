import type { Scope, Store } from "../../stores/store.ts"
import type { Subscriber } from "../subscriber/subscriber.ts"
import { LiveSession } from "./live-session.ts"
import { isInScope, SessionLocations } from "./session-locations.ts"

/** A session without an open message is forgotten after this time without changes. */
const quietMs = 10_000
const sweepMs = 1000
const ignoredMax = 10_000

/** Which subscribers receive which session. */
export class LiveSessions {
  readonly #locations: SessionLocations
  readonly #subscribers = new Set<Subscriber>()
  /** How many subscribers can be matched only by a session's location (its directory or its ancestors). */
  #matchedByLocation = 0
  readonly #sessions = new Map<string, LiveSession>()
  /** Sessions without subscribers, so that their live text costs nothing. */
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
    if (needsLocation(subscriber.scope)) this.#matchedByLocation++
    this.#ignored.clear()
    for (const session of this.#inReach(subscriber.scope)) {
      if (this.#matches(subscriber, session.feed.sessionID)) session.add(subscriber)
    }
  }

  remove(subscriber: Subscriber): void {
    if (!this.#subscribers.delete(subscriber)) return
    if (needsLocation(subscriber.scope)) this.#matchedByLocation--
    for (const session of this.#inReach(subscriber.scope)) {
      session.subscribers.delete(subscriber)
      if (session.subscribers.size === 0) this.#sessions.delete(session.feed.sessionID)
    }
  }

  /** The session, if it has subscribers or may have some once its location is known. */
  get(sessionID: string): LiveSession | undefined {
    const known = this.#sessions.get(sessionID)
    if (known) return known
    if (this.#subscribers.size === 0 || this.#ignored.has(sessionID)) return undefined
    const subscribers = this.subscribersOf(sessionID)
    const isUndecided = this.#matchedByLocation > 0 && this.#locations.get(sessionID) === undefined
    if (subscribers.length === 0 && !isUndecided) {
      if (this.#ignored.size >= ignoredMax) this.#ignored.clear()
      this.#ignored.add(sessionID)
      return undefined
    }
    const session = new LiveSession(sessionID)
    session.isLocated = this.#locations.get(sessionID) !== undefined
    for (const subscriber of subscribers) session.add(subscriber)
    this.#sessions.set(sessionID, session)
    return session
  }

  subscribersOf(sessionID: string): Subscriber[] {
    return [...this.#subscribers].filter((subscriber) => this.#matches(subscriber, sessionID))
  }

  /** Loads the location of a session if a subscriber needs it, and adds the subscribers that match the location. */
  async locate(sessionID: string): Promise<void> {
    if (this.#matchedByLocation === 0) return
    if (!this.#locations.get(sessionID)) await this.#locations.load(sessionID)
    const session = this.#sessions.get(sessionID)
    if (!session || session.isLocated) return
    session.isLocated = true
    for (const subscriber of this.subscribersOf(sessionID)) session.add(subscriber)
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

function needsLocation(scope: Scope | undefined): boolean {
  return scope !== undefined && !("sessionID" in scope)
}
