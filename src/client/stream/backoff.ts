/** However busy a server says it is, it is asked again within this time. */
const retryAfterMaxMs = 300_000

/** How long to wait before the next try: ever longer, and never exactly as long as everybody else. */
export class Backoff {
  readonly #options: { firstMs: number; maxMs: number }
  #tries = 0

  constructor(options: { firstMs: number; maxMs: number }) {
    this.#options = options
  }

  /** At least as long as the server asked for, if it did. */
  nextMs(retryAfterMs = 0): number {
    const { firstMs, maxMs } = this.#options
    const wholeMs = Math.min(maxMs, firstMs * 2 ** Math.min(this.#tries++, 30))
    return Math.max(wholeMs * (0.5 + Math.random() / 2), Math.min(retryAfterMs, retryAfterMaxMs))
  }

  reset(): void {
    this.#tries = 0
  }
}

/** Resolves after a time, or at once when the signal says so. */
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
