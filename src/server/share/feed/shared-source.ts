import type { Source } from "../../streams/streams.ts"
import type { Place, SharedFeed, SharedFrame } from "./shared-feed.ts"

/** One reader of a shared session. It takes when it can, and what it has not taken is not kept for it. */
export class SharedSource implements Source<SharedFrame> {
  readonly ready: Promise<void>
  /** Called when nothing more will come, also while the reader has not taken what came before. */
  onOver: (() => void) | undefined
  readonly #feed: SharedFeed
  readonly #stopListening: () => void
  #location: Place | undefined
  #header: string | undefined
  #wake: (() => void) | undefined
  #isClosed = false

  /** `key`: what may be seen when the reader came. */
  constructor(feed: SharedFeed, { location, key }: { location: Place | undefined; key: string }) {
    this.#feed = feed
    this.#location = location
    this.ready = feed.freshen(key)
    this.ready.catch(() => {})
    this.#stopListening = feed.listen(() => {
      this.#wake?.()
      if (!feed.isOpen) this.onOver?.()
    })
  }

  close(): void {
    this.#isClosed = true
    this.#stopListening()
    this.#wake?.()
  }

  async *batches(): AsyncGenerator<SharedFrame[], void, undefined> {
    try {
      while (!this.#isClosed) {
        const batch = this.#feed.take(this.#location, this.#header)
        if (!batch) return
        this.#location = batch.location
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
