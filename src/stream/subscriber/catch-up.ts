import type { Row } from "../../protocol/index.ts"
import type { Store } from "../../stores/store.ts"
import { readExtras } from "../feed/extra-reads.ts"
import { SessionFeed } from "../feed/feed.ts"
import type { Frame } from "../frame.ts"
import type { Subscriber } from "./subscriber.ts"

const pageLimit = 500

/**
 * Lets a subscriber that was given everything up to the cursor go live, and calls `onJoined` in the same breath. Does
 * nothing if others were told more by then.
 */
export type Join = (cursor: string, onJoined: () => void) => Promise<void>

/** What a subscriber missed, page by page as it is taken. When nothing is left, it goes live. */
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
    for (const frame of frames) this.#subscriber.keep(frame)
    this.#since = page.cursor
    if (page.more) return
    await this.#join(page.cursor, () => {
      this.#subscriber.keep({ synced: true, cursor: page.cursor })
      this.#subscriber.endPast()
      this.#isOver = true
    })
  }

  async #eventFrames(rows: readonly Row[], cursor: string): Promise<Frame[]> {
    const frames: Frame[] = []
    for (const [sessionID, own] of Map.groupBy(rows, (row) => row.sessionID)) {
      const feed = this.#feedOf(sessionID)
      const extras = await readExtras(this.#store, feed, own)
      for (const { event } of feed.tell(own, extras).events) frames.push({ event, cursor })
      feed.trim()
    }
    return frames
  }

  #feedOf(sessionID: string): SessionFeed<never> {
    const known = this.#feeds.get(sessionID)
    if (known) return known
    const feed = new SessionFeed<never>(sessionID, { isPast: true })
    this.#feeds.set(sessionID, feed)
    return feed
  }
}
