/** So much may be spent before a rest. */
const spentMaxMs = 5

/**
 * Work that everybody on the network can ask for, one piece after the other, and never more than half of the time: runs and
 * streams have to wait while it goes on.
 */
export class Throttle {
  #before: Promise<unknown> = Promise.resolve()
  #spentMs = 0

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#before.then(async () => {
      const start = performance.now()
      try {
        return await work()
      } finally {
        this.#spentMs += performance.now() - start
      }
    })
    this.#before = result.catch(() => {}).then(() => this.#rest())
    return result
  }

  async #rest(): Promise<void> {
    if (this.#spentMs < spentMaxMs) return
    const ms = this.#spentMs
    this.#spentMs = 0
    await new Promise((resolve) => setTimeout(resolve, ms))
  }
}
