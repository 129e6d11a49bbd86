import { StemmaError } from "../../protocol/index.ts"
import type { RouteAnswer, sessionRoutes } from "../../protocol/routes/index.ts"
import { missing, type SessionView } from "../../session/replica/view.ts"
import { isPassing, retryAfterOf } from "../answer-error.ts"
import { type Backoff, pause } from "../stream/backoff.ts"

type Page = RouteAnswer<typeof sessionRoutes.history>

/** Messages may be large: a few at a time. */
const pageLimit = 100

export interface PagerParts {
  view(): SessionView
  /** How many messages from the end are wanted. */
  last(): number
  read(range: { from: number; to: number; limit: number }): Promise<Page>
  /** Given a page and the view that it was read for. */
  onPage(view: SessionView, page: Page): void
  backoff: Backoff
  signal: AbortSignal
}

/** Reads what a view lacks, page by page, one at a time. */
export class Pager {
  readonly #parts: PagerParts
  #loading: Promise<void> | undefined

  constructor(parts: PagerParts) {
    this.#parts = parts
  }

  /** Resolves when nothing is missing. */
  load(): Promise<void> {
    if (this.#loading) return this.#loading
    if (!this.#next()) return Promise.resolve()
    this.#loading = this.#load().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  #next(): { from: number; to: number } | undefined {
    const { view, last } = this.#parts
    return missing(view(), { last: last() })[0]
  }

  async #load(): Promise<void> {
    const { backoff, signal } = this.#parts
    let stuck = ""
    for (let range = this.#next(); range; range = this.#next()) {
      const now = `${range.from}-${range.to}`
      try {
        // A page that told nothing new is older than the rows: the next one will not be.
        if (stuck === now) await pause(backoff.nextMs(), signal)
        stuck = now
        signal.throwIfAborted()
        await this.#read(range)
      } catch (error) {
        signal.throwIfAborted()
        // It was removed, and the row that says so is on its way.
        if (StemmaError.is(error, "not_found")) return
        if (!isPassing(error)) throw error
        await pause(backoff.nextMs(retryAfterOf(error)), signal)
        stuck = ""
      }
    }
    backoff.reset()
  }

  async #read(range: { from: number; to: number }): Promise<void> {
    const { view, read, onPage } = this.#parts
    const asked = view()
    const limit = Math.min(pageLimit, range.to - range.from)
    onPage(asked, await read({ ...range, limit }))
  }
}
