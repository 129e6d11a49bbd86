import { statSync } from "node:fs"
import type { WorkerClient } from "./worker-client.ts"

/** Sealed text is indexed after this long, so that a burst is one batch. */
const indexDelayMs = 200
/** From this size on the log is written back while commits go on; from the second on they wait for it. */
const walBytesFull = 2 * 1024 * 1024
const walBytesHold = 4 * 1024 * 1024
/** The log's size is looked at after so many transactions. */
const walCheckEvery = 16
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
  #emptying: Promise<void> | undefined
  #held: Promise<void> | undefined

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
    if (this.#transactions % walCheckEvery === 0) this.#checkLog()
    if (this.#idleTimer !== undefined) return
    this.#idleTimer = setInterval(() => this.#whenIdle(), idleMs)
    this.#idleTimer.unref()
  }

  /** What the next transaction must wait for, if the log grows faster than it is written back. */
  get pressure(): Promise<void> | undefined {
    return this.#held
  }

  close(): void {
    clearTimeout(this.#indexTimer)
    clearInterval(this.#idleTimer)
  }

  #checkLog(): void {
    const bytes = this.#walBytes()
    if (bytes > walBytesFull) this.#emptying ??= this.#emptyLog()
    if (bytes > walBytesHold) this.#held ??= this.#emptying
  }

  /** Most of the log goes while commits go on; the rest needs a moment without them. */
  async #emptyLog(): Promise<void> {
    try {
      await this.#worker.ask("checkpoint")
      if (this.#walBytes() > walBytesFull) {
        const emptied = this.#worker.ask("emptyLog")
        this.#held ??= emptied.then(
          () => {},
          () => {},
        )
        await emptied
      }
    } catch {
      // The next transactions try again.
    } finally {
      this.#emptying = undefined
      this.#held = undefined
    }
  }

  #whenIdle(): void {
    if (performance.now() - this.#lastWrite < idleMs) return
    clearInterval(this.#idleTimer)
    this.#idleTimer = undefined
    if (this.#walBytes() > 0) this.#worker.ask("emptyLog").catch(() => {})
  }

  #walBytes(): number {
    return statSync(this.#walPath, { throwIfNoEntry: false })?.size ?? 0
  }
}
