import { HistoryMemo } from "../context/history-memo.ts"
import { ReadFiles } from "../step/tools/read-files.ts"

/** About how much heap the histories of resting sessions may use together: about 12,000 messages. */
const historyBytesMax = 16 * 1024 * 1024
/** About how much heap the lists of read files may use together, once the histories of their sessions were dropped. */
const readsBytesMax = 2 * 1024 * 1024
/** An entry without messages and files. */
const entryBytes = 1024

export interface CachedSession {
  memo: HistoryMemo
  reads: ReadFiles
  /** The fence of the last lease of this process, if its run ended in order with an empty inbox. */
  idleFence?: number
}

interface Entry {
  cached: CachedSession
  /** A run uses the entry. Such an entry is not counted and not dropped. */
  isInUse: boolean
  /** The bytes that were counted when the session came to rest. */
  bytes: number
}

/**
 * What is kept of sessions between their runs. When the resting sessions use more memory than the limit, the least
 * recently used ones are dropped; the next run of such a session reads its history from the store again. The session
 * that came to rest last is kept whatever its size: its next prompt is likely, and a long history takes long to read.
 */
export class SessionCache {
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>()
  /**
   * The files that dropped sessions have read. They are not in the store: without them, the model would have to read each
   * file again before it can change the file.
   */
  readonly #reads = new Map<string, ReadFiles>()
  readonly #bytesMax: number
  #bytes = 0
  #readsBytes = 0

  constructor({ bytesMax = historyBytesMax }: { bytesMax?: number } = {}) {
    this.#bytesMax = bytesMax
  }

  /** The estimated bytes of the resting sessions. */
  get bytes(): number {
    return this.#bytes
  }

  /** What is kept of a session, for a run that begins. The caller calls `rest` when the run has ended. */
  take(sessionID: string): CachedSession {
    const entry = this.#entries.get(sessionID) ?? this.#newEntry(sessionID)
    this.#moveToEnd(sessionID, entry)
    this.#bytes -= entry.bytes
    entry.bytes = 0
    entry.isInUse = true
    return entry.cached
  }

  /** Counts what is kept of a session whose run has ended, and drops other sessions above the limit. */
  rest(sessionID: string): void {
    const entry = this.#entries.get(sessionID)
    if (!entry) return
    this.#moveToEnd(sessionID, entry)
    const { memo, reads } = entry.cached
    entry.bytes = entryBytes + memo.bytes + reads.bytes
    entry.isInUse = false
    this.#bytes += entry.bytes
    for (const [id, { isInUse }] of this.#entries) {
      if (this.#bytes <= this.#bytesMax) return
      if (!isInUse && id !== sessionID) this.#drop(id)
    }
  }

  delete(sessionID: string): void {
    this.#bytes -= this.#entries.get(sessionID)?.bytes ?? 0
    this.#entries.delete(sessionID)
  }

  #newEntry(sessionID: string): Entry {
    const reads = this.#reads.get(sessionID) ?? new ReadFiles()
    if (this.#reads.delete(sessionID)) this.#readsBytes -= reads.bytes
    return { cached: { memo: new HistoryMemo(), reads }, isInUse: false, bytes: 0 }
  }

  #moveToEnd(sessionID: string, entry: Entry): void {
    this.#entries.delete(sessionID)
    this.#entries.set(sessionID, entry)
  }

  #drop(sessionID: string): void {
    const { reads } = this.#entries.get(sessionID)!.cached
    this.delete(sessionID)
    if (reads.bytes === 0) return
    this.#reads.set(sessionID, reads)
    this.#readsBytes += reads.bytes
    for (const [id, { bytes }] of this.#reads) {
      if (this.#readsBytes <= readsBytesMax) return
      this.#reads.delete(id)
      this.#readsBytes -= bytes
    }
  }
}
