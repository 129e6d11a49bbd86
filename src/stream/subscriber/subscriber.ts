import type { Scope } from "../../stores/store.ts"
import { bufferUnitsMax, type Frame, type Subscription } from "../frame.ts"
import { frameUnits } from "./frame-units.ts"
import { type Waker, wakeNowUnits } from "./waker.ts"

/** Reads the next frames of the past and passes them to `pushPast`. */
export type ReadPast = () => Promise<void>

export interface SubscriberOptions {
  scope: Scope | undefined
  takesRows: boolean
  bufferMax: number
  waker: Waker
  onClose(subscriber: Subscriber): void
}

/** One subscriber: the frames that wait for it, and how it takes them. */
export class Subscriber implements Subscription {
  readonly scope: Scope | undefined
  readonly takesRows: boolean
  readonly ready: Promise<void>
  /** The subscriber does not receive rows up to this version: it has them, or joined after them. */
  fromVersion = 0
  readonly #options: SubscriberOptions
  readonly #ready = Promise.withResolvers<void>()
  #frames: Frame[] = []
  #framesMax: number
  #units = 0
  /** How much text waited at the last call of `wakeNow`. */
  #unitsAtWake = 0
  /** The cursors of the newest frame that was taken, and of the newest frame that waits. */
  #taken = ""
  #waiting = ""
  #past: ReadPast | undefined
  #resume: (() => void) | undefined
  readonly #onTaken: (() => void)[] = []
  #state: "open" | "ended" | "closed" = "open"
  #error: unknown

  constructor(options: SubscriberOptions) {
    this.#options = options
    this.scope = options.scope
    this.takesRows = options.takesRows
    this.#framesMax = options.bufferMax
    this.ready = this.#ready.promise
    // A caller may ignore `ready` and receive the error while iterating, so a rejection must not be unhandled.
    this.ready.catch(() => {})
  }

  get isOpen(): boolean {
    return this.#state === "open"
  }

  /** Sets the cursor that the frames start from. */
  begin(cursor: string): void {
    this.#taken = cursor
    this.#waiting = cursor
  }

  /**
   * The subscriber receives everything from now on. `past` reads the rest of the past as the subscriber takes frames.
   */
  start(past?: ReadPast): void {
    this.#past = past
    this.#ready.resolve()
    this.#wake()
  }

  /** Ends the catch-up: from now on frames are pushed. */
  endPast(): void {
    this.#past = undefined
  }

  /**
   * Adds a frame of the past. It does not count for `bufferMax`, because the past is read only as the subscriber takes
   * it.
   */
  pushPast(frame: Frame): void {
    if (this.#state !== "open") return
    this.#framesMax++
    if (frame.cursor !== undefined) this.#waiting = frame.cursor
    this.#frames.push(frame)
  }

  push(frame: Frame): void {
    if (this.#state !== "open") return
    if (this.#frames.length >= this.#framesMax || this.#units > bufferUnitsMax) {
      this.#lag()
      return
    }
    this.#units += frameUnits(frame)
    if (frame.cursor !== undefined) this.#waiting = frame.cursor
    this.#frames.push(frame)
    if (this.#resume !== undefined) this.#wake()
    else if (this.#units - this.#unitsAtWake >= wakeNowUnits) {
      this.#unitsAtWake = this.#units
      this.#options.waker.wakeNow()
    }
  }

  /** Frames that wait can still be taken. Then the iteration ends, with the error if there is one. */
  end(error?: unknown): void {
    if (this.#state !== "open") return
    this.#state = "ended"
    this.#error = error
    if (error === undefined) this.#ready.resolve()
    else this.#ready.reject(error)
    this.#leave()
  }

  taken(): Promise<void> | undefined {
    const isTaken = this.#frames.length === 0 && this.#resume !== undefined
    if (isTaken || this.#state === "closed") return undefined
    return new Promise((resolve) => this.#onTaken.push(resolve))
  }

  close(): void {
    if (this.#state === "closed") return
    const wasOpen = this.#state === "open"
    this.#state = "closed"
    this.#frames = []
    this.#past = undefined
    this.#ready.resolve()
    if (wasOpen) this.#leave()
    this.#wake()
    this.#tellTaken()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Frame, void, undefined> {
    for await (const frames of this.batches()) yield* frames
  }

  async *batches(): AsyncGenerator<Frame[], void, undefined> {
    try {
      for (;;) {
        const frames = await this.#take()
        if (frames === undefined) return
        yield frames
      }
    } finally {
      this.close()
    }
  }

  async #take(): Promise<Frame[] | undefined> {
    for (;;) {
      if (this.#frames.length > 0) return this.#takeWaiting()
      if (this.#state !== "open") return this.#finish()
      if (this.#past) await this.#readPast(this.#past)
      else
        await new Promise<void>((resolve) => {
          this.#resume = resolve
          this.#tellTaken()
        })
    }
  }

  #tellTaken(): void {
    for (const resolve of this.#onTaken.splice(0)) resolve()
  }

  #takeWaiting(): Frame[] {
    const frames = this.#frames
    this.#frames = []
    this.#units = 0
    this.#unitsAtWake = 0
    this.#framesMax = this.#options.bufferMax
    this.#taken = this.#waiting
    return frames
  }

  #finish(): undefined {
    const error = this.#error
    this.#error = undefined
    if (error !== undefined) throw error
    return undefined
  }

  async #readPast(past: ReadPast): Promise<void> {
    try {
      await past()
    } catch (error) {
      this.end(error)
    }
  }

  #lag(): void {
    this.#frames = [{ lagged: true, cursor: this.#taken }]
    this.#waiting = this.#taken
    this.end()
  }

  #leave(): void {
    this.#options.onClose(this)
    this.#wake()
  }

  #wake(): void {
    const resume = this.#resume
    if (resume === undefined) return
    this.#resume = undefined
    this.#options.waker.wake(resume)
  }
}
