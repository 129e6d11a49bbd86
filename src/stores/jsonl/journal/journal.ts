import type { Tombstone } from "../../plain/index.ts"
import type { Files } from "../disk/files.ts"
import { isObject, type Line, parseGoodLines } from "../format/lines.ts"
import type { Summary } from "../format/summary.ts"

const journalName = "journal.jsonl"
const formatVersion = 1

/** What a batch did to one session: how long its files are now and, if people would see it in a list, how it looks. */
export interface SessionChange {
  folder: string
  name: string
  seq: number
  newest: number
  main: number
  state: number
  summary?: Summary
}

/** Bytes for the end of a file that is `at` bytes long. */
export interface Append {
  file: string
  at: number
  text: string
}

/**
 * Everything that the commits of one turn did. It is in the journal before any other file changes, so that it is done
 * whole even if the process dies on the way; doing it twice changes nothing.
 */
export interface Batch {
  /** Counts the batches of the store. */
  n: number
  version: number
  /** `null`: the session is gone. */
  sessions: Record<string, SessionChange | null>
  appends: Append[]
  /** Drafts that take the place of files. */
  renames?: [draft: string, file: string][]
  deletes?: string[]
  tombstones?: Tombstone[]
}

interface JournalHeader {
  type: "journal"
  format: number
  n: number
  version: number
  /** The boot of the machine in which the journal was begun: after another one, nothing unsynced can be trusted. */
  boot: string
}

/** The batches since the last checkpoint, as this process has read them. */
export class Journal {
  readonly #files: Files
  /** The file that was read; while it is held, its inode number tells it from every other file. */
  #pin: { ino: number; release(): void } | undefined
  #read = 0
  #before: { size: number; n: number; version: number } | undefined
  n = 0
  version = 0
  boot = ""
  /** The newest batch: the only one that may not be done yet. */
  last: Batch | undefined

  constructor(files: Files) {
    this.#files = files
  }

  /** How many bytes of the journal were read; it begins with a header. */
  get size(): number {
    return this.#read
  }

  /** True if there are batches in it. */
  get isBegun(): boolean {
    return this.last !== undefined
  }

  /**
   * The batches that others, or this process, appended since the last call; "lost" if some were missed, because the
   * journal was begun again meanwhile or is not there.
   */
  readNew(): Batch[] | "lost" {
    const stat = this.#files.stat(journalName)
    if (!stat || !this.#pin) return "lost"
    if (stat.ino === this.#pin.ino && stat.size === this.#read) return []
    if (stat.ino === this.#pin.ino && stat.size > this.#read) return this.#take(this.#wholeLines(this.#read))
    const { n } = this
    const batches = this.readAll()
    // Nothing was missed if the new journal goes on where the old one was read to.
    if (batches && this.n - batches.length === n) return batches
    // Until everything was read again, it stays lost.
    this.close()
    return "lost"
  }

  /** Everything in the journal from its beginning; `undefined` if there is none that can be read. */
  readAll(): Batch[] | undefined {
    this.close()
    this.#pin = this.#files.pin(journalName)
    const lines = this.#pin ? this.#wholeLines(0) : []
    const header = lines.shift()
    if (!header || !isHeader(header.value)) {
      this.close()
      return undefined
    }
    this.#read = header.to
    this.n = header.value.n
    this.version = header.value.version
    this.boot = header.value.boot
    this.last = undefined
    return this.#take(lines)
  }

  close(): void {
    this.#pin?.release()
    this.#pin = undefined
  }

  /** Whatever follows the last whole batch, in bytes: a writer died there. To be asked and cut under the lock. */
  tornBytes(): number {
    return (this.#files.stat(journalName)?.size ?? 0) - this.#read
  }

  cutTorn(): void {
    this.#files.truncate(journalName, this.#read)
  }

  append(batch: Batch): void {
    const { n, version } = this
    this.#before = { size: this.#read, n, version }
    const line = Buffer.from(`${JSON.stringify(batch)}\n`)
    this.#read = this.#files.append(journalName, line)
    this.#accept(batch)
  }

  /** Takes back the batch that was appended last: it could not be done. */
  undo(): void {
    const before = this.#before
    if (!before) return
    this.#files.truncate(journalName, before.size)
    this.#read = before.size
    this.n = before.n
    this.version = before.version
    this.last = undefined
    this.#before = undefined
  }

  /** Begins the journal again, after everything in it was done. */
  async restart(options: { n: number; version: number; boot: string; sync: boolean }): Promise<void> {
    const { n, version, boot } = options
    const header: JournalHeader = { type: "journal", format: formatVersion, n, version, boot }
    const bytes = Buffer.from(`${JSON.stringify(header)}\n`)
    await this.#files.replace(journalName, bytes, { sync: options.sync })
    this.close()
    this.#pin = this.#files.pin(journalName)
    this.#read = bytes.length
    this.n = n
    this.version = version
    this.boot = boot
    this.last = undefined
  }

  async sync(): Promise<void> {
    await this.#files.sync(journalName)
  }

  /** The lines that are whole and make sense; what a dying writer left after them is ignored. */
  #wholeLines(from: number): Line[] {
    const bytes = this.#files.read(journalName, from)
    const whole = bytes.subarray(0, bytes.lastIndexOf(0x0a) + 1)
    return parseGoodLines(whole, { file: journalName, from })
  }

  #take(lines: Line[]): Batch[] {
    const batches: Batch[] = []
    for (const { value, to } of lines) {
      const batch = value as unknown as Batch
      if (batch.n !== this.n + 1) break
      this.#accept(batch)
      this.#read = to
      batches.push(batch)
    }
    return batches
  }

  #accept(batch: Batch): void {
    this.n = batch.n
    this.version = Math.max(this.version, batch.version)
    this.last = batch
  }
}

function isHeader(value: unknown): value is JournalHeader {
  return isObject(value) && value.type === "journal" && typeof value.n === "number"
}
