/** How much time the tasks may use before a pause. */
const spentMaxMs = 5

/**
 * Runs tasks that anyone on the network can request, one after the other, for at most half of the time: each task
 * blocks runs and streams.
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
    this.#before = result.catch(() => {}).then(() => this.#pause())
    return result
  }

  async #pause(): Promise<void> {
    if (this.#spentMs < spentMaxMs) return
    const ms = this.#spentMs
    this.#spentMs = 0
    await new Promise((resolve) => setTimeout(resolve, ms))
  }
}
