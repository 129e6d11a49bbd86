import { type Clock, monotonicMs } from "../protocol/index.ts"
import { leaseDurationMs } from "./store.ts"

/** More observations than this are not kept; an observation that is dropped starts again. */
const observedMax = 1000

interface Observation {
  fence: number
  expiresAt: number
  sinceMs: number
}

/**
 * Judges leases that seem to end later than a whole duration from now. No lease lasts that long, so the clock of this
 * process or that of the holder was set, and the time of expiry says nothing. Such a lease counts as expired if it was not
 * renewed for one duration, measured on the monotonic clock: a live holder renews it several times in that time.
 */
export class FutureLeases {
  readonly #clock: Clock
  readonly #observed = new Map<string, Observation>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Called each time the lease stands in the way. Times are by the store's clock. */
  isExpired(lease: { sessionID: string; fence: number; expiresAt: number }, nowMs: number): boolean {
    const { sessionID, fence, expiresAt } = lease
    if (expiresAt <= nowMs + leaseDurationMs) {
      this.#observed.delete(sessionID)
      return expiresAt <= nowMs
    }
    const elapsedMs = monotonicMs(this.#clock)
    const known = this.#observed.get(sessionID)
    if (known?.fence === fence && known.expiresAt === expiresAt) {
      return elapsedMs - known.sinceMs >= leaseDurationMs
    }
    if (this.#observed.size >= observedMax) this.#observed.delete(this.#observed.keys().next().value!)
    this.#observed.set(sessionID, { fence, expiresAt, sinceMs: elapsedMs })
    return false
  }
}
