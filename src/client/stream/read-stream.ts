import { StemmaError } from "../../protocol/error/error.ts"
import type { Connection } from "../connection.ts"
import { EventParser, type ServerEvent } from "./parse-events.ts"

/**
 * The server-sent events of one connection, as they arrive, until it ends or breaks. A connection without any byte for
 * too long, not even a heartbeat, counts as broken. Throws the signal's reason if the signal is aborted first.
 */
export async function* readStream(
  connection: Connection,
  options: { path: string; query: Record<string, string>; signal: AbortSignal },
): AsyncGenerator<ServerEvent[], void, undefined> {
  const response = await connection.send({
    ...options,
    method: "GET",
    accept: "text/event-stream",
    silenceMs: connection.reconnect.silenceMs,
  })
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  if (!isStream || !response.body) {
    response.body?.cancel().catch(() => {})
    throw new StemmaError("unavailable", "The server did not answer with an event stream. Check the address.")
  }
  const reader = response.body.getReader()
  const parser = new EventParser()
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      const events = parser.push(chunk.value)
      if (events.length > 0) yield events
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
