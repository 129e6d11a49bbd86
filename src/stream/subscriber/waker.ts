/** After this much text, in UTF-16 units, subscribers are woken before the event loop tick ends. */
export const hurryUnits = 16 * 1024

/** Resumes the subscribers that wait for frames, all at once and normally once in an event loop tick. */
export class Waker {
  #waiting: (() => void)[] = []
  #isPlanned = false

  wake(resolve: () => void): void {
    this.#waiting.push(resolve)
    if (this.#isPlanned) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      this.hurry()
    })
  }

  /** Resumes them now: a tick in which the stream of a fast model is read may be long. */
  hurry(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
