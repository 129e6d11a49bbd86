import { Slices } from "../../run/index.ts"

/** As many ticks in a row with a new connection are a crowd. */
const crowdTicks = 4
/** For so many ticks at most, requests wait until the crowd is inside. A tick that only accepts takes about 0.1 ms. */
const crowdTicksMax = 2000

/**
 * Decides when the work on each request begins, in the order of arrival, so that a thousand requests at once do not stop the
 * event loop.
 *
 * Node accepts one connection in each tick of its event loop. While many clients connect at once, every millisecond of
 * other work in a tick is a millisecond for each client that waits to be accepted, a health check included. So requests wait
 * until the crowd is inside.
 */
export class RequestPace {
  readonly #slices = new Slices({ isHeld: () => this.#isCrowded() })
  #hasArrival = false
  #arrivalTicks = 0
  #isCounting = false

  /** A client has connected. */
  arrived(): void {
    this.#hasArrival = true
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(this.#count)
  }

  /** Calls `begin` at once if the current tick has time for it, else in a later tick. */
  run(begin: () => void): void {
    this.#slices.run(begin)
  }

  #isCrowded(): boolean {
    return this.#arrivalTicks >= crowdTicks && this.#arrivalTicks < crowdTicksMax
  }

  /** Counts the ticks in a row in which a client has connected. */
  readonly #count = (): void => {
    if (this.#hasArrival) {
      this.#hasArrival = false
      this.#arrivalTicks++
      setImmediate(this.#count)
      return
    }
    this.#arrivalTicks = 0
    this.#isCounting = false
  }
}
