import { setTimeout as sleep } from "node:timers/promises"
import { storeClosed } from "../../refusals.ts"
import { type Database, isBusy, toStemmaError } from "../connection/database.ts"
import { backoffMs } from "../connection/open.ts"

/** How long a write waits for other processes before it gives up, unharmed. */
const lockDeadlineMs = 15_000
/** A transaction is closed after this long, so that others get their turn; the rest goes into the next one. */
const transactionBudgetMs = 10

/** Store-wide numbers for commits, in the order in which they become visible. Only inside a write transaction. */
export interface Versions {
  /** The last one given out. */
  newest(): number
  take(): number
}

/** What a write runs inside the transaction. */
export type WriteBody<T> = (versions: Versions) => T

interface Job {
  body: WriteBody<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface Answer {
  job: Job
  value: unknown
  error: unknown
}

export interface WriterHooks {
  /** What the next transaction must wait for, if anything. */
  pressure(): Promise<void> | undefined
  begin(): void
  /** The newest version in the store. */
  newest(): number
  /** A transaction with that many writes is committed. */
  settle(writes: number): void
  /** A job failed and what it wrote was taken back; or the whole transaction was. */
  rollback(): void
}

/**
 * The one way to write. Jobs handed in during one turn of the event loop share a transaction, each in its own
 * savepoint; waiting for another process's lock never blocks the loop.
 */
export class Writer {
  readonly #db: Database
  readonly #hooks: WriterHooks
  readonly #versions: VersionCounter
  #queue: Job[] = []
  #scheduled = false
  #flushing: Promise<void> | undefined
  #closed = false

  constructor(db: Database, hooks: WriterHooks) {
    this.#db = db
    this.#hooks = hooks
    this.#versions = new VersionCounter(hooks.newest)
  }

  run<T>(body: WriteBody<T>): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed())
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ body, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Refuses new jobs and waits for those handed in. */
  async close(): Promise<void> {
    this.#closed = true
    while (this.#scheduled || this.#flushing || this.#queue.length > 0) {
      if (this.#flushing) await this.#flushing
      else await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #schedule(): void {
    if (this.#scheduled || this.#flushing) return
    this.#scheduled = true
    setImmediate(this.#turn)
  }

  readonly #turn = (): void => {
    this.#scheduled = false
    const pressure = this.#hooks.pressure()
    const waiting = pressure ? pressure.then(() => this.#flush()) : this.#flush()
    if (waiting === undefined) {
      if (this.#queue.length > 0) this.#schedule()
      return
    }
    this.#flushing = waiting.finally(() => {
      this.#flushing = undefined
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  /** Writes what is waiting. Returns a promise only if another process is in the way. */
  #flush(): Promise<void> | undefined {
    const jobs = this.#queue
    this.#queue = []
    try {
      this.#db.run("BEGIN IMMEDIATE")
    } catch (error) {
      if (isBusy(error)) return this.#wait(jobs)
      this.#failAll(jobs, error)
      return undefined
    }
    this.#transaction(jobs)
    return undefined
  }

  async #wait(jobs: Job[]): Promise<void> {
    const end = performance.now() + lockDeadlineMs
    for (let tries = 0; ; tries++) {
      await sleep(backoffMs(tries))
      try {
        this.#db.run("BEGIN IMMEDIATE")
        break
      } catch (error) {
        if (isBusy(error) && performance.now() < end) continue
        this.#failAll(jobs, error)
        return
      }
    }
    jobs.push(...this.#queue)
    this.#queue = []
    this.#transaction(jobs)
  }

  /** Runs the jobs in the transaction that has begun, commits, and answers. */
  #transaction(jobs: Job[]): void {
    const single = jobs.length === 1 ? jobs[0] : undefined
    const answers: Answer[] = []
    let value: unknown
    try {
      this.#hooks.begin()
      this.#versions.begin()
      if (single) value = single.body(this.#versions)
      else this.#group(jobs, answers)
      this.#db.run("COMMIT")
      this.#hooks.settle(jobs.length)
    } catch (error) {
      // A full disk or an I/O error may have ended the transaction already: nothing of it stands in any case.
      try {
        if (this.#db.inTransaction) this.#db.run("ROLLBACK")
      } catch {
        // The connection reports the first error below.
      }
      this.#hooks.rollback()
      this.#failAll(jobs, error)
      return
    }
    if (single) {
      single.resolve(value)
      return
    }
    for (const { job, value, error } of answers) {
      if (error === undefined) job.resolve(value)
      else job.reject(toStemmaError(error, this.#db.path))
    }
  }

  #group(jobs: Job[], answers: Answer[]): void {
    const end = performance.now() + transactionBudgetMs
    for (const [index, job] of jobs.entries()) {
      if (index > 0 && performance.now() > end) {
        this.#queue.unshift(...jobs.splice(index))
        break
      }
      const before = this.#versions.newest()
      this.#db.run("SAVEPOINT job")
      try {
        const value = job.body(this.#versions)
        this.#db.run("RELEASE job")
        answers.push({ job, value, error: undefined })
      } catch (error) {
        if (!this.#db.inTransaction) throw error
        this.#db.exec("ROLLBACK TO job; RELEASE job")
        this.#hooks.rollback()
        this.#versions.reset(before)
        answers.push({ job, value: undefined, error })
      }
    }
  }

  #failAll(jobs: Job[], error: unknown): void {
    for (const job of jobs) job.reject(toStemmaError(error, this.#db.path))
  }
}

class VersionCounter implements Versions {
  readonly #read: () => number
  #newest: number | undefined

  constructor(read: () => number) {
    this.#read = read
  }

  newest(): number {
    this.#newest ??= this.#read()
    return this.#newest
  }

  take(): number {
    this.#newest = this.newest() + 1
    return this.#newest
  }

  /** A new transaction: others may have taken some. */
  begin(): void {
    this.#newest = undefined
  }

  reset(newest: number): void {
    this.#newest = newest
  }
}
