import { StemmaError } from "../../protocol/error/error.ts"
import type { StemmaEvent } from "../../protocol/index.ts"
import type { Connection } from "../connection.ts"
import { type FollowOptions, follow, type StreamFrame } from "./follow.ts"

export interface EventsOptions {
  /** A cursor of an earlier stream. What changed after it comes first. */
  since?: string
  /** Ends the stream, without an error. */
  signal?: AbortSignal
}

/**
 * Live events that survive lost connections. After a reconnect, the missed events come first; some events may arrive
 * twice, none is lost. Iterate once. Leaving the loop ends the stream.
 */
export class EventStream implements AsyncIterableIterator<StemmaEvent, undefined>, Disposable {
  /**
   * Resolves when every later event will be received. Rejects if that never happens, or if the stream is closed first.
   */
  readonly ready: Promise<void>
  readonly #controller = new AbortController()
  readonly #events: AsyncGenerator<StemmaEvent, undefined, undefined>
  readonly #ready = Promise.withResolvers<void>()
  #cursor: string | undefined
  #isLive = false

  constructor(connection: Connection, options: Omit<FollowOptions, "signal" | "onDrop"> & EventsOptions) {
    const { signal: callerSignal, ...rest } = options
    const signal = callerSignal
      ? AbortSignal.any([callerSignal, this.#controller.signal])
      : this.#controller.signal
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
    this.#events = this.#take(frames, connectNow(frames, this.#ready))
  }

  /** The cursor after the events that were taken so far. A new stream can continue from it. */
  get cursor(): string | undefined {
    return this.#cursor
  }

  /** False while missed events arrive, and while the server cannot be reached. */
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

/** Connects at once, so that no event is missed between the call and the first iteration. */
function connectNow(
  frames: AsyncGenerator<StreamFrame[], void, undefined>,
  ready: PromiseWithResolvers<void>,
): Promise<IteratorResult<StreamFrame[], void>> {
  const first = frames.next()
  first.then(({ done }) => {
    if (done) ready.reject(new StemmaError("unavailable", "The stream was closed."))
    else ready.resolve()
  }, ready.reject)
  return first
}
