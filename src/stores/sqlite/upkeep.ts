import { statSync } from "node:fs"
import type { WorkerClient } from "./worker-client.ts"

/** Sealed text is indexed after this long, so that a burst is one batch. */
const indexDelayMs = 200
/** The log is emptied when it is larger than this, looked at after so many transactions. */
const walBytesMax = 2 * 1024 * 1024
const walCheckEvery = 32
/** A log that nobody writes to is emptied after this long. */
const idleMs = 2000

/** Decides when the worker indexes text and empties the log. Its timers never keep the process alive. */
export class Upkeep {
  readonly #worker: WorkerClient
  readonly #walPath: string
  #indexTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #lastWrite = 0
  #transactions = 0
  #checkpointing = false

  constructor(worker: WorkerClient, path: string) {
    this.#worker = worker
    this.#walPath = `${path}-wal`
  }

  /** Text was sealed, or a title changed. */
  sealed(): void {
    if (this.#indexTimer !== undefined) return
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined
      // What fails here is done by the next search, or by the next batch.
      this.#worker.ask("index").catch(() => {})
    }, indexDelayMs)
    this.#indexTimer.unref()
  }

  /** A transaction was committed. */
  wrote(): void {
    this.#lastWrite = performance.now()
    this.#transactions += 1
    if (this.#transactions % walCheckEvery === 0 && this.#walBytes() > walBytesMax) this.#checkpoint()
    if (this.#idleTimer !== undefined) return
    this.#idleTimer = setInterval(() => this.#whenIdle(), idleMs)
    this.#idleTimer.unref()
  }

  close(): void {
    clearTimeout(this.#indexTimer)
    clearInterval(this.#idleTimer)
  }

  #whenIdle(): void {
    if (performance.now() - this.#lastWrite < idleMs) return
    clearInterval(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#walBytes() > 0) this.#checkpoint()
  }

  #checkpoint(): void {
    if (this.#checkpointing) return
    this.#checkpointing = true
    this.#worker
      .ask("checkpoint")
      .catch(() => {})
      .finally(() => {
        this.#checkpointing = false
      })
  }

  #walBytes(): number {
    return statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0
  }
}
