import type { ServerResponse } from "node:http"

/** The destination of a stream's bytes. */
export interface Sink {
  readonly isClosed: boolean
  /** True while `drained` would wait. */
  readonly isBehind: boolean
  /** Writes bytes. Returns false if the reader is behind: await `drained` before the next write. */
  write(bytes: Uint8Array): boolean
  /** Resolves when the reader has caught up or the connection is closed. */
  drained(): Promise<void>
  /** Ends the stream normally: the reader knows that nothing is missing. */
  end(): void
  /**
   * Closes the connection after the written bytes were sent, without a normal end: the reader knows that frames are
   * missing.
   */
  cut(): void
  /** Called once, when the reader is gone. */
  onClose(listener: () => void): void
}

/** How long a reader may take for the last bytes before the connection is destroyed. */
const lastBytesMs = 2000

export class NodeSink implements Sink {
  readonly #response: ServerResponse

  constructor(response: ServerResponse, head: { status: number; headers: Record<string, string> }) {
    this.#response = response
    // Frames are written in batches, so Nagle's algorithm would only delay them.
    response.socket?.setNoDelay(true)
    response.writeHead(head.status, head.headers)
    response.flushHeaders()
    response.on("error", () => {})
  }

  get isClosed(): boolean {
    return this.#response.destroyed || this.#response.writableEnded
  }

  get isBehind(): boolean {
    return !this.isClosed && this.#response.writableNeedDrain
  }

  write(bytes: Uint8Array): boolean {
    if (this.isClosed) return true
    return this.#response.write(bytes)
  }

  drained(): Promise<void> {
    const response = this.#response
    if (!this.isBehind) return Promise.resolve()
    return new Promise((resolve) => {
      const settle = () => {
        response.off("drain", settle).off("close", settle)
        resolve()
      }
      response.on("drain", settle).on("close", settle)
    })
  }

  end(): void {
    if (!this.isClosed) this.#response.end()
  }

  cut(): void {
    if (this.isClosed) return
    const response = this.#response
    const destroy = () => response.destroy()
    const timer = setTimeout(destroy, lastBytesMs)
    response.once("close", () => clearTimeout(timer))
    // Without the last chunk of the chunked encoding the reader sees a broken connection, and reconnects.
    response.write("\n", () => setImmediate(destroy))
  }

  onClose(listener: () => void): void {
    if (this.#response.destroyed) queueMicrotask(listener)
    else this.#response.once("close", listener)
  }
}

/** How many bytes a web stream buffers. */
const webBytesMax = 64 * 1024

export class WebSink implements Sink {
  readonly stream: ReadableStream<Uint8Array>
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined
  readonly #listeners: (() => void)[] = []
  #pulled: (() => void) | undefined

  constructor() {
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        pull: () => this.#wake(),
        cancel: () => this.#close(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: webBytesMax }),
    )
  }

  get isClosed(): boolean {
    return this.#controller === undefined
  }

  get isBehind(): boolean {
    return this.#controller !== undefined && (this.#controller.desiredSize ?? 0) <= 0
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#controller) return true
    this.#controller.enqueue(bytes)
    return (this.#controller.desiredSize ?? 0) > 0
  }

  drained(): Promise<void> {
    if (!this.isBehind) return Promise.resolve()
    return new Promise((resolve) => {
      this.#pulled = resolve
    })
  }

  end(): void {
    this.#controller?.close()
    this.#close()
  }

  cut(): void {
    // An error would drop unread bytes. A reader in this process learns from the last frame that more would follow.
    this.end()
  }

  onClose(listener: () => void): void {
    if (this.isClosed) queueMicrotask(listener)
    else this.#listeners.push(listener)
  }

  #wake(): void {
    const resolve = this.#pulled
    this.#pulled = undefined
    resolve?.()
  }

  #close(): void {
    this.#controller = undefined
    this.#wake()
    for (const listener of this.#listeners.splice(0)) listener()
  }
}
