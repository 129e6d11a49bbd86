/** Readers of streams: any number, each of which checks that it gets everything in order. */
import { answerParent } from "../child.ts"
import { Histogram } from "../histogram.ts"
import { MarkReader, systemUs } from "../marks.ts"
import { type OpenStream, openStream, type StreamRequest } from "../sse.ts"
import { type StreamKind, StreamText } from "../stream-text.ts"

export interface ReadOptions extends StreamRequest {
  kind: StreamKind
  sessionID?: string
  readers: number
  /** How many marks the answer has. */
  marks: number
}

/** Of all readers together. */
export interface ReadResult {
  /** From the model's write of a delta until it is parsed here. */
  medianMs: number
  p90Ms: number
  p95Ms: number
  p99Ms: number
  /** Between two arrivals of deltas at one reader. */
  longestGapMs: number
  /** The share of deltas that arrived in the last tenth of the time. */
  lastTenthShare: number
  /** From the model's first write to the last arrival. */
  elapsedMs: number
  /** Separate writes of the server that a reader saw, on average. */
  arrivals: number
  /** Of this process, all readers together. */
  cpuMs: number
}

const connectAtOnce = 50

class Reader {
  readonly marks = new MarkReader()
  readonly #text: StreamText
  readonly #wanted: number
  readonly #delays: Histogram
  readonly #ready = Promise.withResolvers<void>()
  readonly #done = Promise.withResolvers<void>()
  readonly arrivals: { atUs: number; count: number }[] = []
  longestGapUs = 0
  #lastUs = 0
  #stream: OpenStream | undefined

  constructor({ kind, sessionID, marks }: ReadOptions, delays: Histogram) {
    this.#text = new StreamText(kind, sessionID)
    this.#wanted = marks
    this.#delays = delays
    this.#done.promise.catch(() => {})
    this.#ready.promise.catch(() => {})
  }

  get ready(): Promise<void> {
    return this.#ready.promise
  }

  get done(): Promise<void> {
    return this.#done.promise
  }

  get lastUs(): number {
    return this.#lastUs
  }

  async open(options: ReadOptions): Promise<void> {
    this.#stream = await openStream(options, (data) => this.#take(data))
    this.#stream.response.once("close", () =>
      this.#fail(new Error("A stream ended before all of it was read.")),
    )
    if (options.kind === "relay") this.#ready.resolve()
  }

  close(): void {
    this.#stream?.close()
  }

  #take(data: string[]): void {
    const nowUs = systemUs()
    const before = this.marks.count
    try {
      for (const one of data) {
        const { text, isReady } = this.#text.see(one)
        if (isReady) this.#ready.resolve()
        if (text) this.marks.take(text, (writtenUs) => this.#delays.add(nowUs - writtenUs))
      }
    } catch (error) {
      this.#fail(error)
      this.close()
      return
    }
    if (this.marks.count === before) return
    if (before > 0) this.longestGapUs = Math.max(this.longestGapUs, nowUs - this.#lastUs)
    this.#lastUs = nowUs
    this.arrivals.push({ atUs: nowUs, count: this.marks.count - before })
    if (this.marks.count === this.#wanted) this.#done.resolve()
  }

  #fail(error: unknown): void {
    this.#ready.reject(error)
    this.#done.reject(error)
  }
}

let readers: Reader[] = []
let delays = new Histogram()
let cpu = process.cpuUsage()
let stalled: OpenStream[] = []

const handlers = {
  /** Opens the streams; resolves when they will receive everything. */
  async open(options: ReadOptions): Promise<void> {
    delays = new Histogram()
    readers = Array.from({ length: options.readers }, () => new Reader(options, delays))
    for (let at = 0; at < readers.length; at += connectAtOnce) {
      await Promise.all(readers.slice(at, at + connectAtOnce).map((reader) => reader.open(options)))
    }
    await Promise.all(readers.map((reader) => reader.ready))
    globalThis.gc!()
    cpu = process.cpuUsage()
  },
  /** Resolves when everything was read. */
  async finish(): Promise<ReadResult> {
    await Promise.all(readers.map((reader) => reader.done))
    const { user, system } = process.cpuUsage(cpu)
    const result = summary((user + system) / 1000)
    for (const reader of readers) reader.close()
    readers = []
    return result
  },
  /** Opens a stream, and stops reading once it has begun. */
  async stall(options: StreamRequest): Promise<void> {
    const ready = Promise.withResolvers<void>()
    const text = new StreamText("rows")
    const stream = await openStream(options, (data) => {
      if (data.some((one) => text.see(one).isReady)) ready.resolve()
    })
    await ready.promise
    stream.response.pause()
    stalled.push(stream)
  },
  endStalled(): void {
    for (const stream of stalled) stream.close()
    stalled = []
  },
}
export type ReaderHandlers = typeof handlers
answerParent(handlers)

function summary(cpuMs: number): ReadResult {
  const shares = readers.map(lastTenthShare)
  const arrivals = readers.reduce((sum, reader) => sum + reader.arrivals.length, 0)
  return {
    medianMs: delays.percentileMs(0.5),
    p90Ms: delays.percentileMs(0.9),
    p95Ms: delays.percentileMs(0.95),
    p99Ms: delays.percentileMs(0.99),
    longestGapMs: Math.max(...readers.map((reader) => reader.longestGapUs)) / 1000,
    lastTenthShare: Math.max(...shares),
    elapsedMs: Math.max(...readers.map((reader) => reader.lastUs - reader.marks.firstUs)) / 1000,
    arrivals: arrivals / readers.length,
    cpuMs,
  }
}

function lastTenthShare({ marks, arrivals, lastUs }: Reader): number {
  const fromUs = lastUs - (lastUs - marks.firstUs) / 10
  const late = arrivals.filter(({ atUs }) => atUs >= fromUs).reduce((sum, { count }) => sum + count, 0)
  return late / marks.count
}
