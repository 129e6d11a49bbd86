import { setImmediate as turnOver } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import { encodeCursor } from "../../cursor.ts"
import { openMessage } from "../../plain/index.ts"
import { follow } from "../catalog/follow.ts"
import { dropIdle, load } from "../catalog/loader.ts"
import { reread } from "../catalog/open.ts"
import type { Core } from "../core.ts"
import type { StoreLock } from "../disk/lock.ts"
import { endForeignLine } from "../disk/torn-lines.ts"
import { settleSession } from "../foreign/adoption.ts"
import { BatchDraft } from "./batch-draft.ts"
import { checkpoint, writeIndexes } from "./checkpoint.ts"
import type { Batch } from "./journal.ts"
import { doBatch, looksDone, noteLength, redo, undoAppends } from "./recover.ts"

const lockTimeoutMs = 10_000
const journalBytesMax = 512 * 1024
/** A state file this long is looked at: most of it may be text that has been sealed since. */
const stateBytesMax = 128 * 1024
/** The index is written that long after a change, or later if writing it takes long. */
const indexDelayMs = 1000
const indexShare = 50

/** One call that changes something. */
export interface WriteJob<T> {
  /** The sessions whose messages it needs, asked under the lock. */
  sessions(): Iterable<string>
  /** True if it writes messages: then what another program left unfinished cannot wait. */
  writes?: boolean
  /** True if it may append to main files, or write them anew: then no line of another program may be unfinished. */
  appends?: boolean
  /** True if it can do without sessions that cannot be read. */
  lenient?: boolean
  /** True if it must be alone in its batch. */
  alone?: boolean
  /** Other things to wait for, under the lock. */
  prepare?(draft: BatchDraft): Promise<void>
  /** Changes the state and hands its changes to the draft, all or nothing. Nothing else happens meanwhile. */
  run(draft: BatchDraft): T
}

interface Queued {
  job: WriteJob<unknown>
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** Does all changes, one batch after the other: each takes the lock, the journal and the disk once. */
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
  #done: Batch | undefined

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

