import { randomBytes } from "node:crypto"
import { closeSync, existsSync, mkdirSync, openSync, realpathSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { StemmaError } from "../../../protocol/index.ts"
import { Database, isBusy, toStemmaError } from "./database.ts"
import { applicationID, migrations } from "./schema.ts"

export type Durability = "normal" | "full"

export interface OpenOptions {
  path: string
  durability: Durability
  readOnly: boolean
  /** The file must be there: a second connection never makes one. */
  existing?: boolean
}

/** Small pages: a streaming commit writes whole pages to the log, and most of what it changes is a few bytes. */
export const pageBytes = 1024

const openDeadlineMs = 10_000

/** Opens a connection with explicit pragmas. `node:sqlite` is loaded here, when it is first needed. */
export async function connect(options: OpenOptions): Promise<Database> {
  const path = realPath(options.path)
  try {
    const { DatabaseSync } = await import("node:sqlite")
    if (options.existing && !existsSync(path)) {
      throw new StemmaError(
        "unavailable",
        `${path} is gone: it was moved or deleted while it was open. Put it back, or open the store again.`,
      )
    }
    if (options.readOnly && !existsSync(path)) {
      throw new StemmaError("not_found", `There is no store at ${path}. Open it for writing once to make it.`)
    }
    if (!options.readOnly) makeFile(path)
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
        `The directory of ${path} cannot be made or written (${code}). Choose another path or change its permissions.`,
        { cause: error, details: { path } },
      )
    }
    throw toStemmaError(error, path)
  }
}

/** Sessions tell what somebody read and ran: a new file, and with it its log, is its owner's alone. */
function makeFile(path: string): void {
  if (existsSync(path)) return
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, "a", 0o600))
}

/** The file itself, whatever links lead to it: its log and its blobs stand beside it. */
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
  // Another program's file must not be changed, not even its journal mode.
  versionOf(db)
  if (!options.readOnly) {
    db.exec(`PRAGMA page_size = ${pageBytes}`)
    const mode = db.get("PRAGMA journal_mode = WAL")?.[0]
    if (mode !== "wal") {
      throw new StemmaError(
        "unavailable",
        `${db.path} cannot use a write-ahead log here (${String(mode)}). Put it on a local disk.`,
      )
    }
  }
  db.exec(`PRAGMA synchronous = ${options.durability === "full" ? "FULL" : "NORMAL"}`)
  // Checkpoints are the worker's: in the writing thread they would stop the event loop.
  db.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = 1048576")
  db.exec("PRAGMA cache_size = -32000; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF")
  db.exec("PRAGMA secure_delete = FAST")
}

/** Brings the database to this version. Other processes that open it at the same time wait for each other. */
export async function migrate(db: Database, options: OpenOptions): Promise<void> {
  const found = await retryBusy(() => versionOf(db))
  if (found === migrations.length) return
  if (options.readOnly) {
    throw new StemmaError(
      "unsupported",
      `${db.path} has version ${found}, this program reads version ${migrations.length}. Open it for writing once to bring it up.`,
    )
  }
  await retryBusy(() => {
    if (found > 0) copyBefore(db, found)
    db.write(() => {
      const version = versionOf(db)
      for (const migration of migrations.slice(version)) db.exec(migration)
      if (version === 0) {
        db.run("INSERT INTO meta (name, value) VALUES ('id', ?)", randomBytes(6).toString("hex"))
      }
      db.exec(`PRAGMA user_version = ${migrations.length}; PRAGMA application_id = ${applicationID}`)
    })
  })
}

function versionOf(db: Database): number {
  const version = db.get("PRAGMA user_version")?.[0] as number
  const application = db.get("PRAGMA application_id")?.[0] as number
  const tables = db.get("SELECT count(*) FROM sqlite_schema")?.[0] as number
  if (application !== applicationID && (application !== 0 || tables > 0)) {
    throw new StemmaError("invalid", `${db.path} is a database of another program. Choose another path.`)
  }
  if (version > migrations.length) {
    throw new StemmaError(
      "unsupported",
      `${db.path} was written by a newer version of Stemma (${version}, this one knows ${migrations.length}). Update Stemma; the file was not changed.`,
    )
  }
  return version
}

function copyBefore(db: Database, version: number): void {
  const copy = `${db.path}.v${version}.bak`
  if (existsSync(copy)) return
  db.run("VACUUM INTO ?", copy)
}

/** Tries again while another connection holds a lock, without blocking the event loop. The first try is made at once. */
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

/** 1 ms at first, then a random time up to 16 ms, so that many writers do not meet again and again. */
export function backoffMs(tries: number): number {
  return tries === 0 ? 1 : 1 + Math.random() * Math.min(15, 2 ** Math.min(tries, 4))
}
