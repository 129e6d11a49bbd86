import { mendMetadata } from "../response/metadata.ts"
import { type GrowingText, growingText } from "./growing-text.ts"

/** Incomplete events longer than this are passed on instead of buffered. */
const restBytesMax = 1024 * 1024
const lineFeed = 10
const carriageReturn = 13

/**
 * Returns the same event stream, but joins consecutive text deltas that arrived in one network read to one event. A
 * fast model sends hundreds of deltas at once, and the provider's package spends most of the processor time of a call
 * on parsing each. A delta that arrives alone is not changed. See docs/decisions/joined-deltas.md. Metadata of the
 * wrong type is mended, because the package would refuse the answer for it.
 */
export function withJoinedDeltas(response: Response): Response {
  const { body, headers, status, statusText } = response
  if (!body || !headers.get("content-type")?.startsWith("text/event-stream")) return response
  return new Response(joined(body), { headers, status, statusText })
}

function joined(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const joiner = new DeltaJoiner()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read()
          const bytes = done ? joiner.end() : joiner.push(value)
          if (bytes) controller.enqueue(bytes)
          if (done) controller.close()
          if (done || bytes) return
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/**
 * Takes the bytes of an event stream and returns the same events, or fewer. Events of unknown form are not changed. In
 * a stream with carriage returns, metadata is mended but no event is joined.
 */
export class DeltaJoiner {
  #rest: Buffer | undefined
  /** True inside of an event that is too long to be buffered: it is passed on as it is. */
  #isLong = false
  #hasReturns = false

  push(bytes: Uint8Array): Uint8Array | undefined {
    const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    if (!this.#isLong) return this.#pushEvents(this.#rest ? Buffer.concat([this.#rest, own]) : own)
    const end = own.indexOf(lineFeed) + 1
    if (end === 0) return own
    this.#isLong = false
    const rest = this.#pushEvents(own.subarray(end))
    return rest ? Buffer.concat([own.subarray(0, end), rest]) : own.subarray(0, end)
  }

  #pushEvents(all: Buffer): Uint8Array | undefined {
    this.#hasReturns ||= all.includes(carriageReturn)
    const end = eventsEnd(all, this.#hasReturns)
    this.#isLong = end === 0 && all.length > restBytesMax
    if (this.#isLong) {
      this.#rest = undefined
      return all
    }
    this.#rest = end < all.length ? all.subarray(end) : undefined
    return end === 0 ? undefined : joinEvents(all.subarray(0, end), { canJoin: !this.#hasReturns })
  }

  end(): Uint8Array | undefined {
    const rest = this.#rest
    this.#rest = undefined
    return rest
  }
}

/** A delta that later deltas may be joined to. */
interface Open extends GrowingText {
  /** The original event, sent if no other delta was joined. */
  event: string
  /** The text before the JSON data: the event's name and `data:`. */
  head: string
  count: number
}

/** Where the last complete event ends; 0 if there is none. */
function eventsEnd(bytes: Buffer, hasReturns: boolean): number {
  const plain = bytes.lastIndexOf("\n\n")
  const withReturn = hasReturns ? bytes.lastIndexOf("\n\r\n") : -1
  return Math.max(plain < 0 ? 0 : plain + 2, withReturn < 0 ? 0 : withReturn + 3)
}

const gap = /(\r?\n\r?\n)/

function joinEvents(bytes: Buffer, { canJoin }: { canJoin: boolean }): Uint8Array {
  const all = bytes.toString("utf8")
  const events = canJoin ? all.split("\n\n") : all.split(gap)
  events.pop()
  let text = ""
  let open: Open | undefined
  let isChanged = false
  const flush = () => {
    if (open) text += `${open.count === 1 ? open.event : open.head + open.write()}\n\n`
    open = undefined
  }
  for (const event of events) {
    const { mended, delta } = readEvent(event, { canJoin: canJoin && events.length > 1 })
    if (mended !== undefined) isChanged = true
    if (!canJoin) {
      // The gaps are among the events.
      text += mended ?? event
      continue
    }
    if (delta && open && open.head === delta.head && open.key === delta.key) {
      open.join(delta)
      open.count++
      isChanged = true
      continue
    }
    flush()
    if (delta) open = delta
    else text += `${mended ?? event}\n\n`
  }
  flush()
  return isChanged ? Buffer.from(text) : bytes
}

/** An event with one line of JSON data and perhaps a name. */
const shape = /^((?:\r?\n)*(?:event: ?[\w.-]+\r?\n)?data: ?)(\{[^\r\n]*\})$/

/** The text delta of an event, and the event with mended metadata, if there is such a thing. */
function readEvent(event: string, { canJoin }: { canJoin: boolean }): { mended?: string; delta?: Open } {
  const match = shape.exec(event)
  if (!match) return {}
  const [, head, data] = match as unknown as [string, string, string]
  try {
    const { value, isMended } = readMended(data)
    const mended = isMended ? head + JSON.stringify(value) : undefined
    const growing = canJoin ? growingText(value) : undefined
    const delta = growing && Object.assign(growing, { event: mended ?? event, head, count: 1 })
    return { ...(mended !== undefined && { mended }), ...(delta && { delta }) }
  } catch {
    return {}
  }
}

/**
 * Numbers that some servers write though JSON does not have them; and texts, which are not searched for such numbers.
 */
const noNumber = /"(?:[^"\\]|\\.)*"|-?\b(?:NaN|Infinity)\b/g

function readMended(data: string): { value: unknown; isMended: boolean } {
  try {
    const value: unknown = JSON.parse(data)
    return { value, isMended: mendMetadata(value) }
  } catch (error) {
    if (!/NaN|Infinity/.test(data)) throw error
    const quoted = data.replace(noNumber, (found) => (found.startsWith('"') ? found : `"${found}"`))
    const value: unknown = JSON.parse(quoted)
    mendMetadata(value)
    return { value, isMended: true }
  }
}