  /** Finishes what was handed in, and leaves files that are quickly opened again. */
  async close(): Promise<void> {
    clearTimeout(this.#indexTimer)
    while (this.#running) await this.#running
    if (this.#core.journal.isBegun || this.#core.staleIndexes.size > 0) {
      await this.submit(this.#upkeep(() => this.#checkpoint()))
        // The index is derived, and the journal can be read: whoever opens the store next can do without.
        .catch(() => undefined)
    }
    clearTimeout(this.#indexTimer)
  }

  #upkeep(action: () => Promise<void>): WriteJob<void> {
    return { alone: true, sessions: () => [], prepare: action, run: () => undefined }
  }

  async #run(): Promise<void> {
    // Everything that is handed in during this turn of the event loop goes together.
    await turnOver()
    try {
      while (this.#queue.length > 0) {
        const lone = this.#queue.findIndex(({ job }) => job.alone)
        const batch = this.#queue.splice(0, lone === 0 ? 1 : lone < 0 ? this.#queue.length : lone)
        const settled = await this.#flush(batch)
        for (const settle of settled) settle()
      }
    } finally {
      // At once: what is handed in a moment later must not wait for a run that has ended.
      this.#running = undefined
    }
  }

  /** Does some works and gives back how to answer them. */
  async #flush(works: Queued[]): Promise<(() => void)[]> {
    try {
      const takenOver = await this.#lock.acquire({ timeoutMs: lockTimeoutMs })
      try {
        await this.#catchUp({ takenOver })
        return await this.#perform(works)
      } finally {
        this.#lock.release()
        dropIdle(this.#core)
      }
    } catch (error) {
      return works.map(
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
    const doubtful = takenOver || core.undone || (last !== this.#done && last && !looksDone(core, last))
    const shifted = last && doubtful ? await redo(core, [last]) : undefined
    if (shifted && shifted.size > 0) await reread(core, { locked: true })
    this.#done = core.journal.last
    core.undone = false
    if (takenOver) this.#lock.sweep()
  }

  async #perform(works: Queued[]): Promise<(() => void)[]> {
    const core = this.#core
    const draft = new BatchDraft(core)
    const answers: (() => void)[] = []
    const ready: Queued[] = []
    for (const queued of works) {
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
    for (const step of draft.done) {
      try {
        step()
      } catch (error) {
        // It is committed: what could not be tidied up is left to `collect`.
        core.warn((error as Error).message)
      }
    }
    core.watchers.notify(encodeCursor(core.state.storeID, core.state.version), draft.touched)
    if (!draft.isEmpty) this.#keepUp(draft)
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
      const replicaPart = core.entries.get(id)
      if (!replicaPart) continue
      try {
        if (replicaPart.problem) throw replicaPart.problem
        if (job.appends) await endForeignLine(core, core.mainFile(replicaPart), replicaPart.main)
        if (!draft.has(replicaPart))
          await settleSession(core, replicaPart, { draft, now: job.writes ?? false })
        await load(core, replicaPart)
      } catch (error) {
        if (!job.lenient) throw error
      }
    }
  }

  /** Writes the batch: whole drafts first, then the journal, then the files. */
  async #commit(draft: BatchDraft): Promise<void> {
    const core = this.#core
    if (draft.failure !== undefined) throw draft.failure
    if (draft.isEmpty) return
    const batch = draft.build()
    await this.#writeJournal(draft, batch)
    try {
      this.#shift(doBatch(core, batch))
      this.#done = core.journal.last
    } catch (error) {
      if (batch.renames ?? batch.deletes) {
        // It cannot be taken back. It is in the journal, and done again before the next batch.
        core.undone = true
        core.warn(`The newest batch is in the journal but not in the files yet: ${(error as Error).message}`)
      } else {
        undoAppends(core, batch)
        core.journal.undo()
        throw error
      }
    }
    for (const { file } of batch.appends) core.unsynced.add(file)
    for (const [, file] of batch.renames ?? []) core.unsynced.add(file)
    if (!draft.purge) return
    // Should it not work now, the next batch tries again.
    this.#journalMax = 0
    if (!core.undone) await this.#checkpoint()
  }

  async #writeJournal(draft: BatchDraft, batch: Batch): Promise<void> {
    const { journal, files, full } = this.#core
    const drafts = [...draft.wholes].map(([file, text]) => ({ name: draft.draftOf(file), text }))
    try {
      for (const { name, text } of drafts) {
        files.remove(name)
        await files.create(name, Buffer.from(text), { sync: full })
      }
      journal.append(batch)
      try {
        if (full) await journal.sync()
      } catch (error) {
        journal.undo()
        throw error
      }
    } catch (error) {
      for (const { name } of drafts) files.remove(name)
      throw error
    }
  }

  /** Other programs' lines came before ours: the files are longer than the journal says. */
  #shift(shifted: { file: string; shift: number }[]): void {
    const core = this.#core
    for (const { file, shift } of shifted) {
      const replicaPart = [...core.entries.values()].find((candidate) => core.mainFile(candidate) === file)
      if (!replicaPart) continue
      replicaPart.main += shift
      noteLength(core, replicaPart)
    }
  }

  async #checkpoint(): Promise<void> {
    try {
      await checkpoint(this.#core)
      this.#journalMax = journalBytesMax
    } catch (error) {
      // Everything is in the journal and in the files: a checkpoint can wait.
      this.#core.warn(`The journal could not be begun again: ${(error as Error).message}`)
    }
  }

  /** Does a little later what nobody waits for: writes the index, begins the journal again. */
  #keepUp(draft: BatchDraft): void {
    const { journal, staleIndexes } = this.#core
    for (const id of draft.longStates(stateBytesMax)) this.#shorten(id)
    if (journal.size > this.#journalMax && !this.#core.undone) {
      // If it fails, the next try comes when the journal has grown as much again.
      if (this.#journalMax > 0) this.#journalMax = journal.size + journalBytesMax
      this.#later(() => this.#checkpoint())
    }
    if (this.#indexTimer || staleIndexes.size === 0) return
    const delayMs = Math.max(indexDelayMs, this.#indexMs * indexShare)
    this.#indexTimer = setTimeout(() => {
      this.#indexTimer = undefined
      this.#later(() => this.#index())
    }, delayMs)
    this.#indexTimer.unref()
  }

  /** What was streamed is in the main file once it is sealed: the state file need not have it any longer. */
  #shorten(id: string): void {
    if (this.#shortening.has(id)) return
    this.#shortening.add(id)
    const core = this.#core
    const job: WriteJob<void> = {
      sessions: () => [id],
      run(draft) {
        const replicaPart = core.entries.get(id)
        const session = core.state.sessions.get(id)
        if (replicaPart && session && !openMessage(session)) draft.shortenState(replicaPart)
      },
    }
    this.submit(job)
      .catch((error: Error) => core.warn(error.message))
      .finally(() => this.#shortening.delete(id))
      .catch(() => undefined)
  }

  #later(action: () => Promise<void>): void {
    this.submit(this.#upkeep(action)).catch((error: Error) => this.#core.warn(error.message))
  }

  async #index(): Promise<void> {
    const began = performance.now()
    await writeIndexes(this.#core)
    this.#indexMs = performance.now() - began
  }
}

export function closedError(): StemmaError {
  return new StemmaError("unavailable", "The store is closed. Open it again.")
}
