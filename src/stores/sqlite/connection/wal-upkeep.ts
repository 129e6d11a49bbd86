import type { Database } from "./database.ts"
import { pageBytes } from "./open.ts"
import type { WorkerClient } from "./worker-client.ts"

/** Sealed text is indexed after this long, so that a burst is one batch. */
const indexDelayMs = 200
/** From this size on the log is written back while commits go on; from the second on they wait for it. */
const logBytesFull = 3.5 * 1024 * 1024
const logBytesHold = 6 * 1024 * 1024
/** The log's size is looked at after so many writes. */
const logCheckEvery = 16
const frameBytes = pageBytes + 24
/** A log that nobody writes to is emptied after this long. */
const idleMs = 2000

/** Decides when the worker indexes text and empties the log. Its timers never keep the process alive. */
export class WalUpkeep {
  readonly #worker: WorkerClient
  readonly #db: Database
  /** Not the same in every process, so that they do not all notice at once. */
  readonly #fullBytes = logBytesFull * (1 + Math.random() / 4)
  #indexTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #lastWrite = 0
  #writes = 0
  #emptying: Promise<void> | undefined
  #held: Promise<void> | undefined

  constructor(worker: WorkerClient, db: Database) {
    this.#worker = worker
    this.#db = db
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

  /** A transaction with that many writes was committed. */
  wrote(writes: number): void {
    this.#lastWrite = performance.now()
    this.#writes += writes
    if (this.#writes >= logCheckEvery) this.#checkLog()
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
    this.#writes = 0
    const bytes = this.#logBytes()
    if (bytes > this.#fullBytes) this.#emptying ??= this.#writeBack()
    if (bytes > logBytesHold) this.#held ??= this.#emptying
  }

  /**
   * Most of the log is written back while commits go on; the rest needs a moment without them. The next commit then
   * begins the log anew. Of several processes that notice a full log, one does it.
   */
  async #writeBack(): Promise<void> {
    try {
      const isOurs = await this.#worker.ask("checkpoint")
      if (isOurs && this.#logBytes() > this.#fullBytes / 2) {
        const rest = this.#worker.ask("restartLog")
        this.#held ??= rest.then(
          () => {},
          () => {},
        )
        await rest
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
    this.#worker.ask("emptyLog").catch(() => {})
  }

  /** How much of the log is in use and not all in the database yet. */
  #logBytes(): number {
    const row = this.#db.get("PRAGMA wal_checkpoint(NOOP)") as [number, number, number] | undefined
    if (row === undefined || row[1] <= row[2]) return 0
    return row[1] * frameBytes
  }
}
