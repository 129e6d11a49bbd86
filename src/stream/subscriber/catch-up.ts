import type { Row } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import { readExtras } from "../feed/extra-reads.ts"
import { SessionFeed } from "../feed/feed.ts"
import type { Frame } from "../frame.ts"
import type { Subscriber } from "./subscriber.ts"

const pageLimit = 500

/**
 * Makes a subscriber live that has received everything up to the cursor, and calls `onJoined` in the same tick. Does
 * nothing if live subscribers have already received more.
 */
export type Join = (cursor: string, onJoined: () => void) => Promise<void>

/**
 * Reads what a subscriber missed, page by page as the subscriber takes it. After the last page the subscriber becomes
 * live.
 */
export class CatchUp {
  readonly #store: Store
  readonly #subscriber: Subscriber
  readonly #join: Join
  readonly #feeds = new Map<string, SessionFeed<never>>()
  #since: string
  #isOver = false

  constructor(options: {
    store: Store
    subscriber: Subscriber
    since: string
    join: Join
  }) {
    this.#store = options.store
    this.#subscriber = options.subscriber
    this.#since = options.since
    this.#join = options.join
  }

  get isOver(): boolean {
    return this.#isOver
  }

  readonly next = async (): Promise<void> => {
    const since = this.#since
    const page = await this.#store.changes(this.#subscriber.scope!, since, { limit: pageLimit })
    const frames = this.#subscriber.takesRows
      ? page.rows.map((row, index): Frame => {
          const isLast = index === page.rows.length - 1
          return isLast ? { row } : { row, cursor: since, more: true }
        })
      : await this.#eventFrames(page.rows, since)
    const last = frames.at(-1)
    if (last) last.cursor = page.cursor
    for (const frame of frames) this.#subscriber.pushPast(frame)
    this.#since = page.cursor
    if (page.more) return
    await this.#join(page.cursor, () => {
      this.#subscriber.pushPast({ synced: true, cursor: page.cursor })
      this.#subscriber.endPast()
      this.#isOver = true
    })
  }

  async #eventFrames(rows: readonly Row[], cursor: string): Promise<Frame[]> {
    const frames: Frame[] = []
    for (const [sessionID, own] of Map.groupBy(rows, (row) => row.sessionID)) {
      const feed = this.#feedOf(sessionID)
      const extras = await readExtras(this.#store, feed, own)
      for (const { event } of feed.eventsFor(own, extras).events) frames.push({ event, cursor })
      feed.trim()
    }
    return frames
  }

  #feedOf(sessionID: string): SessionFeed<never> {
    const known = this.#feeds.get(sessionID)
    if (known) return known
    const feed = new SessionFeed<never>(sessionID, { isCatchUp: true })
    this.#feeds.set(sessionID, feed)
    return feed
  }
}
