import { randomBytes } from "node:crypto"
import { closeSync, existsSync, openSync, realpathSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import { makeDirectory } from "../../../system/make-directory.ts"
import { Database, isBusy, toStemmaError } from "./database.ts"
import { applicationID, migrations } from "./schema.ts"

export type Durability = "normal" | "full"

export interface OpenOptions {
  path: string
  durability: Durability
  readOnly: boolean
  /** Fails if the file does not exist. The worker's connection must never create a file. */
  existing?: boolean
}

/** Pages are small because a streaming commit changes a few bytes, but writes whole pages to the log. */
export const pageBytes = 1024

/** The pages that each connection keeps in memory. The system's file cache has the others. */
const cacheKiB = 12_000

const openDeadlineMs = 10_000

/** Opens a connection and sets all pragmas explicitly. Imports `node:sqlite` on the first call. */
export async function connect(options: OpenOptions): Promise<Database> {
  const path = realPath(options.path)
  try {
    const { DatabaseSync } = await import("node:sqlite")
    if (options.existing && !existsSync(path)) {
      throw new StemmaError(
        "unavailable",
        `${path} was moved or deleted while the store was open. Put it back, or open the store again.`,
      )
    }
    if (options.readOnly && !existsSync(path)) {
      throw new StemmaError(
        "not_found",
        `There is no store at ${path}. Open it once without readOnly to create it.`,
      )
    }
    if (!options.readOnly) createFile(path)
    const connection = new DatabaseSync(path, { readOnly: options.readOnly, timeout: 0 })
    const db = new Database(connection, path)
    try {
      await retryBusy(() => setPragmas(db, options))
      return db
    } catch (error) {
      db.close()
      throw error
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ""
    if (/^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST|ENOENT)$/.test(code)) {
      throw new StemmaError(
        "denied",
        `The directory of ${path} cannot be created or written (${code}). Choose another path or change its permissions.`,
        { cause: error, details: { path } },
      )
    }
    throw toStemmaError(error, path)
  }
}

/**
 * Creates the file so that only its owner can read it, because sessions contain private data. SQLite gives the log file
 * the same mode.
 */
function createFile(path: string): void {
  if (existsSync(path)) return
  makeDirectory(dirname(path))
  closeSync(openSync(path, "a", 0o600))
}

/** Resolves symlinks, because the log file and the blobs belong next to the real file. */
function realPath(path: string): string {
  const absolute = resolve(path)
  try {
    return realpathSync(absolute)
  } catch {
    return absolute
  }
}

function setPragmas(db: Database, options: OpenOptions): void {
  db.exec("PRAGMA busy_timeout = 0")
  // Throws if the file belongs to another program, before a pragma changes the file's journal mode.
  schemaVersion(db)
  if (!options.readOnly) {
    db.exec(`PRAGMA page_size = ${pageBytes}`)
    const mode = db.get("PRAGMA journal_mode = WAL")?.[0]
    if (mode !== "wal") {
      throw new StemmaError(
        "unavailable",
        `${db.path} cannot use a write-ahead log (journal mode ${String(mode)}). Put the file on a local disk.`,
      )
    }
  }
  db.exec(`PRAGMA synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`)
  // The worker thread runs checkpoints, which would block the event loop in this thread.
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 1048576")
  db.exec(`PRAGMA cache_size = -${cacheKiB}; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF`)
  db.exec("PRAGMA secure_delete = FAST")
}

/**
 * Migrates the database to the newest schema version. Processes that open the file at the same time wait for each
 * other.
 */
export async function migrate(db: Database, options: OpenOptions): Promise<void> {
  const found = await retryBusy(() => schemaVersion(db))
  if (found === migrations.length) return
  if (options.readOnly) {
    throw new StemmaError(
      "unsupported",
      `${db.path} has schema version ${found}, but this program reads version ${migrations.length}. Open it once without readOnly to migrate it.`,
    )
  }
  await retryBusy(() => {
    if (found > 0) backUp(db, found)
    db.write(() => {
      const version = schemaVersion(db)
      for (const migration of migrations.slice(version)) db.exec(migration)
      if (version === 0) {
        db.run("INSERT INTO meta (name, value) VALUES ('id', ?)", randomBytes(6).toString("hex"))
      }
      db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationID}`)
    })
  })
}

function schemaVersion(db: Database): number {
  const version = db.get("PRAGMA user_version")?.[0] as number
  const application = db.get("PRAGMA application_id")?.[0] as number
  const tables = db.get("SELECT count(*) FROM sqlite_schema")?.[0] as number
  if (application !== applicationID && (application !== 0 || tables > 0)) {
    throw new StemmaError(
      "invalid",
      `${db.path} is a database of another program. Choose another path for the store.`,
    )
  }
  if (version > migrations.length) {
    throw new StemmaError(
      "unsupported",
      `${db.path} was written by a newer version of Stemma (schema version ${version}, this program knows ${migrations.length}). Update Stemma; the file was not changed.`,
    )
  }
  return version
}

/** Copies the database before its first migration from this version. An existing copy is kept. */
function backUp(db: Database, version: number): void {
  const copy = `${db.path}.v${version}.bak`
  if (existsSync(copy)) return
  db.run("VACUUM INTO ?", copy)
}

/**
 * Calls `attempt` at once, and again while another connection holds a lock, without blocking the event loop. Throws the
 * last error after `deadlineMs`.
 */
export async function retryBusy<T>(attempt: () => T, deadlineMs = openDeadlineMs): Promise<T> {
  const end = performance.now() + deadlineMs
  for (let tries = 0; ; tries++) {
    try {
      return attempt()
    } catch (error) {
      if (!isBusy(error) || performance.now() > end) throw error
    }
    await sleep(backoffMs(tries))
  }
}

/**
 * The delay before the next attempt: 1 ms first, then random up to 16 ms, so that many writers do not collide
 * repeatedly.
 */
export function backoffMs(tries: number): number {
  return tries === 0 ? 1 : 1 + Math.random() * Math.min(15, 2 ** Math.min(tries, 4))
}
