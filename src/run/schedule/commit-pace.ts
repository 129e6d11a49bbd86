import type { Store } from "../../stores/store.ts"

/** After a slow commit, text waits for its commit for this long. */
const cautionMs = 1000
/** Text that waits for its commit is committed at once, but not sooner after other text, for all runs together. */
const waitingFlushMs = 5
/** Commits of one tick share a transaction. */
const tickMs = 1

/**
 * Tells whether the store commits fast enough for live text. Text may be sent to subscribers before it is committed only
 * while the store keeps up, because a crash loses what is not committed. All runs of a process share one pace: they share
 * the store's lock and disk.
 */
export class CommitPace {
  readonly #store: Store
  readonly #slowMs: number
  /** The start times of the commits that the store has not acknowledged yet, oldest first. */
  readonly #pending = new Set<{ readonly startedMs: number }>()
  #cautionEndMs = Number.NEGATIVE_INFINITY
  #waitingFlushedMs = Number.NEGATIVE_INFINITY

  /** `slowMs`: a commit that takes longer is slow. */
  constructor(store: Store, { slowMs }: { slowMs: number }) {
    this.#store = store
    this.#slowMs = slowMs
  }

  /** Called for each piece of live text. `nowMs` is a time of `performance.now()`. */
  keepsUp(nowMs: number): boolean {
    for (const { startedMs } of this.#pending) {
      this.#judge(startedMs, nowMs)
      break
    }
    return nowMs >= this.#cautionEndMs && this.#store.delaysCommits !== true
  }

  /**
   * Whether text that waits for its commit is committed now. Otherwise it waits a little for more text. `flushedMs`: when
   * text of the same message was last committed.
   */
  flushesWaiting(nowMs: number, flushedMs: number): boolean {
    if (nowMs - flushedMs < waitingFlushMs) return false
    const sinceMs = nowMs - this.#waitingFlushedMs
    if (sinceMs < tickMs) return true
    if (sinceMs < waitingFlushMs) return false
    this.#waitingFlushedMs = nowMs
    return true
  }

  /** Measures a commit from now until the returned function is called. */
  begin(startedMs: number): () => void {
    const commit = { startedMs }
    this.#pending.add(commit)
    return () => {
      this.#pending.delete(commit)
      this.#judge(startedMs, performance.now())
    }
  }

  /** Notices a delay of this process itself, such as a timer that fires late: text that was sent waited longer. */
  noticeDelay(delayMs: number): void {
    if (delayMs > this.#slowMs) this.#cautionEndMs = performance.now() + cautionMs
  }

  #judge(startedMs: number, nowMs: number): void {
    if (nowMs - startedMs > this.#slowMs) this.#cautionEndMs = nowMs + cautionMs
  }
}
