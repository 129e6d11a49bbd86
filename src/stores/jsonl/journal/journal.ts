import type { Tombstone } from "../../plain/index.ts"
import type { Files } from "../disk/files.ts"
import { isObject, type Line, parseGoodLines } from "../format/lines.ts"
import type { Summary } from "../format/summary.ts"

const journalName = "journal.jsonl"
const formatVersion = 1

/** What a batch did to one session: the new lengths of its files and, if the session's row changed, its new summary. */
export interface SessionChange {
  folder: string
  name: string
  seq: number
  newest: number
  main: number
  state: number
  summary?: Summary
}

/** Bytes to append to a file that is `at` bytes long. */
export interface Append {
  file: string
  at: number
  text: string
}

/**
 * The changes of one batch. The batch is in the journal before any other file changes, so that another process can
 * finish it if this process dies. Writing a batch twice has the same result as writing it once.
 */
export interface Batch {
  /** The number of the batch. Batches are numbered without gaps. */
  n: number
  version: number
  /** `null` for a removed session. */
  sessions: Record<string, SessionChange | null>
  appends: Append[]
  /** Temporary files that replace other files. */
  renames?: [draft: string, file: string][]
  deletes?: string[]
  tombstones?: Tombstone[]
}

interface JournalHeader {
  type: "journal"
  format: number
  n: number
  version: number
  /** The boot id of the machine when the journal was started. After a reboot, data that was not synced may be lost. */
  boot: string
}

/** The journal: the batches since the last checkpoint, as far as this process has read them. */
export class Journal {
  readonly #files: Files
  /** The journal file that was read. It is held open, so that its inode number identifies it. */
  #pin: { ino: number; release(): void } | undefined
  #read = 0
  #before: { size: number; n: number; version: number } | undefined
  n = 0
  version = 0
  boot = ""
  /** The newest batch. Only this batch may not be in the files yet. */
  last: Batch | undefined

  constructor(files: Files) {
    this.#files = files
  }

  /** How many bytes of the journal were read, including its header. */
  get size(): number {
    return this.#read
  }

  /** True if the journal contains batches. */
  get isBegun(): boolean {
    return this.last !== undefined
  }

  /**
   * Returns the batches that were appended since the last call. Returns "missed" if batches were lost, because the
   * journal was restarted meanwhile or does not exist.
   */
  readNew(): Batch[] | "missed" {
    const stat = this.#files.stat(journalName)
    if (!stat || !this.#pin) return "missed"
    if (stat.ino === this.#pin.ino && stat.size === this.#read) return []
    if (stat.ino === this.#pin.ino && stat.size > this.#read) return this.#take(this.#wholeLines(this.#read))
    const { n } = this
    const batches = this.readAll()
    // Nothing was missed if the new journal continues at the batch up to which the old journal was read.
    if (batches && this.n - batches.length === n) return batches
    // Later calls return "missed" too, until `readAll` was called.
    this.close()
    return "missed"
  }

  /** Reads the journal from its beginning. Undefined if there is no valid journal. */
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

  /**
   * The number of bytes after the last complete batch, which a dying writer left. Must be called under the lock, like
   * `cutTorn`.
   */
  tornBytes(): number {
    return (this.#files.stat(journalName)?.size ?? 0) - this.#read
  }

  cutTorn(): void {
    this.#files.truncate(journalName, this.#read)
  }

  /** Appends a batch. Must be called under the lock. */
  append(batch: Batch): void {
    const { n, version } = this
    this.#before = { size: this.#read, n, version }
    const line = Buffer.from(`${JSON.stringify(batch)}\n`)
    this.#read = this.#files.append(journalName, line)
    this.#accept(batch)
  }

  /** Removes the batch that was appended last, because it could not be written to the files. */
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

  /** Starts a new journal. All batches must be in the files. */
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

  /** Returns the complete and valid lines. Ignores the bytes after them, which a dying writer left. */
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
