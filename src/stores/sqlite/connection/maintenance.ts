import { randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import type { Holder, Redaction, RedactionTarget, Removal, SearchPage, SearchQuery } from "../../store.ts"
import { abandonedSessions, findProblems, forgetOld, ownMessages } from "../cleanup/collect.ts"
import { freeGarbage, unreferencedBlobs } from "../cleanup/garbage.ts"
import { redactContent } from "../cleanup/redact.ts"
import { detachSession, summarize } from "../cleanup/remove.ts"
import type { Reader } from "../read/read-messages.ts"
import { Segments } from "../read/segments.ts"
import { Names } from "../rows/dictionary.ts"
import { encodeID } from "../rows/id-codec.ts"
import { indexWaiting, mergeIndex } from "../search/index-text.ts"
import { createTermTables } from "../search/prefix-terms.ts"
import { searchStore } from "../search/search.ts"
import { type Database, isBusy } from "./database.ts"

/** Free pages are overwritten in pieces of this many bytes. */
const scrubBytes = 1024 * 1024
const scrubPrefix = "scrub_"

/** How long this thread waits for a lock: nothing else runs in it. */
export const workerBusyMs = 10_000

/** What the worker is asked to do: everything that may take longer than the event loop should wait. */
export interface Requests {
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
  /** The blobs that messages name, after the given one, some at a time. */
  namedBlobs(after: string): string[]
  /** Writes the log into the database while others go on; false if somebody else is doing it. */
  checkpoint(): boolean
  /** Writes the rest of it while writers wait, so that the next of them begins the log anew. */
  restartLog(): boolean
  /** Empties the log; false if others did not let it. */
  emptyLog(): boolean
}

/** Runs in the worker thread, on a connection of its own, where waiting for a lock may block. */
export function createMaintenance(db: Database, options: { readOnly: boolean }): Requests {
  const reader: Reader = { db, names: new Names(db), segments: new Segments(db) }
  createTermTables(db)
  const versioned = <T>(body: (version: number) => T): T =>
    db.write(() => body(((db.get("SELECT max(version) FROM tips")?.[0] ?? 0) as number) + 1))
  const erase = <T>(body: () => T): T => {
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
      return erase(() => {
        const detached = versioned((version) =>
          detachSession(reader, sessionID, { version, nowMs, collecting }),
        )
        const { blobs } = freeGarbage(db, pause)
        reader.segments.forgetAll()
        attempt(() => indexWaiting(db, pause))
        const freed = unreferencedBlobs(db, blobs)
        return { removal: summarize(reader, detached), freed }
      })
    },
    redact({ target, nowMs, holder }) {
      return erase(() => {
        const made = versioned((version) => redactContent(reader, target, { version, nowMs, holder }))
        attempt(() => {
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
        messages: ownMessages(reader, encodeID(id)),
      }))
    },
    forget({ nowMs }) {
      return erase(() => {
        db.write(() => forgetOld(reader, nowMs))
        dropOldScrubs(db)
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

/** Lets the writers of other threads and processes have the lock for a moment. */
function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2)
}

function restartLog(db: Database): boolean {
  db.exec("PRAGMA busy_timeout = 100")
  try {
    return db.get("PRAGMA wal_checkpoint(RESTART)")?.[0] === 0
  } catch (error) {
    if (isBusy(error)) return false
    throw error
  } finally {
    db.exec(`PRAGMA busy_timeout = ${workerBusyMs}`)
  }
}

/** Moves the log into the database: most of it without a lock, the rest and the emptying when nobody writes. */
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
 * Text that streamed in pieces left copies in pages that are free now: they are taken, filled with zeros, given back.
 * The table is this call's own, since other processes may be doing the same.
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
  dropScrub(db, table, rows)
}

function dropScrub(db: Database, table: string, rows: number): void {
  for (let row = 0; row < rows; row++) {
    db.write(() => db.exec(`DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} LIMIT 1)`))
    pause()
  }
  db.write(() => db.exec(`DROP TABLE IF EXISTS ${table}`))
}

/** Takes away what a process left that died while it filled free pages. */
function dropOldScrubs(db: Database): void {
  const tables = db.all(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB ?",
    `${scrubPrefix}*`,
  )
  for (const [name] of tables) attempt(() => dropScrub(db, name as string, 0))
}

/** Tidying after a change that stands already: its failure must not look like the change's. */
function attempt(tidy: () => void): void {
  try {
    tidy()
  } catch {
    // The next redaction or collection tidies up again.
  }
}
