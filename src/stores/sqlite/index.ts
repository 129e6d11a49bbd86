import { type Clock, StemmaError, systemClock } from "../../protocol/index.ts"
import { currentHolder } from "../holder.ts"
import type { Holder, Store } from "../store.ts"
import { connect, type Durability, migrate } from "./connection/open.ts"
import { SqliteStore } from "./sqlite-store.ts"

export interface SqliteStoreOptions {
  /** The database file; its directory is made if it is missing. Blobs are kept beside it, in `<path>-blobs`. */
  path: string
  /**
   * "normal": what was acknowledged survives the end of the process, by whatever cause. "full": it was synced to disk
   * first and survives a power cut too. "normal" if absent.
   */
  durability?: Durability
  /** Never writes and never migrates. */
  readOnly?: boolean
  clock?: Clock
  holder?: Holder
}

/** Opens, or makes, a store in an SQLite file. Several processes may have it open. */
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
    throw new StemmaError("invalid", "The store needs a path: give the name of its database file.")
  }
  const { durability } = options
  if (durability === undefined || durability === "normal" || durability === "full") return
  throw new StemmaError(
    "invalid",
    `There is no durability "${String(durability)}". Choose "normal" or "full".`,
  )
}

export type { Durability } from "./connection/open.ts"
