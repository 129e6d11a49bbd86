import { randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { systemClock } from "../../../protocol/index.ts"
import { FutureLeases } from "../../future-leases.ts"
import type { Holder, Redaction, RedactionTarget, Removal, SearchPage, SearchQuery } from "../../store.ts"
import { abandonedSessions, countOwnMessages, findProblems, forgetOld } from "../cleanup/collect.ts"
import { freeGarbage, unreferencedBlobs } from "../cleanup/garbage.ts"
import { redactContent } from "../cleanup/redact.ts"
import { detachSession, summarizeRemoval } from "../cleanup/remove.ts"
import type { Reader } from "../read/read-messages.ts"
import { Segments } from "../read/segments.ts"
import { Dictionary } from "../rows/dictionary.ts"
import { encodeID } from "../rows/id-codec.ts"
import { indexWaiting, mergeIndex } from "../search/index-text.ts"
import { createTermTables } from "../search/prefix-terms.ts"
import { searchStore } from "../search/search.ts"
import { type Database, isBusy } from "./database.ts"

/** Free pages are overwritten in steps of this many bytes. */
const scrubBytes = 1024 * 1024
const scrubPrefix = "scrub_"

/** How long the worker thread waits for a lock. Blocking is acceptable because nothing else runs in this thread. */
export const workerBusyMs = 10_000

/** The requests that the worker thread handles: all work that would block the event loop for too long. */
export interface WorkerRequests {
  index(): { indexed: number }
  search(query: SearchQuery): SearchPage
  remove(input: { sessionID: string; nowMs: number; collecting: boolean }): {
    removal: Omit<Removal, "blobs">
    freed: string[]
  }
  redact(input: { target: RedactionTarget; nowMs: number; holder: Holder }): {
    redaction: Redaction
    freed: string[]
  }
  abandoned(input: { nowMs: number; importAgeMs?: number }): { id: string; messages: number }[]
  forget(input: { nowMs: number }): { messages: number }
  unreferenced(hashes: string[]): string[]
  check(): string[]
  /** Returns up to 1,000 hashes of blobs that messages refer to, in order, after the given hash. */
  namedBlobs(after: string): string[]
  /**
   * Copies the write-ahead log into the database while other connections keep writing. False if another connection is
   * already doing this.
   */
  checkpoint(): boolean
  /**
   * Copies the rest of the log while writers wait, and starts again at the beginning of the log file. False if a lock was
   * not free in time.
   */
  restartLog(): boolean
  /** Truncates the log file. False if other connections used the log all the time. */
  emptyLog(): boolean
}

/**
 * Creates the request handlers. They run in the worker thread on its own connection, where waiting for a lock may
 * block.
 */
export function createMaintenance(db: Database, options: { readOnly: boolean }): WorkerRequests {
  const reader: Reader = { db, dictionary: new Dictionary(db), segments: new Segments(db) }
  createTermTables(db)
  const futureLeases = new FutureLeases(systemClock)
  const versioned = <T>(body: (version: number) => T): T =>
    db.write(() => body(((db.get("SELECT max(version) FROM tips")?.[0] ?? 0) as number) + 1))
  const withSecureDelete = <T>(body: () => T): T => {
    db.exec("PRAGMA secure_delete = ON")
    try {
      return body()
    } finally {
      db.exec("PRAGMA secure_delete = FAST")
    }
  }
  const index = () => (options.readOnly ? 0 : indexWaiting(db, pause))
  return {
    index() {
      const indexed = index()
      while (mergeIndex(db)) pause()
      return { indexed }
    },
    search(query) {
      index()
      return db.snapshot(() => searchStore(reader, query))
    },
    remove({ sessionID, nowMs, collecting }) {
      return withSecureDelete(() => {
        const detached = versioned((version) =>
          detachSession(reader, sessionID, { version, nowMs, collecting }),
        )
        const { blobs } = freeGarbage(db, pause)
        reader.segments.forgetAll()
        ignoreErrors(() => indexWaiting(db, pause))
        const freed = unreferencedBlobs(db, blobs)
        return { removal: summarizeRemoval(reader, detached), freed }
      })
    },
    redact({ target, nowMs, holder }) {
      return withSecureDelete(() => {
        const made = versioned((version) =>
          redactContent(reader, target, { version, nowMs, holder, futureLeases }),
        )
        ignoreErrors(() => {
          indexWaiting(db, pause)
          scrubFreePages(db)
          emptyLog(db, 100)
        })
        return { redaction: made.redaction, freed: unreferencedBlobs(db, made.blobs) }
      })
    },
    abandoned(input) {
      return abandonedSessions(reader, input).map((id) => ({
        id,
        messages: countOwnMessages(reader, encodeID(id)),
      }))
    },
    forget({ nowMs }) {
      return withSecureDelete(() => {
        db.write(() => forgetOld(reader, nowMs))
        dropOldScrubTables(db)
        return { messages: freeGarbage(db, pause).messages }
      })
    },
    unreferenced: (hashes) => unreferencedBlobs(db, hashes),
    check: () => db.snapshot(() => findProblems(reader)),
    namedBlobs: (after) =>
      db
        .all(
          "SELECT DISTINCT hash FROM blob_refs WHERE hash > ? ORDER BY hash LIMIT 1000",
          Buffer.from(after, "hex"),
        )
        .map(([hash]) => Buffer.from(hash as Uint8Array).toString("hex")),
    checkpoint: () => db.get("PRAGMA wal_checkpoint(PASSIVE)")?.[0] === 0,
    restartLog: () => restartLog(db),
    emptyLog: () => emptyLog(db, 50),
  }
}

/** Sleeps 2 ms, so that other threads and processes can take the write lock. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
}

function restartLog(db: Database): boolean {
  db.exec("PRAGMA busy_timeout = 100")
  try {
    if (db.get("PRAGMA wal_checkpoint(RESTART)")?.[0] !== 0) return false
    // The first write of a restarted log waits for the disk. Here it delays only this thread, not the event loop.
    db.write(() =>
      db.run("INSERT INTO meta (name, value) VALUES ('log', 1) ON CONFLICT DO UPDATE SET value = value + 1"),
    )
    return true
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  } finally {
    db.exec(`PRAGMA busy_timeout = ${workerBusyMs}`)
  }
}

/**
 * Copies the log into the database without a lock, then truncates the log file at a moment when no other connection
 * uses it.
 */
function emptyLog(db: Database, triesMax: number): boolean {
  db.get("PRAGMA wal_checkpoint(PASSIVE)")
  db.exec("PRAGMA busy_timeout = 0")
  try {
    for (let tries = 0; tries < triesMax && walBytes(db.path) > 0; tries++) {
      if (tries > 0) pause()
      try {
        if (db.get("PRAGMA wal_checkpoint(TRUNCATE)")?.[0] === 0) return true
      } catch (error) {
        if (!isBusy(error)) throw error
      }
    }
    return walBytes(db.path) === 0
  } finally {
    db.exec(`PRAGMA busy_timeout = ${workerBusyMs}`)
  }
}

function walBytes(path: string): number {
  try {
    return statSync(`${path}-wal`).size
  } catch {
    return 0
  }
}

/**
 * Overwrites free pages with zeros, because deleted pieces of streamed text leave copies in them. Fills a table with
 * zeros until it has taken all free pages, then drops the table. The table has a unique name, since other processes may
 * do the same.
 */
function scrubFreePages(db: Database): void {
  const pageBytes = db.get("PRAGMA page_size")?.[0] as number
  let bytes = (db.get("PRAGMA freelist_count")?.[0] as number) * pageBytes
  if (bytes === 0) return
  const table = `${scrubPrefix}${randomBytes(6).toString("hex")}`
  db.write(() => db.exec(`CREATE TABLE ${table} (zeros BLOB) STRICT`))
  let rows = 0
  for (; bytes > 0; bytes -= scrubBytes) {
    rows += 1
    db.write(() => db.exec(`INSERT INTO ${table} (zeros) VALUES (zeroblob(${Math.min(bytes, scrubBytes)}))`))
    pause()
  }
  dropScrubTable(db, table, rows)
}

function dropScrubTable(db: Database, table: string, rows: number): void {
  for (let row = 0; row < rows; row++) {
    db.write(() => db.exec(`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} LIMIT 1)`))
    pause()
  }
  db.write(() => db.exec(`DROP TABLE IF EXISTS ${table}`))
}

/** Drops tables that a process left behind when it died while it overwrote free pages. */
function dropOldScrubTables(db: Database): void {
  const tables = db.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?",
    `${scrubPrefix}*`,
  )
  for (const [name] of tables) ignoreErrors(() => dropScrubTable(db, name as string, 0))
}

/** Runs cleanup after a change that is already committed. A failed cleanup must not make the change look failed. */
function ignoreErrors(cleanUp: () => void): void {
  try {
    cleanUp()
  } catch {
    // The next redaction or collection does this cleanup again.
  }
}
