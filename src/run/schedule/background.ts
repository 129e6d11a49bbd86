/** Work in the background, such as titles. Failures become warnings; `close` aborts and awaits what is left. */
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

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#going)
  }
}
