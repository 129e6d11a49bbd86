import { StemmaError } from "../../protocol/index.ts"
import type { Lease, Store } from "../../stores/store.ts"

const renewEveryMs = 3000
/** The holder stops so long before the store would give the lease to another. */
const marginMs = 2000

/**
 * The right to write one session's run, kept alive until it is released. `signal` is aborted once it is lost, or may be:
 * whoever holds it must not write any more.
 */
export class LeaseKeeper {
  readonly #store: Store
  readonly #lost = new AbortController()
  #lease: Lease
  #renewedAt: number
  #timer: NodeJS.Timeout

  private constructor(store: Store, lease: Lease, claimedAt: number) {
    this.#store = store
    this.#lease = lease
    this.#renewedAt = claimedAt
    this.#timer = setInterval(() => void this.#renew(), renewEveryMs)
  }

  /** `conflict` while somebody else holds it. */
  static async claim(store: Store, sessionID: string): Promise<LeaseKeeper> {
    // Time is counted from before the call, by a clock that nobody sets.
    const claimedAt = performance.now()
    return new LeaseKeeper(store, await store.claim(sessionID), claimedAt)
  }

  get fence(): number {
    return this.#lease.fence
  }

  get sessionID(): string {
    return this.#lease.sessionID
  }

  get signal(): AbortSignal {
    return this.#lost.signal
  }

  /** Throws `conflict` if the lease is lost or its time is nearly over. */
  check(): void {
    if (!this.#lost.signal.aborted && performance.now() > this.#deadline()) this.lose()
    if (this.#lost.signal.aborted) throw this.#lost.signal.reason
  }

  lose(): void {
    clearInterval(this.#timer)
    if (this.#lost.signal.aborted) return
    this.#lost.abort(
      new StemmaError(
        "conflict",
        `Another process has taken over session ${this.sessionID}. Read its history again.`,
      ),
    )
  }

  async release(): Promise<void> {
    clearInterval(this.#timer)
    if (this.#lost.signal.aborted) return
    await this.#store.release(this.#lease)
  }

  #deadline(): number {
    return this.#renewedAt + this.#lease.durationMs - marginMs
  }

  async #renew(): Promise<void> {
    const startedAt = performance.now()
    try {
      this.#lease = await this.#store.renew(this.#lease)
      this.#renewedAt = startedAt
    } catch (error) {
      // Whatever else it is may pass; the deadline decides.
      const isGone = StemmaError.is(error, "conflict") || StemmaError.is(error, "not_found")
      if (isGone || performance.now() > this.#deadline()) this.lose()
    }
  }
}
