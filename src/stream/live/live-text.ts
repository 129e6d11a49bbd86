import type { Delta, Frame } from "../frame.ts"
import { type Waker, wakeNowUnits } from "../subscriber/waker.ts"

/** A longer delta is not joined with the next one. */
const unitsMax = 64 * 1024

/** True if `delta` continues the text of `before` and the two may be joined. */
export function goesOn(before: Delta, delta: Delta): boolean {
  return (
    before.partID === delta.partID &&
    before.field === delta.field &&
    before.offset + before.delta.length === delta.offset &&
    before.delta.length < unitsMax
  )
}

/**
 * Live text of one session on its way to the subscribers. Subscribers wake up at the end of an event loop tick, so the
 * text of one tick is joined: a fast model costs each subscriber one frame per tick instead of one frame per word.
 */
export class LiveText {
  readonly #waker: Waker
  readonly #send: (frame: Frame) => void
  #waiting: Delta | undefined
  /** True if `#waiting` is a joined copy, which may be changed. */
  #isOwn = false

  constructor(waker: Waker, give: (frame: Frame) => void) {
    this.#waker = waker
    this.#send = give
  }

  add(delta: Delta): void {
    const waiting = this.#waiting
    if (waiting === undefined || !goesOn(waiting, delta)) {
      this.flush()
      this.#waiting = delta
      this.#isOwn = false
      this.#waker.beforeWake(this.flush)
    } else if (this.#isOwn) waiting.delta += delta.delta
    else {
      this.#waiting = { ...waiting, delta: waiting.delta + delta.delta }
      this.#isOwn = true
    }
    if (this.#waiting!.delta.length >= wakeNowUnits) this.#waker.wakeNow()
  }

  /** Sends the waiting text. To be called before anything else of the session is sent. */
  readonly flush = (): void => {
    const delta = this.#waiting
    if (delta === undefined) return
    this.#waiting = undefined
    this.#send({ event: { type: "message.part.delta", properties: delta } })
  }
}
