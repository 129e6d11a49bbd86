/** When this much text waits, in UTF-16 units, subscribers are woken before the tick ends. */
export const wakeNowUnits = 16 * 1024

/** Wakes all waiting subscribers together, normally once per event loop tick. */
export class Waker {
  #waiting: (() => void)[] = []
  #isPlanned = false

  wake(resolve: () => void): void {
    this.#waiting.push(resolve)
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.wakeNow()
    })
  }

  /** Wakes waiting subscribers before the tick ends: a tick in which a fast model is read may be long. */
  wakeNow(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
