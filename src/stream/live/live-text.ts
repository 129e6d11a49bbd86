import type { Delta, Frame } from "../frame.ts"
import { hurryUnits, type Waker } from "../subscriber/waker.ts"

/** A delta longer than this is no better than two. */
const unitsMax = 64 * 1024

/** True if the second is the next of the same text, and the two may become one. */
export function goesOn(before: Delta, delta: Delta): boolean {
  return (
    before.partID === delta.partID &&
    before.field === delta.field &&
    before.offset + before.delta.length === delta.offset &&
    before.delta.length < unitsMax
  )
}

/**
 * Live text of one session on its way to the listeners. Nobody is woken before the turn of the event loop ends, so what comes
 * within one is put together: a fast model costs each listener a frame a turn and not one for each word.
 */
export class LiveText {
  readonly #waker: Waker
  readonly #give: (frame: Frame) => void
  #waiting: Delta | undefined
  /** True if what waits is put together here, and may be changed. */
  #isOwn = false

  constructor(waker: Waker, give: (frame: Frame) => void) {
    this.#waker = waker
    this.#give = give
  }

  add(delta: Delta): void {
    const waiting = this.#waiting
    if (waiting === undefined || !goesOn(waiting, delta)) {
      this.flush()
      this.#waiting = delta
      this.#isOwn = false
      this.#waker.before(this.flush)
    } else if (this.#isOwn) waiting.delta += delta.delta
    else {
      this.#waiting = { ...waiting, delta: waiting.delta + delta.delta }
      this.#isOwn = true
    }
    if (this.#waiting!.delta.length >= hurryUnits) this.#waker.hurry()
  }

  /** Gives what waits. To be called before anything else of the session is given. */
  readonly flush = (): void => {
    const delta = this.#waiting
    if (delta === undefined) return
    this.#waiting = undefined
    this.#give({ event: { type: "message.part.delta", properties: delta } })
  }
}
