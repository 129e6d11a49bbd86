import type { StemmaEvent } from "../../protocol/index.ts"
import type { Frame, Subscription } from "../frame.ts"

const end: IteratorReturnResult<undefined> = { done: true, value: undefined }

/**
 * The events of a subscription, which starts with the first call of `next`. Not an async generator, because a long
 * answer has many events and an async generator costs several times as much for each.
 */
export class EventIterator implements AsyncIterableIterator<StemmaEvent, undefined> {
  readonly #subscribe: () => Subscription
  #subscription: Subscription | undefined
  #batches: AsyncIterator<Frame[]> | undefined
  #frames: Frame[] = []
  #at = 0
  #reading: Promise<void> | undefined
  #isDone = false

  constructor(subscribe: () => Subscription) {
    this.#subscribe = subscribe
  }

  next(): Promise<IteratorResult<StemmaEvent, undefined>> {
    while (this.#at < this.#frames.length) {
      const frame = this.#frames[this.#at++]!
      if ("event" in frame) return Promise.resolve({ done: false, value: frame.event })
    }
    if (this.#isDone) return Promise.resolve(end)
    this.#reading ??= this.#read()
    return this.#reading.then(() => this.next())
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isDone = true
    this.#frames = []
    this.#subscription?.close()
    return end
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  async #read(): Promise<void> {
    try {
      this.#subscription ??= this.#subscribe()
      this.#batches ??= this.#subscription.batches()[Symbol.asyncIterator]()
      const { done, value } = await this.#batches.next()
      if (done) this.#isDone = true
      this.#frames = done || this.#isDone ? [] : value
      this.#at = 0
    } catch (error) {
      this.#isDone = true
      throw error
    } finally {
      this.#reading = undefined
    }
  }
}
