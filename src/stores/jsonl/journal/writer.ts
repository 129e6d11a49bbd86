import { setImmediate as nextTick } from "node:timers/promises"
import { encodeCursor } from "../../cursor.ts"
import { openMessage } from "../../plain/index.ts"
import { follow } from "../catalog/follow.ts"
import { load, unloadIdle } from "../catalog/loader.ts"
import { reread } from "../catalog/open.ts"
import type { Core } from "../core.ts"
import type { StoreLock } from "../disk/lock.ts"
import { endForeignLine } from "../disk/torn-lines.ts"
import { adoptNewLines } from "../foreign/adoption.ts"
import { BatchDraft } from "./batch-draft.ts"
import { checkpoint, writeIndexes } from "./checkpoint.ts"
import type { Batch } from "./journal.ts"
import { journalLengths, looksWritten, redo, undoAppends, writeBatch } from "./recover.ts"

const lockTimeoutMs = 10_000
const journalBytesMax = 512 * 1024
/** A state file of at least this size is shortened if most of it is text that was sealed since. */
const stateBytesMax = 128 * 1024
/**
 * The index is written this long after a change, or after `indexShare` times the duration of the last write if that is
 * longer.
 */
const indexDelayMs = 1000
const indexShare = 50

/** One call of a method that writes. */
export interface WriteJob<T> {
  /** The sessions whose messages the job needs. Called under the lock. */
  sessions(): Iterable<string>
  /**
   * True if the job writes messages. Then lines of other programs are adopted at once, even if a tool call in them has
   * no result.
   */
  writes?: boolean
  /**
   * True if the job may append to main files or rewrite them. Then an unfinished line of another program is ended or
   * moved aside first.
   */
  appends?: boolean
  /** True if the job ignores sessions that cannot be read. */
  skipsUnreadable?: boolean
  /** True if the job must be the only job in its batch. */
  alone?: boolean
  /** Async work to do first, under the lock. */
  prepare?(draft: BatchDraft): Promise<void>
  /** Changes the state synchronously and adds the changes to the draft, all or nothing. */
  run(draft: BatchDraft): T
}

interface Queued {
  job: WriteJob<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

/**
 * Runs all writes of this process in batches. Each batch takes the lock, writes the journal and writes the files once.
 */
export class Writer {
  readonly #core: Core
  readonly #lock: StoreLock
  #queue: Queued[] = []
  #running: Promise<void> | undefined
  #indexTimer: NodeJS.Timeout | undefined
  #indexMs = 0
  #journalMax = journalBytesMax
  readonly #shortening = new Set<string>()
  /** The newest batch that is certainly in the files. */
  #written: Batch | undefined

  constructor(core: Core, lock: StoreLock) {
    this.#core = core
    this.#lock = lock
  }

