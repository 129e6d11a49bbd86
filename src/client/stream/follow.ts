import { StemmaError } from "../../protocol/index.ts"
import { isErrorShape, isPassing, retryAfterOf, toError } from "../answer-error.ts"
import type { Connection } from "../connection.ts"
import { Backoff, pause } from "./backoff.ts"
import type { ServerEvent } from "./parse-events.ts"
import { readStream } from "./read-stream.ts"

/** One frame of a stream: an event or a row as the server wrote it, or `synced`. */
export interface StreamFrame {
  value: { type: string; properties?: unknown }
  /** From where to go on after it, if that is another place than before it. */
  cursor: string | undefined
}

export interface FollowOptions {
  path: string
  query: Record<string, string>
  since: string | undefined
  signal: AbortSignal
  /** Called whenever the connection is lost: what comes next begins at the last cursor again. */
  onDrop?: (error: unknown) => void
}

/**
 * The frames of a stream, in batches as they arrive. Comes back after every loss and goes on from the last cursor. Ends when
 * the signal says so, and with an error if coming back is of no use: the server does not know the caller, the session or
 * the cursor.
 */
export async function* follow(
  connection: Connection,
  options: FollowOptions,
): AsyncGenerator<StreamFrame[], void, undefined> {
  const { signal } = options
  const backoff = new Backoff(connection.reconnect)
  let { since } = options
  while (!signal.aborted) {
    let lost: unknown
    let isSynced = false
    try {
      const query = { ...options.query, ...(since !== undefined && { since }) }
      for await (const events of readStream(connection, { path: options.path, query, signal })) {
        const { frames, end } = framesOf(events)
        since = frames.findLast(({ cursor }) => cursor !== undefined)?.cursor ?? since
        isSynced ||= frames.some(({ value }) => value.type === "synced")
        if (frames.length > 0) yield frames
        if (end) throw end
      }
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
      lost = error
    }
    // What the server itself could not go on with is not asked for again at once.
    if (isSynced && !StemmaError.is(lost, "internal")) backoff.reset()
    options.onDrop?.(lost ?? new StemmaError("unavailable", "The server ended the stream."))
    await pause(backoff.nextMs(retryAfterOf(lost)), signal)
  }
}

/** The frames of some messages, and what ends the stream if one of them does. */
function framesOf(events: readonly ServerEvent[]): { frames: StreamFrame[]; end?: StemmaError } {
  const frames: StreamFrame[] = []
  for (const { data, id: cursor } of events) {
    const value = parse(data)
    if (value.type === "error") return { frames, end: told(value.properties) }
    if (value.type === "lagged") {
      return { frames, end: new StemmaError("unavailable", "This reader was too slow for the stream.") }
    }
    frames.push({ value, cursor })
  }
  return { frames }
}

function parse(data: string): StreamFrame["value"] {
  try {
    const value: unknown = JSON.parse(data)
    if (typeof value === "object" && value !== null && "type" in value && typeof value.type === "string") {
      return value as StreamFrame["value"]
    }
  } catch {
    // Told below.
  }
  throw new StemmaError("unavailable", "The server sent something that is no event of Stemma's.")
}

function told(properties: unknown): StemmaError {
  if (isErrorShape(properties)) return toError(properties, {})
  return new StemmaError("internal", "The server ended the stream because of an error of its own.")
}
