import { type GrowingText, growingText } from "./growing-text.ts"

/** Incomplete events longer than this are passed on instead of buffered. */
const restBytesMax = 1024 * 1024
const carriageReturn = 13

/**
 * Returns the same event stream, but joins consecutive text deltas that arrived in one network read to one event. A
 * fast model sends hundreds of deltas at once, and the provider's package spends most of the processor time of a call
 * on parsing each. A delta that arrives alone is not changed. See docs/decisions/joined-deltas.md.
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

/** Takes the bytes of an event stream and returns the same events, or fewer. Events of unknown form are not changed. */
export class DeltaJoiner {
  #rest: Buffer | undefined
  /** True after a carriage return: no known server sends one, so such a stream is passed on unchanged. */
  #isOff = false

  push(bytes: Uint8Array): Uint8Array | undefined {
    if (this.#isOff) return bytes
    const own = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const all = this.#rest ? Buffer.concat([this.#rest, own]) : own
    this.#rest = undefined
    if (all.includes(carriageReturn)) {
      this.#isOff = true
      return all
    }
    const end = all.lastIndexOf("\n\n") + 2
    if (end < 2) {
      if (all.length > restBytesMax) return all
      this.#rest = all
      return undefined
    }
    if (end < all.length) this.#rest = all.subarray(end)
    const whole = all.subarray(0, end)
    return all.indexOf("\n\n") + 2 === end ? whole : joinEvents(whole)
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

function joinEvents(bytes: Buffer): Uint8Array {
  const events = bytes.toString("utf8").split("\n\n")
  events.pop()
  let text = ""
  let open: Open | undefined
  let isJoined = false
  const flush = () => {
    if (open) text += `${open.count === 1 ? open.event : open.head + open.write()}\n\n`
    open = undefined
  }
  for (const event of events) {
    const next = readDelta(event)
    if (next && open && open.head === next.head && open.key === next.key) {
      open.join(next)
      open.count++
      isJoined = true
      continue
    }
    flush()
    if (next) open = next
    else text += `${event}\n\n`
  }
  flush()
  return isJoined ? Buffer.from(text) : bytes
}

/** An event with one line of JSON data and perhaps a name. */
const shape = /^((?:event: ?[\w.-]+\n)?data: ?)(\{[^\n]*\})$/

function readDelta(event: string): Open | undefined {
  const match = shape.exec(event)
  if (!match) return undefined
  try {
    const growing = growingText(JSON.parse(match[2]!))
    return growing && Object.assign(growing, { event, head: match[1]!, count: 1 })
  } catch {
    return undefined
  }
}
