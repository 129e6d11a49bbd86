import { StemmaError } from "../protocol/index.ts"
import type { Connection } from "./connection.ts"
import { EventParser, type ServerEvent } from "./parse-events.ts"

/**
 * The messages of one stream, as they arrive, until it ends or breaks. One that says nothing for too long, not even that it
 * lives, is broken. Throws the signal's reason if that comes first.
 */
export async function* readStream(
  connection: Connection,
  options: { path: string; query: Record<string, string>; signal: AbortSignal },
): AsyncGenerator<ServerEvent[], void, undefined> {
  const watch = new Watch(connection.reconnect.silenceMs)
  const signal = AbortSignal.any([options.signal, watch.signal])
  const { path, query } = options
  try {
    watch.start()
    const response = await connection.send({
      method: "GET",
      path,
      query,
      accept: "text/event-stream",
      signal,
    })
    yield* readBody(response, { watch, signal })
  } finally {
    watch.stop()
  }
}

async function* readBody(
  response: Response,
  { watch, signal }: { watch: Watch; signal: AbortSignal },
): AsyncGenerator<ServerEvent[], void, undefined> {
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream")
  if (!isStream || !response.body) {
    response.body?.cancel().catch(() => {})
    throw new StemmaError("unavailable", "The server answered with something that is no stream of events.")
  }
  const reader = response.body.getReader()
  const cancel = () => {
    reader.cancel().catch(() => {})
  }
  signal.addEventListener("abort", cancel, { once: true })
  const parser = new EventParser()
  try {
    for (;;) {
      watch.start()
      const { done, value } = await read(reader, signal)
      // While the reader is busy with what it was given, nobody is silent.
      watch.stop()
      if (done) return
      const events = parser.push(value)
      if (events.length > 0) yield events
    }
  } finally {
    signal.removeEventListener("abort", cancel)
    cancel()
  }
}

async function read(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal) {
  try {
    const result = await reader.read()
    signal.throwIfAborted()
    return result
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw new StemmaError("unavailable", "The connection to the server broke.", { cause: error })
  }
}

/** Runs out if nothing is heard for too long. */
class Watch {
  readonly #silenceMs: number
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(silenceMs: number) {
    this.#silenceMs = silenceMs
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  start(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#controller.abort(new StemmaError("unavailable", "Nothing was heard of the server for too long."))
    }, this.#silenceMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
