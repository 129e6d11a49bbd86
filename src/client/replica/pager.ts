import { StemmaError } from "../../protocol/error/error.ts"
import type { RouteAnswer, sessionRoutes } from "../../protocol/routes/index.ts"
import { missing, type SessionView } from "../../session/replica/view.ts"
import { isTemporary, retryAfterOf } from "../answer-error.ts"
import { type Backoff, pause } from "../stream/backoff.ts"

type Page = RouteAnswer<typeof sessionRoutes.history>

/** Small pages, because messages may be large. */
const pageLimit = 100

export interface PagerOptions {
  view(): SessionView
  /** How many messages from the end of the history are wanted. */
  last(): number
  read(range: { from: number; to: number; limit: number }): Promise<Page>
  /** Receives a page and the view that it was read for. */
  onPage(view: SessionView, page: Page): void
  backoff: Backoff
  signal: AbortSignal
}

/** Reads the messages that a view lacks, one page at a time. */
export class Pager {
  readonly #options: PagerOptions
  #loading: Promise<void> | undefined

  constructor(options: PagerOptions) {
    this.#options = options
  }

  /** Resolves when no wanted message is missing. */
  load(): Promise<void> {
    if (this.#loading) return this.#loading
    if (!this.#next()) return Promise.resolve()
    this.#loading = this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  #next(): { from: number; to: number } | undefined {
    const { view, last } = this.#options
    return missing(view(), { last: last() })[0]
  }

  async #load(): Promise<void> {
    const { backoff, signal } = this.#options
    let stuck = ""
    for (let range = this.#next(); range; range = this.#next()) {
      const now = `${range.from}-${range.to}`
      try {
        // The last page brought nothing new, so it was read before the rows of the stream. Read again after a delay.
        if (stuck === now) await pause(backoff.nextMs(), signal)
        stuck = now
        signal.throwIfAborted()
        await this.#read(range)
      } catch (error) {
        signal.throwIfAborted()
        // The session was removed, and the stream will deliver the row that says so.
        if (StemmaError.is(error, "not_found")) return
        if (!isTemporary(error)) throw error
        await pause(backoff.nextMs(retryAfterOf(error)), signal)
        stuck = ""
      }
    }
    backoff.reset()
  }

  async #read(range: { from: number; to: number }): Promise<void> {
    const { view, read, onPage } = this.#options
    const asked = view()
    const limit = Math.min(pageLimit, range.to - range.from)
    onPage(asked, await read({ ...range, limit }))
  }
}
