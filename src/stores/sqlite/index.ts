import { type Clock, StemmaError, systemClock } from "../../protocol/index.ts"
import { currentHolder } from "../holder.ts"
import type { Holder, Store } from "../store.ts"
import { connect, type Durability, migrate } from "./connection/open.ts"
import { SqliteStore } from "./store.ts"

export interface SqliteStoreOptions {
  /**
   * The path of the database file. Its directory is created if it does not exist. Blobs are stored in `<path>-blobs`.
   */
  path: string
  /**
   * "normal" (the default): an acknowledged commit survives the end of the process, also `kill -9`. "full": a commit is
   * synced to disk before it is acknowledged, so it also survives a power failure.
   */
  durability?: Durability
  /** Opens an existing store without writing to it and without migrating it. Every method that writes is `denied`. */
  readOnly?: boolean
  clock?: Clock
  holder?: Holder
}

/**
 * Opens the store in an SQLite file, and creates the file if it does not exist. Several processes may open the same
 * file. Fails with `not_found` (`readOnly` and no file), `denied` (file system permissions), `invalid` (bad options, or
 * a database of another program) or `unsupported` (written by a newer version of Stemma).
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  checkOptions(options)
  const open = {
    path: options.path,
    durability: options.durability ?? "normal",
    readOnly: options.readOnly ?? false,
  }
  const db = await connect(open)
  try {
    await migrate(db, open)
    return new SqliteStore(db, {
      open: { ...open, path: db.path },
      clock: options.clock ?? systemClock,
      holder: options.holder ?? currentHolder(),
    })
  } catch (error) {
    db.close()
    throw error
  }
}

function checkOptions(options: SqliteStoreOptions): void {
  if (typeof options?.path !== "string" || options.path === "") {
    throw new StemmaError("invalid", "The option path is missing. Give the path of the database file.")
  }
  const { durability } = options
  if (durability === undefined || durability === "normal" || durability === "full") return
  throw new StemmaError(
    "invalid",
    `The option durability is "${String(durability)}". Choose "normal" or "full".`,
  )
}

export type { Durability } from "./connection/open.ts"
