/** The client honours a `retry-after` header only up to this delay. */
const retryAfterMaxMs = 300_000

/** The delay before the next try: exponential with random variation, so that clients do not all retry at once. */
export class Backoff {
  readonly #options: { firstMs: number; maxMs: number }
  #tries = 0

  constructor(options: { firstMs: number; maxMs: number }) {
    this.#options = options
  }

  /** At least `retryAfterMs`, up to a maximum. */
  nextMs(retryAfterMs = 0): number {
    const { firstMs, maxMs } = this.#options
    const wholeMs = Math.min(maxMs, firstMs * 2 ** Math.min(this.#tries++, 30))
    return Math.max(wholeMs * (0.5 + Math.random() / 2), Math.min(retryAfterMs, retryAfterMaxMs))
  }

  reset(): void {
    this.#tries = 0
  }
}

/** Resolves after `ms`, or when the signal is aborted. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve()
      return
    }
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener("abort", end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener("abort", end, { once: true })
  })
}
