import { HistoryMemo } from "../context/history-memo.ts"
import { ReadFiles } from "../step/tools/read-files.ts"

const sessionsMax = 2000
/** The approximate size of all memos together, in characters. */
const sizeMax = 64 * 1024 * 1024

export interface CachedSession {
  memo: HistoryMemo
  reads: ReadFiles
  /** The fence of the last lease of this process, if its run ended in order with an empty inbox. */
  idleFence?: number
}

/** What is kept of sessions between their runs. The least recently used sessions are dropped. */
export class SessionCache {
  readonly #memories = new Map<string, CachedSession>()

  get(sessionID: string): CachedSession {
    const cached = this.#memories.get(sessionID) ?? { memo: new HistoryMemo(), reads: new ReadFiles() }
    this.#memories.delete(sessionID)
    this.#memories.set(sessionID, cached)
    this.#shrink()
    return cached
  }

  delete(sessionID: string): void {
    this.#memories.delete(sessionID)
  }

  #shrink(): void {
    if (this.#memories.size % 16 !== 0 && this.#memories.size <= sessionsMax) return
    let size = 0
    for (const { memo } of this.#memories.values()) size += memo.size
    for (const [id, { memo }] of this.#memories) {
      if (this.#memories.size <= sessionsMax && size <= sizeMax) return
      if (this.#memories.size === 1) return
      this.#memories.delete(id)
      size -= memo.size
    }
  }
}
