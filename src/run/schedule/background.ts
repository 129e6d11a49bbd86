/**
 * Work in the background, such as titles. Failures become warnings; `close` gives the work a moment, then aborts and awaits
 * what is left.
 */
export class Background {
  readonly #stop = new AbortController()
  readonly #going = new Set<Promise<void>>()
  readonly #warn: (error: unknown) => void

  constructor(warn: (error: unknown) => void) {
    this.#warn = warn
  }

  add(work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stop.signal.aborted) return
    const going = work(this.#stop.signal)
      .catch((error: unknown) => {
        if (!this.#stop.signal.aborted) this.#warn(error)
      })
      .finally(() => this.#going.delete(going))
    this.#going.add(going)
  }

  /** Aborts the work. No more work is accepted. */
  stop(): void {
    this.#stop.abort()
  }

  async close({ graceMs }: { graceMs: number }): Promise<void> {
    if (graceMs > 0 && this.#going.size > 0 && !this.#stop.signal.aborted) {
      const timer = setTimeout(() => this.stop(), graceMs)
      await Promise.all(this.#going)
      clearTimeout(timer)
    }
    this.stop()
    await Promise.all(this.#going)
  }
}
