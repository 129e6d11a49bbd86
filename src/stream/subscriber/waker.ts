/** So much text, in UTF-16 units, is worth a wake of its own. */
export const hurryUnits = 16 * 1024

/** Wakes those who wait, all at once and mostly once in a turn of the event loop. */
export class Waker {
  #waiting: (() => void)[] = []
  #first: (() => void)[] = []
  #isPlanned = false

  readonly #wake = (): void => {
    const first = this.#first
    this.#first = []
    for (const act of first) act()
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  wake(resolve: () => void): void {
    this.#waiting.push(resolve)
    this.#plan()
  }

  /** Something to be done once, right before the next wake: it may find more for those who wait. */
  before(act: () => void): void {
    this.#first.push(act)
    this.#plan()
  }

  /** Wakes those who wait without waiting for the turn to end: a turn in which a fast model is read may be long. */
  hurry(): void {
    if (this.#waiting.length > 0 || this.#first.length > 0) this.#wake()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.#wake()
    })
  }
}
