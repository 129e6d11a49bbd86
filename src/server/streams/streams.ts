import type { Frame } from "../../stream/hub.ts"
import type { Call } from "../http/call.ts"
import { type ErrorAnswer, errorAnswer } from "../http/errors.ts"
import type { Format, Numbered } from "./format.ts"
import { NodeSink, type Sink, WebSink } from "./sink.ts"
import { type Statuses, WithStatuses } from "./with-statuses.ts"

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
}

const heartbeat = Buffer.from(":\n\n")
/** Tells a browser to wait 1 s before it reconnects. */
const greeting = Buffer.from("retry: 1000\n\n")

/** A source of frames: a subscription of the hub, or an object made of one. */
export interface Source<F> {
  readonly ready: Promise<void>
  batches(): AsyncIterable<F[]>
  /** Resolves when no frame waits and the reader of `batches()` has asked for more. Undefined if that is so already. */
  taken?(): Promise<void> | undefined
  close(): void
}

export interface StreamOptions<F extends Numbered> {
  format: Format<F>
  /** The session statuses that are sent right after `synced`. */
  statuses?: Statuses
  /** Text that is sent before all frames. */
  first?: string
  /** The stream ends after a batch that has a frame for which this is true. */
  isLast?: (frame: F) => boolean
  onClose?: () => void
  /** Called once, with a function that writes a text between two batches of frames. */
  onOpen?: (write: (text: string) => void) => void
  /** The body that is sent when the stream fails, in the format of its readers. */
  failure?: (error: ErrorAnswer["body"]) => unknown
}

interface Open {
  sink: Sink
  subscription: { close(): void; taken?(): Promise<void> | undefined }
  wroteMs: number
}

/** How long an answer waits for the streams. A reader that is further behind gets its events after the answer. */
const writtenMs = 1000
/** A reader that has read nothing for this long is not waited for: it would delay every answer. */
const stalledMs = 200

/** The open streams. The writer of a session never waits for a reader. */
export class Streams {
  readonly #open = new Set<Open>()
  readonly #options: { heartbeatMs: number; stallMs: number; onWarning: (error: unknown) => void }
  #timer: NodeJS.Timeout | undefined
  #onNoneOpen: (() => void) | undefined

  constructor(options: { heartbeatMs: number; stallMs: number; onWarning: (error: unknown) => void }) {
    this.#options = options
  }

  get count(): number {
    return this.#open.size
  }

  /**
   * Answers with the frames of a subscription. If the subscription cannot start, for example with a cursor of another
   * store, the error is thrown before anything is sent.
   */
  async serve<F extends Numbered = Frame>(
    call: Call,
    subscription: Source<F>,
    options: StreamOptions<F>,
  ): Promise<Response> {
    try {
      await subscription.ready
    } catch (error) {
      subscription.close()
      options.onClose?.()
      throw error
    }
    const { sink, response } = this.#begin(call)
    const open: Open = { sink, subscription, wroteMs: performance.now() }
    this.#open.add(open)
    this.#timer ??= setInterval(() => this.#beat(), this.#options.heartbeatMs).unref()
    sink.onClose(() => subscription.close())
    sink.write(greeting)
    if (options.first !== undefined) sink.write(Buffer.from(options.first))
    options.onOpen?.((text) => {
      // A reader that is behind for too long is cut off; it reconnects and reads everything again.
      if (sink.isBehind && performance.now() - open.wroteMs > this.#options.stallMs) subscription.close()
      else sink.write(Buffer.from(text))
    })
    this.#pump(open, subscription, options)
      .catch((error) => this.#options.onWarning(error))
      .finally(() => {
        this.#open.delete(open)
        if (this.#open.size === 0) {
          clearInterval(this.#timer)
          this.#timer = undefined
          this.#onNoneOpen?.()
        }
        options.onClose?.()
      })
    return response
  }

  /** Resolves when each open stream has written the frames that wait now, or after a second. */
  async written(): Promise<void> {
    const nowMs = performance.now()
    const waiting: Promise<void>[] = []
    for (const { subscription, sink, wroteMs } of this.#open) {
      if (sink.isBehind && nowMs - wroteMs > stalledMs) continue
      const taken = subscription.taken?.()
      if (taken) waiting.push(taken)
    }
    if (waiting.length > 0) await within(writtenMs, Promise.all(waiting))
  }

  /** Resolves at once if no stream is open, when the last one is closed, or after the timeout. */
  async whenNoneIsOpen({ timeoutMs }: { timeoutMs: number }): Promise<void> {
    if (this.#open.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, timeoutMs)
    this.#onNoneOpen = resolve
    await promise
    clearTimeout(timer)
  }

  /** Closes all streams; readers reconnect, to another process if there is one. */
  close(): void {
    for (const { subscription } of this.#open) subscription.close()
  }

  #begin(call: Call): { sink: Sink; response: Response } {
    const all = { ...call.headers, ...headers }
    if (call.outgoing)
      return { sink: new NodeSink(call.outgoing, { status: 200, headers: all }), response: call.sent() }
    const sink = new WebSink()
    return { sink, response: new Response(sink.stream, { headers: all }) }
  }

  async #pump<F extends Numbered>(
    open: Open,
    subscription: Source<F>,
    options: StreamOptions<F>,
  ): Promise<void> {
    const { sink } = open
    const statuses = options.statuses && new WithStatuses(options.statuses)
    let mayEnd = false
    try {
      for await (const taken of subscription.batches()) {
        const frames = !statuses || statuses.isDone ? taken : await statuses.add(taken)
        const isTaken = sink.write(options.format.bytes(frames))
        open.wroteMs = performance.now()
        mayEnd = options.isLast !== undefined && frames.some(options.isLast)
        if (mayEnd) return
        if (!isTaken && !(await this.#isDrained(sink))) return
      }
    } catch (error) {
      const { failure = (properties: object) => ({ type: "error", properties }) } = options
      sink.write(Buffer.from(`data: ${JSON.stringify(failure(errorAnswer(error).body))}\n\n`))
    } finally {
      if (mayEnd) sink.end()
      else sink.cut()
    }
  }

  /** False if the reader did not catch up within the stall timeout. */
  #isDrained(sink: Sink): Promise<boolean> {
    return within(this.#options.stallMs, sink.drained())
  }

  #beat(): void {
    const sinceMs = performance.now() - this.#options.heartbeatMs / 2
    for (const open of this.#open) if (open.wroteMs < sinceMs) open.sink.write(heartbeat)
  }
}

/** False if the work takes longer. */
async function within(timeoutMs: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs)
  })
  const isInTime = await Promise.race([work.then(() => true as const), late])
  clearTimeout(timer)
  return isInTime
}
