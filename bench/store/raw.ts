import { copyFile } from "node:fs/promises"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

export type Row = Record<string, SQLInputValue>

/** A bare connection to a file that a store made, with the store's pragmas. */
export class RawDatabase implements Disposable {
  readonly connection: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync

  constructor(path: string, { busyTimeoutMs = 0 } = {}) {
    this.connection = new DatabaseSync(path, { timeout: busyTimeoutMs })
    this.connection.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;
      PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST`)
    this.#begin = this.connection.prepare("BEGIN IMMEDIATE")
    this.#commit = this.connection.prepare("COMMIT")
  }

  prepare(sql: string): StatementSync {
    const statement = this.connection.prepare(sql)
    statement.setReturnArrays(true)
    return statement
  }

  /** The first row, by the names of its columns. */
  row(sql: string, ...values: SQLInputValue[]): Row {
    return this.connection.prepare(sql).get(...values) as Row
  }

  transaction(body: () => void): void {
    this.#begin.run()
    body()
    this.#commit.run()
  }

  checkpoint(): void {
    this.connection.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  [Symbol.dispose](): void {
    this.connection.close()
  }
}

/** A copy of a store's file, after the store is closed, with a raw connection to it. */
export async function rawCopy(path: string, copy: string): Promise<RawDatabase> {
  await copyFile(path, copy)
  return new RawDatabase(copy)
}

/** Inserts rows like the given one, with other values in some columns. Returns the new row's key. */
export function rowInserter(db: RawDatabase, table: string, like: Row): (change: Row) => number {
  const columns = Object.keys(like)
  const placeholders = columns.map(() => "?").join(", ")
  const insert = db.prepare(`INSERT INTO ${table} (${columns.join(", ")}) VALUES (${placeholders})`)
  return (change) => {
    const values = columns.map((column) => (column in change ? change[column]! : like[column]!))
    return Number(insert.run(...values).lastInsertRowid)
  }
}