  submit<T>(job: WriteJob<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ job, resolve: resolve as (value: unknown) => void, reject })
      this.#running ??= this.#run()
    })
  }

  /** Finishes submitted jobs, and writes a checkpoint so that the store opens quickly the next time. */
  async close(): Promise<void> {
    clearTimeout(this.#indexTimer)
    while (this.#running) await this.#running
    if (this.#core.journal.isBegun || this.#core.staleIndexes.size > 0) {
      await this.submit(this.#maintenanceJob(() => this.#checkpoint()))
        // A failure is harmless: the next process to open the store reads the journal and rebuilds the index.
        .catch(() => undefined)
    }
    clearTimeout(this.#indexTimer)
  }

  #maintenanceJob(action: () => Promise<void>): WriteJob<void> {
    return { alone: true, sessions: () => [], prepare: action, run: () => undefined }
  }

  async #run(): Promise<void> {
    // Jobs that are submitted in this event loop tick share a batch.
    await nextTick()
    try {
      while (this.#queue.length > 0) {
        const aloneIndex = this.#queue.findIndex(({ job }) => job.alone)
        const batch = this.#queue.splice(
          0,
          aloneIndex === 0 ? 1 : aloneIndex < 0 ? this.#queue.length : aloneIndex,
        )
        const settled = await this.#flush(batch)
        for (const settle of settled) settle()
      }
    } finally {
      // Must be reset in the same tick, or a job that is submitted now would wait for a run that has ended.
      this.#running = undefined
    }
  }

  /** Runs jobs and returns functions that settle their promises. */
  async #flush(jobs: Queued[]): Promise<(() => void)[]> {
    try {
      const takenOver = await this.#lock.acquire({ timeoutMs: lockTimeoutMs })
      try {
        await this.#catchUp({ takenOver })
        return await this.#perform(jobs)
      } finally {
        this.#lock.release()
        unloadIdle(this.#core)
      }
    } catch (error) {
      return jobs.map(
        ({ reject }) =>
          () =>
            reject(error),
      )
    }
  }

  async #catchUp({ takenOver }: { takenOver: boolean }): Promise<void> {
    const core = this.#core
    if (!follow(core)) await reread(core, { locked: true })
    if (core.journal.tornBytes() > 0) core.journal.cutTorn()
    const { last } = core.journal
    const doubtful =
      takenOver || core.lastBatchPending || (last !== this.#written && last && !looksWritten(core, last))
    const shifted = last && doubtful ? await redo(core, [last]) : undefined
    if (shifted && shifted.size > 0) await reread(core, { locked: true })
    this.#written = core.journal.last
    core.lastBatchPending = false
    if (takenOver) this.#lock.sweep()
  }

  async #perform(jobs: Queued[]): Promise<(() => void)[]> {
    const core = this.#core
    const draft = new BatchDraft(core)
    const answers: (() => void)[] = []
    const ready: Queued[] = []
    for (const queued of jobs) {
      try {
        await this.#prepare(queued.job, draft)
        ready.push(queued)
      } catch (error) {
        answers.push(() => queued.reject(error))
      }
    }
    const done: { queued: Queued; value: unknown }[] = []
    for (const queued of ready) {
      try {
        done.push({ queued, value: queued.job.run(draft) })
      } catch (error) {
        answers.push(() => queued.reject(error))
      }
    }
    try {
      await this.#commit(draft)
    } catch (error) {
      draft.rollback()
      return [
        ...answers,
        ...done.map(
          ({ queued }) =>
            () =>
              queued.reject(error),
        ),
      ]
    }
    for (const step of draft.afterCommit) {
      try {
        step()
      } catch (error) {
        // The batch is committed. `collect` repeats a cleanup that failed.
        core.warn((error as Error).message)
      }
    }
    core.watchers.notify(encodeCursor(core.state.storeID, core.state.version), draft.changedIDs)
    if (!draft.isEmpty) this.#scheduleMaintenance(draft)
    return [
      ...answers,
      ...done.map(
        ({ queued, value }) =>
          () =>
            queued.resolve(value),
      ),
    ]
  }

  async #prepare(job: WriteJob<unknown>, draft: BatchDraft): Promise<void> {
    const core = this.#core
    await job.prepare?.(draft)
    for (const id of job.sessions()) {
      const tracked = core.tracked.get(id)
      if (!tracked) continue
      try {
        if (tracked.problem) throw tracked.problem
        if (job.appends) await endForeignLine(core, core.mainFile(tracked), tracked.main)
        if (!draft.has(tracked))
          await adoptNewLines(core, tracked, { draft, forWriting: job.writes ?? false })
        await load(core, tracked)
      } catch (error) {
        if (!job.skipsUnreadable) throw error
      }
    }
  }

  /** Writes the batch: new files first, then the journal, then the session files. */
  async #commit(draft: BatchDraft): Promise<void> {
    const core = this.#core
    if (draft.failure !== undefined) throw draft.failure
    if (draft.isEmpty) return
    const batch = draft.build()
    await this.#writeJournal(draft, batch)
    try {
      this.#addShifts(writeBatch(core, batch))
      this.#written = core.journal.last
    } catch (error) {
      if (batch.renames ?? batch.deletes) {
        // The batch cannot be undone. It is in the journal and is written again before the next batch.
        core.lastBatchPending = true
        core.warn(`The newest batch is in the journal but not in the files yet: ${(error as Error).message}`)
      } else {
        undoAppends(core, batch)
        core.journal.undo()
        throw error
      }
    }
    for (const { file } of batch.appends) core.unsynced.add(file)
    for (const [, file] of batch.renames ?? []) core.unsynced.add(file)
    if (!draft.clearsJournal) return
    // If the checkpoint fails now, the next batch tries again.
    this.#journalMax = 0
    if (!core.lastBatchPending) await this.#checkpoint()
  }

  async #writeJournal(draft: BatchDraft, batch: Batch): Promise<void> {
    const { journal, files, syncsCommits } = this.#core
    const drafts = [...draft.newFiles].map(([file, text]) => ({ name: draft.draftName(file), text }))
    try {
      for (const { name, text } of drafts) {
        files.remove(name)
        await files.create(name, Buffer.from(text), { sync: syncsCommits })
      }
      journal.append(batch)
      try {
        if (syncsCommits) await journal.sync()
      } catch (error) {
        journal.undo()
        throw error
      }
    } catch (error) {
      for (const { name } of drafts) files.remove(name)
      throw error
    }
  }

  /** Corrects the lengths of files in which lines of another program came before the appended bytes. */
  #addShifts(shifted: { file: string; shift: number }[]): void {
    const core = this.#core
    for (const { file, shift } of shifted) {
      const tracked = [...core.tracked.values()].find((candidate) => core.mainFile(candidate) === file)
      if (!tracked) continue
      tracked.main += shift
      journalLengths(core, tracked)
    }
  }

  async #checkpoint(): Promise<void> {
    try {
      await checkpoint(this.#core)
      this.#journalMax = journalBytesMax
    } catch (error) {
      // All data is in the journal and in the files, so the checkpoint can wait.
      this.#core.warn(`The checkpoint failed, so the journal keeps growing: ${(error as Error).message}`)
    }
  }

  /** Schedules work that no caller waits for: writing the index, shortening state files, restarting the journal. */
  #scheduleMaintenance(draft: BatchDraft): void {
    const { journal, staleIndexes } = this.#core
    for (const id of draft.longStates(stateBytesMax)) this.#shorten(id)
    if (journal.size > this.#journalMax && !this.#core.lastBatchPending) {
      // If the checkpoint fails, the next attempt comes when the journal has grown by the same size again.
      if (this.#journalMax > 0) this.#journalMax = journal.size + journalBytesMax
      this.#runLater(() => this.#checkpoint())
    }
    if (this.#indexTimer || staleIndexes.size === 0) return
    const delayMs = Math.max(indexDelayMs, this.#indexMs * indexShare)
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined
      this.#runLater(() => this.#writeIndexes())
    }, delayMs)
    this.#indexTimer.unref()
  }

  /** Shortens a state file: streamed text is in the main file after sealing, so the state file need not keep it. */
  #shorten(id: string): void {
    if (this.#shortening.has(id)) return
    this.#shortening.add(id)
    const core = this.#core
    const job: WriteJob<void> = {
      sessions: () => [id],
      run(draft) {
        const tracked = core.tracked.get(id)
        const session = core.state.sessions.get(id)
        if (tracked && session && !openMessage(session)) draft.shortenState(tracked)
      },
    }
    this.submit(job)
      .catch((error: Error) => core.warn(error.message))
      .finally(() => this.#shortening.delete(id))
      .catch(() => undefined)
  }

  #runLater(action: () => Promise<void>): void {
    this.submit(this.#maintenanceJob(action)).catch((error: Error) => this.#core.warn(error.message))
  }

  async #writeIndexes(): Promise<void> {
    const began = performance.now()
    await writeIndexes(this.#core)
    this.#indexMs = performance.now() - began
  }
}
