/** Work that takes longer than this together, in one tick of the event loop, leaves the rest to the next ticks. */
const sliceMs = 5
/** How many waiting callers a tick lets begin at most. */
const perTickMax = 64

/**
 * Shares the ticks of the event loop among callers that all have work at once, such as a thousand prompts or a thousand
 * streaming models. Each tick has time for some of them, in the order of their calls; between two ticks Node serves
 * everything else.
 */
export class Slices {
  readonly #waiting: (() => void)[] = []
  /** 0 until the first call in a tick. */
  #endMs = 0
  #isTicking = false
  /** While this is true, nobody begins. It is asked again in each tick. */
  readonly #isHeld: () => boolean

  constructor(options: { isHeld?: () => boolean } = {}) {
    this.#isHeld = options.isHeld ?? (() => false)
  }

  /** Calls `begin` at once if the tick has time for it, else in a later tick. */
  run(begin: () => void): void {
    if (this.#mayBegin()) begin()
    else this.#waiting.push(begin)
  }

  /** Undefined if the tick has time for the caller; else a promise that resolves in a later tick. */
  turn(): Promise<void> | undefined {
    return this.#mayBegin() ? undefined : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #tick(): void {
    if (this.#isTicking) return
    this.#isTicking = true
    setImmediate(this.#onTick)
  }

  #mayBegin(): boolean {
    const nowMs = performance.now()
    if (this.#endMs === 0) {
      this.#endMs = nowMs + sliceMs
      this.#tick()
    }
    return this.#waiting.length === 0 && nowMs < this.#endMs && !this.#isHeld()
  }

  readonly #onTick = (): void => {
    this.#isTicking = false
    this.#endMs = 0
    if (this.#waiting.length === 0) return
    this.#tick()
    if (this.#isHeld()) return
    this.#endMs = performance.now() + sliceMs
    // An immediate for each caller: Node runs the promises of one before it calls the next, so that the slice counts them.
    for (let count = Math.min(this.#waiting.length, perTickMax); count > 0; count--) {
      setImmediate(this.#beginOne)
    }
  }

  readonly #beginOne = (): void => {
    if (performance.now() < this.#endMs) this.#waiting.shift()?.()
  }
}
