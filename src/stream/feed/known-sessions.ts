import type { Clock, Session } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"

const knownMax = 100_000

/**
 * Decides which sessions were created after the hub started, because rows do not say so. A session counts as new the
 * first time a row names it, if its creation time is not before the start. An imported session with an older creation
 * time does not count as new.
 */
export class KnownSessions {
  readonly #clock: Clock
  readonly #known = new Set<string>()
  #beginMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#beginMs = clock.now()
  }

  /**
   * Adds the existing sessions whose creation time is not before the start: sessions of the same millisecond, and
   * sessions of a process whose clock is ahead.
   */
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
