import { StemmaError } from "../../protocol/error/error.ts"

/** Aborts a response when no byte arrives for too long. A slow response that keeps sending is not aborted. */
export class ResponseTimeout {
  /** Aborted after the timeout, and together with the caller's signal. */
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
      this.#controller.abort(
        new StemmaError("unavailable", `The server sent nothing for ${this.#silenceMs} ms.`),
      )
    }, this.#silenceMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /**
   * The same response with a timeout for each read. The timer runs only during a read, so a slow reader is not cut off.
   */
  wrap(response: Response): Response {
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
    // Some `fetch` implementations do not end a response body when the request's signal is aborted.
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
        throw signal.aborted ? signal.reason : connectionBroken(error)
      } finally {
        this.stop()
      }
    }
    // With `highWaterMark: 0`, the body is read only on demand.
    return new ReadableStream({ pull, cancel }, { highWaterMark: 0 })
  }
}

function connectionBroken(cause: unknown): StemmaError {
  return new StemmaError("unavailable", "The connection to the server broke.", { cause })
}
