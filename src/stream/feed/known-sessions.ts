import type { Clock, Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"

const knownMax = 100_000

/**
 * Tells sessions that were made since the hub began from older ones: rows do not say. A session counts as new the first
 * time it is touched if it was created after the beginning. One that was imported with an older time does not.
 */
export class KnownSessions {
  readonly #clock: Clock
  readonly #known = new Set<string>()
  #beginMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beginMs = clock.now()
  }

  /** Learns of sessions of this very moment, and of those whose clock is ahead. */
  async learn(store: Store): Promise<void> {
    for (let cursor: string | undefined; ; ) {
      const page = await store.sessions({ order: "created", cursor })
      for (const { id, time } of page.items) if (time.created >= this.#beginMs) this.#known.add(id)
      if (page.next === undefined || page.items.at(-1)!.time.created < this.#beginMs) return
      cursor = page.next
    }
  }

  has(sessionID: string): boolean {
    return this.#known.has(sessionID)
  }

  isRecent(session: Session): boolean {
    return session.time.created >= this.#beginMs
  }

  add(sessionID: string): void {
    if (this.#known.size >= knownMax) {
      this.#known.clear()
      this.#beginMs = this.#clock.now()
    }
    this.#known.add(sessionID)
  }
}
