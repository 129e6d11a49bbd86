/** The share of a process's time that handing out frames may take. */
const share = 0.1
/** Less than this is not worth a rest. */
const worthMs = 0.3
const restMaxMs = 25

/**
 * Lets frames pile up a little when there are so many readers that handing them out takes time: five hundred writes cost the
 * same for one delta as for ten. With few readers nobody ever waits.
 */
export class Pacer {
  #spentMs = 0
  #rest: Promise<void> | undefined
  #isForgetting = false

  /** Says how long writing took. */
  spend(ms: number): void {
    this.#spentMs += ms
  }

  /** Undefined if the next frames may be taken at once. */
  rest(): Promise<void> | undefined {
    if (this.#rest) return this.#rest
    if (this.#spentMs < worthMs) {
      // What little was spent is forgotten with the turn of the event loop in which it was.
      if (this.#spentMs > 0) this.#forgetSoon()
      return undefined
    }
    const restMs = Math.min(restMaxMs, this.#spentMs / share)
    this.#spentMs = 0
    this.#rest = new Promise((resolve) => {
      setTimeout(() => {
        this.#rest = undefined
        resolve()
      }, restMs)
    })
    return this.#rest
  }

  #forgetSoon(): void {
    if (this.#isForgetting) return
    this.#isForgetting = true
    setImmediate(() => {
      this.#isForgetting = false
      if (!this.#rest) this.#spentMs = 0
    })
  }
}
