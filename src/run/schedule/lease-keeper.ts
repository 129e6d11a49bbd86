import { StemmaError } from "../../protocol/index.ts"
import type { Lease, Store } from "../../stores/store.ts"

const renewEveryMs = 3000
/** The holder stops writing this long before the lease expires. */
const marginMs = 2000

/**
 * A lease, renewed until it is released. `signal` is aborted once the lease is lost or may have expired; the holder must not
 * write after that.
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

  /** Throws `conflict` while another process holds the lease. */
  static async claim(store: Store, sessionID: string): Promise<LeaseKeeper> {
    // Measured from before the call, on a monotonic clock, so that the holder never counts more time than the store.
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

  /** Throws `conflict` if the lease is lost or about to expire. */
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
      // Other errors may pass, so the lease is kept until its deadline.
      const isGone = StemmaError.is(error, "conflict") || StemmaError.is(error, "not_found")
      if (isGone || performance.now() > this.#deadline()) this.lose()
    }
  }
}
