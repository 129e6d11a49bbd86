import { StemmaError, type StemmaEvent } from "../../protocol/index.ts"
import type { Connection } from "../connection.ts"
import { type FollowOptions, follow, type StreamFrame } from "./follow.ts"

export interface EventsOptions {
  /** A cursor of an earlier stream: what changed after it comes first. */
  since?: string
  /** Ends the stream, without an error. */
  signal?: AbortSignal
}

/**
 * Events as they happen, over any number of lost connections. What was missed meanwhile comes first when it is back; some
 * of it may be told a second time, nothing is left out. To be iterated once. Leaving the loop ends it.
 */
export class EventStream implements AsyncIterableIterator<StemmaEvent, undefined>, Disposable {
  /** Resolves when everything from now on will be told; rejects if that never comes, also because it was closed. */
  readonly ready: Promise<void>
  readonly #controller = new AbortController()
  readonly #events: AsyncGenerator<StemmaEvent, undefined, undefined>
  readonly #ready = Promise.withResolvers<void>()
  #cursor: string | undefined
  #isLive = false

  constructor(connection: Connection, options: Omit<FollowOptions, "signal" | "onDrop"> & EventsOptions) {
    const { signal: given, ...rest } = options
    const signal = given ? AbortSignal.any([given, this.#controller.signal]) : this.#controller.signal
    this.#cursor = options.since
    const frames = follow(connection, {
      ...rest,
      signal,
      onDrop: () => {
        this.#isLive = false
      },
    })
    this.ready = this.#ready.promise
    this.ready.catch(() => {})
    this.#events = this.#take(frames, begin(frames, this.#ready))
  }

  /** From where another stream would go on, after what was taken so far. */
  get cursor(): string | undefined {
    return this.#cursor
  }

  /** False while the past is told, and while the server is out of reach. */
  get isLive(): boolean {
    return this.#isLive
  }

  next(): Promise<IteratorResult<StemmaEvent, undefined>> {
    return this.#events.next()
  }

  async return(): Promise<IteratorResult<StemmaEvent, undefined>> {
    this.close()
    return this.#events.return(undefined)
  }

  close(): void {
    this.#controller.abort()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async *#take(
    frames: AsyncGenerator<StreamFrame[], void, undefined>,
    first: Promise<IteratorResult<StreamFrame[], void>>,
  ): AsyncGenerator<StemmaEvent, undefined, undefined> {
    try {
      for (let batch = await first; !batch.done; batch = await frames.next()) {
        for (const { value, cursor } of batch.value) {
          this.#cursor = cursor ?? this.#cursor
          if (value.type === "synced") this.#isLive = true
          else yield value as StemmaEvent
        }
      }
      return undefined
    } finally {
      this.#isLive = false
      this.close()
      await frames.return()
    }
  }
}

/** Connects at once, so that nothing is missed between the call and the first look. */
function begin(
  frames: AsyncGenerator<StreamFrame[], void, undefined>,
  ready: PromiseWithResolvers<void>,
): Promise<IteratorResult<StreamFrame[], void>> {
  const first = frames.next()
  first.then(({ done }) => {
    if (done) ready.reject(new StemmaError("unavailable", "This stream was closed."))
    else ready.resolve()
  }, ready.reject)
  return first
}
