import type { Scope } from "../../stores/store.ts"
import { bufferUnitsMax, type Frame, type Subscription } from "../frame.ts"
import { frameUnits } from "./frame-units.ts"
import { hurryUnits, type Waker } from "./waker.ts"

/** Hands the next frames of the past to `keep`. */
export type Past = () => Promise<void>

export interface SubscriberParts {
  scope: Scope | undefined
  takesRows: boolean
  bufferMax: number
  waker: Waker
  onClose(subscriber: Subscriber): void
}

/** One listener: the frames that wait for it, and how it takes them. */
export class Subscriber implements Subscription {
  readonly scope: Scope | undefined
  readonly takesRows: boolean
  readonly ready: Promise<void>
  /** Rows up to this version were given, or are not wanted. */
  from = 0
  readonly #parts: SubscriberParts
  readonly #ready = Promise.withResolvers<void>()
  #frames: Frame[] = []
  #framesMax: number
  #units = 0
  /** How much waited when the reader was last hurried. */
  #hurried = 0
  /** The cursor of the newest frame that was taken, and of the newest that waits. */
  #taken = ""
  #waiting = ""
  #past: Past | undefined
  #resume: (() => void) | undefined
  #state: "open" | "ended" | "closed" = "open"
  #error: unknown

  constructor(parts: SubscriberParts) {
    this.#parts = parts
    this.scope = parts.scope
    this.takesRows = parts.takesRows
    this.#framesMax = parts.bufferMax
    this.ready = this.#ready.promise
    // Whoever does not ask for `ready` hears of the error while iterating.
    this.ready.catch(() => {})
  }

  get isOpen(): boolean {
    return this.#state === "open"
  }

  /** Where the frames begin. */
  begin(cursor: string): void {
    this.#taken = cursor
    this.#waiting = cursor
  }

  /** From now on everything is seen; the rest of the past, if there is any, is read as it is taken. */
  start(past?: Past): void {
    this.#past = past
    this.#ready.resolve()
    this.#wake()
  }

  /** The past is over: from now on frames are pushed. */
  endPast(): void {
    this.#past = undefined
  }

  /** Adds a frame of the past, which no bound holds back: it is read as it is taken. */
  keep(frame: Frame): void {
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
    else if (this.#units - this.#hurried >= hurryUnits) {
      this.#hurried = this.#units
      this.#parts.waker.hurry()
    }
  }

  /** What waits can still be taken; then the iteration ends, with the error if there is one. */
  end(error?: unknown): void {
    if (this.#state !== "open") return
    this.#state = "ended"
    this.#error = error
    if (error === undefined) this.#ready.resolve()
    else this.#ready.reject(error)
    this.#leave()
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
        })
    }
  }

  #takeWaiting(): Frame[] {
    const frames = this.#frames
    this.#frames = []
    this.#units = 0
    this.#hurried = 0
    this.#framesMax = this.#parts.bufferMax
    this.#taken = this.#waiting
    return frames
  }

  #finish(): undefined {
    const error = this.#error
    this.#error = undefined
    if (error !== undefined) throw error
    return undefined
  }

  async #readPast(past: Past): Promise<void> {
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
    this.#parts.onClose(this)
    this.#wake()
  }

  #wake(): void {
    const resume = this.#resume
    if (resume === undefined) return
    this.#resume = undefined
    this.#parts.waker.wake(resume)
  }
}
