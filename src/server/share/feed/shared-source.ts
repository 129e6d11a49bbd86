import type { Source } from "../../streams/streams.ts"
import type { FeedPosition, SharedFeed, SharedFrame } from "./shared-feed.ts"

/**
 * The stream of one reader of a shared session. The reader takes frames at its own speed, without a buffer of its own.
 */
export class SharedSource implements Source<SharedFrame> {
  readonly ready: Promise<void>
  /** Called when the feed has ended, even if the reader has not taken the last frames yet. */
  onEnd: (() => void) | undefined
  readonly #feed: SharedFeed
  readonly #unsubscribe: () => void
  #position: FeedPosition | undefined
  #header: string | undefined
  #wake: (() => void) | undefined
  #isClosed = false

  /** `key`: the visibility key from when the reader connected. */
  constructor(feed: SharedFeed, { position, key }: { position: FeedPosition | undefined; key: string }) {
    this.#feed = feed
    this.#position = position
    this.ready = feed.refreshTo(key)
    this.ready.catch(() => {})
    this.#unsubscribe = feed.subscribe(() => {
      this.#wake?.()
      if (!feed.isOpen) this.onEnd?.()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    this.#wake?.()
  }

  async *batches(): AsyncGenerator<SharedFrame[], void, undefined> {
    try {
      while (!this.#isClosed) {
        const batch = this.#feed.take(this.#position, this.#header)
        if (!batch) return
        this.#position = batch.position
        this.#header = batch.header
        if (batch.frames.length > 0) yield batch.frames
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve
          })
      }
    } finally {
      this.close()
    }
  }
}
