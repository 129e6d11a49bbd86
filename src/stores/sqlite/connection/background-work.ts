import type { Database } from "./database.ts"
import { pageBytes } from "./open.ts"
import type { WorkerClient } from "./worker-client.ts"

/** The delay before sealed text is indexed, so that a burst of messages becomes one batch. */
const indexDelayMs = 1000
/**
 * A log larger than `logBytesFull` is copied into the database while commits go on. Commits wait while the log is
 * larger than `logBytesHold`.
 */
const logBytesFull = 3.5 * 1024 * 1024
const logBytesHold = 6 * 1024 * 1024
/**
 * A checkpoint is announced this long before it begins, so that runs commit the text that they have sent to subscribers.
 * A log that grows beyond `logBytesUrgent` meanwhile is copied at once.
 */
const announceMs = 100
const logBytesUrgent = 5 * 1024 * 1024
/** The size of the log is checked after this many writes. */
const logCheckEvery = 16
const frameBytes = pageBytes + 24
/** The log is emptied after this time without a write, and this is checked several times. */
const idleMs = 2000
const idleCheckMs = 500

/**
 * Decides when the worker thread indexes text and checkpoints the write-ahead log. The timers never keep the process
 * alive.
 */
export class BackgroundWork {
  readonly #worker: WorkerClient
  readonly #db: Database
  /** Random, so that several processes do not start a checkpoint at the same moment. */
  readonly #fullBytes = logBytesFull * (1 + Math.random() / 4)
  #indexTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #lastWrite = 0
  #writes = 0
  #announced: NodeJS.Timeout | undefined
  #emptying: Promise<void> | undefined
  #held: Promise<void> | undefined

  constructor(worker: WorkerClient, db: Database) {
    this.#worker = worker
    this.#db = db
  }

  /** Called after a commit that sealed text or changed a title. */
  scheduleIndexing(): void {
    if (this.#indexTimer !== undefined) return
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined
      // If indexing fails, the next search or the next batch does it.
      this.#worker.ask("index").catch(() => {})
    }, indexDelayMs)
    this.#indexTimer.unref()
  }

  /** Called after a transaction with this many writes was committed. */
  countWrites(writes: number): void {
    this.#lastWrite = performance.now()
    this.#writes += writes
    if (this.#writes >= logCheckEvery) this.#checkLog()
    if (this.#idleTimer !== undefined) return
    this.#idleTimer = setInterval(() => this.#whenIdle(), idleCheckMs)
    this.#idleTimer.unref()
  }

  /**
   * A promise that the next transaction must wait for, while the log grows faster than it is copied into the database.
   */
  get backpressure(): Promise<void> | undefined {
    return this.#held
  }

  /** True from the announcement of a checkpoint until its end: commits may have to wait. */
  get delaysCommits(): boolean {
    return this.#announced !== undefined || this.#emptying !== undefined
  }

  close(): void {
    clearTimeout(this.#announced)
    clearTimeout(this.#indexTimer)
    clearInterval(this.#idleTimer)
  }

  #checkLog(): void {
    this.#writes = 0
    const bytes = this.#logBytes()
    if (bytes > logBytesUrgent) this.#beginWriteBack()
    else if (bytes > this.#fullBytes) this.#announce()
    if (bytes > logBytesHold) this.#held ??= this.#emptying
  }

  #announce(): void {
    if (this.delaysCommits) return
    this.#announced = setTimeout(() => this.#beginWriteBack(), announceMs)
    this.#announced.unref()
  }

  #beginWriteBack(): void {
    clearTimeout(this.#announced)
    this.#announced = undefined
    this.#emptying ??= this.#writeBack()
  }

  /**
   * Copies most of the log into the database while commits go on, and the rest while commits wait. The next commit then
   * starts at the beginning of the log file. If several processes notice a full log, one of them does this.
   */
  async #writeBack(): Promise<void> {
    try {
      const isOurs = await this.#worker.ask("checkpoint")
      if (!isOurs) return
      const rest = this.#worker.ask("restartLog")
      this.#held ??= rest.then(
        () => {},
        () => {},
      )
      await rest
    } catch {
      // The next transactions check the log again.
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

  /** The used bytes of the log; 0 if all of it is in the database already. */
  #logBytes(): number {
    const row = this.#db.get("PRAGMA wal_checkpoint(NOOP)") as [number, number, number] | undefined
    if (row === undefined || row[1] <= row[2]) return 0
    return row[1] * frameBytes
  }
}
