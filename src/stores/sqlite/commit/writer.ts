import { setTimeout as sleep } from "node:timers/promises"
import { storeClosed } from "../../refusals.ts"
import { type Database, isBusy, toStemmaError } from "../connection/database.ts"
import { backoffMs } from "../connection/open.ts"

/** A write that cannot get SQLite's lock for this long fails with `unavailable` and changes nothing. */
const lockDeadlineMs = 15_000
/**
 * A transaction is committed after this time, so that other processes get the lock. The remaining jobs go into the next
 * transaction.
 */
const transactionBudgetMs = 10

/**
 * Gives out the store-wide versions of commits, in the order in which commits become visible. Must be used inside a
 * write transaction.
 */
export interface Versions {
  /** The newest version in the store, including versions taken in this transaction. */
  newest(): number
  /** Takes the next version. */
  take(): number
}

/** The body of a job. Runs inside the write transaction. */
export type WriteBody<T> = (versions: Versions) => T

interface Job {
  body: WriteBody<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

interface JobResult {
  job: Job
  value: unknown
  error: unknown
}

export interface WriterHooks {
  /** A promise that the next transaction must wait for, if any. */
  backpressure(): Promise<void> | undefined
  /** Called when a transaction has begun, before the first job runs. */
  begin(): void
  /** Reads the newest version in the store. */
  newestVersion(): number
  /** Called after a transaction with this many jobs was committed. */
  committed(writes: number): void
  /** Called after a job, or the whole transaction, was rolled back. */
  rolledBack(): void
}

/**
 * Runs all writes of this process. Jobs that are submitted in one event loop tick share a transaction, each in its own
 * savepoint. Waiting for another process's lock never blocks the event loop.
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
    this.#versions = new VersionCounter(hooks.newestVersion)
  }

  /** Submits a job. The promise resolves after the transaction was committed. */
  run<T>(body: WriteBody<T>): Promise<T> {
    if (this.#closed) return Promise.reject(storeClosed())
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ body, resolve: resolve as (value: unknown) => void, reject })
      this.#schedule()
    })
  }

  /** Refuses new jobs and waits for submitted jobs. */
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
    setImmediate(this.#runTick)
  }

  readonly #runTick = (): void => {
    this.#scheduled = false
    const backpressure = this.#hooks.backpressure()
    const flushing = backpressure ? backpressure.then(() => this.#flush()) : this.#flush()
    if (flushing === undefined) {
      if (this.#queue.length > 0) this.#schedule()
      return
    }
    this.#flushing = flushing.finally(() => {
      this.#flushing = undefined
      if (this.#queue.length > 0) this.#schedule()
    })
  }

  /** Runs the queued jobs in one transaction. Returns a promise only if another process holds the lock. */
  #flush(): Promise<void> | undefined {
    const jobs = this.#queue
    this.#queue = []
    try {
      this.#db.run("BEGIN IMMEDIATE")
    } catch (error) {
      if (isBusy(error)) return this.#beginWithRetry(jobs)
      this.#failAll(jobs, error)
      return undefined
    }
    this.#runTransaction(jobs)
    return undefined
  }

  async #beginWithRetry(jobs: Job[]): Promise<void> {
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
    this.#runTransaction(jobs)
  }

  /** Runs the jobs in the transaction that has begun, commits it and settles the promises of the jobs. */
  #runTransaction(jobs: Job[]): void {
    const single = jobs.length === 1 ? jobs[0] : undefined
    const results: JobResult[] = []
    let value: unknown
    try {
      this.#hooks.begin()
      this.#versions.begin()
      if (single) value = single.body(this.#versions)
      else this.#runInSavepoints(jobs, results)
      this.#db.run("COMMIT")
      this.#hooks.committed(jobs.length)
    } catch (error) {
      // A full disk or an I/O error may have ended the transaction already. Either way, nothing of it is stored.
      try {
        if (this.#db.inTransaction) this.#db.run("ROLLBACK")
      } catch {
        // The jobs are rejected with the first error below.
      }
      this.#hooks.rolledBack()
      this.#failAll(jobs, error)
      return
    }
    if (single) {
      single.resolve(value)
      return
    }
    for (const { job, value, error } of results) {
      if (error === undefined) job.resolve(value)
      else job.reject(toStemmaError(error, this.#db.path))
    }
  }

  #runInSavepoints(jobs: Job[], results: JobResult[]): void {
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
        results.push({ job, value, error: undefined })
      } catch (error) {
        if (!this.#db.inTransaction) throw error
        this.#db.exec("ROLLBACK TO job; RELEASE job")
        this.#hooks.rolledBack()
        this.#versions.reset(before)
        results.push({ job, value: undefined, error })
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

  /** Starts a new transaction. Other processes may have taken versions since. */
  begin(): void {
    this.#newest = undefined
  }

  reset(newest: number): void {
    this.#newest = newest
  }
}
