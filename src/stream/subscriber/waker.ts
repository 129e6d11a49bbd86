/** When this much text waits, in UTF-16 units, subscribers are woken before the tick ends. */
export const wakeNowUnits = 16 * 1024

/** Wakes all waiting subscribers together, normally once per event loop tick. */
export class Waker {
  #waiting: (() => void)[] = []
  #beforeWake: (() => void)[] = []
  #isPlanned = false

  readonly #wake = (): void => {
    const first = this.#beforeWake
    this.#beforeWake = []
    for (const act of first) act()
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  wake(resolve: () => void): void {
    this.#waiting.push(resolve)
    this.#plan()
  }

  /** Registers a callback that runs once, right before the next wake. It may add frames for waiting subscribers. */
  beforeWake(act: () => void): void {
    this.#beforeWake.push(act)
    this.#plan()
  }

  /** Wakes waiting subscribers before the tick ends: a tick in which a fast model is read may be long. */
  wakeNow(): void {
    if (this.#waiting.length > 0 || this.#beforeWake.length > 0) this.#wake()
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
