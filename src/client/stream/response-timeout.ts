import { StemmaError } from "../../protocol/index.ts"

/** Gives up an answer of which nothing at all arrives for too long. However slow, one that goes on arriving is let be. */
export class ResponseTimeout {
  /** Aborted when the time has run out, and when the caller's own signal is. */
  readonly signal: AbortSignal
  readonly #silenceMs: number
  readonly #controller = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor({ silenceMs, signal }: { silenceMs: number; signal: AbortSignal | undefined }) {
    const own = this.#controller.signal
    this.signal = signal ? AbortSignal.any([signal, own]) : own
    this.#silenceMs = silenceMs
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

  /** The same answer, watched whenever somebody waits for more of it: a reader that is busy hears nothing either. */
  over(response: Response): Response {
    if (!response.body) return response
    return new Response(this.#body(response.body), response)
  }

  #body(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const { signal } = this
    const reader = body.getReader()
    const cancel = () => {
      signal.removeEventListener("abort", cancel)
      reader.cancel().catch(() => {})
    }
    // Not every `fetch` ends an answer when the signal of its request says so.
    signal.addEventListener("abort", cancel, { once: true })
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
      this.start()
      try {
        const { done, value } = await reader.read()
        signal.throwIfAborted()
        if (!done) return controller.enqueue(value)
        signal.removeEventListener("abort", cancel)
        controller.close()
      } catch (error) {
        cancel()
        throw signal.aborted ? signal.reason : broken(error)
      } finally {
        this.stop()
      }
    }
    // Nothing is read that nobody waits for.
    return new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
  }
}

function broken(cause: unknown): StemmaError {
  return new StemmaError("unavailable", "The connection to the server broke.", { cause })
}
