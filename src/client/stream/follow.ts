import { StemmaError } from "../../protocol/error/error.ts"
import { isErrorShape, isTemporary, retryAfterOf, toError } from "../answer-error.ts"
import type { Connection } from "../connection.ts"
import { Backoff, pause } from "./backoff.ts"
import type { ServerEvent } from "./parse-events.ts"
import { readStream } from "./read-stream.ts"

/** One frame of a stream: an event or a row as the server sent it, or `synced`. */
export interface StreamFrame {
  value: { type: string; properties?: unknown }
  /** Where the stream continues after this frame. Undefined if the cursor did not change. */
  cursor: string | undefined
}

export interface FollowOptions {
  path: string
  query: Record<string, string>
  since: string | undefined
  signal: AbortSignal
  /** Called when the connection is lost. The next frames continue from the last cursor. */
  onDrop?: (error: unknown) => void
}

/**
 * The frames of a stream, in batches as they arrive. Reconnects after every loss and continues from the last cursor.
 * Ends when the signal is aborted. Throws if a retry cannot help: the server rejects the caller, the session or the
 * cursor.
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
      if (!isTemporary(error)) throw error
      lost = error
    }
    // After an error of the server itself, the delay keeps growing.
    if (isSynced && !StemmaError.is(lost, "internal")) backoff.reset()
    options.onDrop?.(lost ?? new StemmaError("unavailable", "The server ended the stream."))
    await pause(backoff.nextMs(retryAfterOf(lost)), signal)
  }
}

/** The frames of some server-sent events, and the error if one of them ends the stream. */
function framesOf(events: readonly ServerEvent[]): { frames: StreamFrame[]; end?: StemmaError } {
  const frames: StreamFrame[] = []
  for (const { data, id: cursor } of events) {
    const value = parse(data)
    if (value.type === "error") return { frames, end: serverError(value.properties) }
    if (value.type === "lagged") {
      return {
        frames,
        end: new StemmaError(
          "unavailable",
          "The client read the stream too slowly, so the server closed it.",
        ),
      }
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
    // Not JSON: the error below covers this case too.
  }
  throw new StemmaError("unavailable", "The server sent data that is not a Stemma event. Check the address.")
}

function serverError(properties: unknown): StemmaError {
  if (isErrorShape(properties)) return toError(properties, {})
  return new StemmaError("internal", "The server closed the stream after an internal error.")
}
