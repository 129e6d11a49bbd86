import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from "node:sqlite"
import { StemmaError } from "../../../protocol/index.ts"

export type Value = SQLInputValue
export type Tuple = SQLOutputValue[]

/** The primary result codes of SQLite that have their own error text. */
const codes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  io: 10,
  corrupt: 11,
  full: 13,
  cantOpen: 14,
  protocol: 15,
  notADatabase: 26,
}

interface SqliteError extends Error {
  errcode?: number
}

function primaryCode(error: unknown): number {
  const code = (error as SqliteError).errcode
  return typeof code === "number" ? code & 0xff : 0
}

/** True if another connection holds a lock, so that a retry may succeed. */
export function isBusy(error: unknown): boolean {
  const code = primaryCode(error)
  return code === codes.busy || code === codes.locked || code === codes.protocol
}

/** Maps an error of SQLite to a StemmaError. A StemmaError is returned as it is. */
export function toStemmaError(error: unknown, path: string): StemmaError {
  if (StemmaError.is(error)) return error
  const reason = error instanceof Error ? error.message : String(error)
  const options = { cause: error, details: { path } }
  switch (primaryCode(error)) {
    case codes.busy:
    case codes.locked:
    case codes.protocol:
      return new StemmaError(
        "unavailable",
        "The store is locked by another process. Try again in a moment.",
        options,
      )
    case codes.full:
      return new StemmaError(
        "unavailable",
        `The disk of ${path} is full. Free some space and try again; nothing was changed.`,
        options,
      )
    case codes.io:
      return new StemmaError(
        "unavailable",
        `Reading or writing ${path} failed (${reason}). Check the disk and try again; nothing was changed.`,
        options,
      )
    case codes.readOnly:
    case codes.cantOpen:
      return new StemmaError(
        "denied",
        `${path} cannot be opened or written (${reason}). Check that the directory exists and that its permissions allow writing.`,
        options,
      )
    case codes.corrupt:
    case codes.notADatabase:
      return new StemmaError(
        "internal",
        `${path} is damaged or is not a database (${reason}). Restore it from a backup.`,
        options,
      )
    default:
      return new StemmaError("internal", `The store failed: ${reason}. Run a check of the store.`, options)
  }
}

/** A connection that caches its prepared statements by their SQL. */
export class Database {
  readonly path: string
  readonly #connection: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(connection: DatabaseSync, path: string) {
    this.#connection = connection
    this.path = path
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#connection.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /** Returns the first row as an array of columns. */
  get(sql: string, ...values: Value[]): Tuple | undefined {
    return this.#prepare(sql).get(...values) as unknown as Tuple | undefined
  }

  all(sql: string, ...values: Value[]): Tuple[] {
    return this.#prepare(sql).all(...values) as unknown as Tuple[]
  }

  /** Yields rows one by one, so that a caller that stops early does not read the rest. */
  each(sql: string, ...values: Value[]): Iterable<Tuple> {
    return this.#prepare(sql).iterate(...values) as unknown as Iterable<Tuple>
  }

  run(sql: string, ...values: Value[]): void {
    this.#prepare(sql).run(...values)
  }

  /** Runs an INSERT and returns the key of the new row. */
  insert(sql: string, ...values: Value[]): number {
    return Number(this.#prepare(sql).run(...values).lastInsertRowid)
  }

  /** Runs a statement and returns how many rows it changed. */
  change(sql: string, ...values: Value[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  exec(sql: string): void {
    this.#connection.exec(sql)
  }

  /** Runs several reads in one transaction, so that all of them see the same state. */
  snapshot<T>(read: () => T): T {
    if (this.#connection.isTransaction) return read()
    this.run("BEGIN")
    try {
      return read()
    } finally {
      this.run("COMMIT")
    }
  }

  get inTransaction(): boolean {
    return this.#connection.isTransaction
  }

  /** Runs a write transaction. Throws SQLite's busy error if another connection writes. */
  write<T>(body: () => T): T {
    this.run("BEGIN IMMEDIATE")
    try {
      const result = body()
      this.run("COMMIT")
      return result
    } catch (error) {
      if (this.#connection.isTransaction) this.run("ROLLBACK")
      throw error
    }
  }

  close(): void {
    this.#statements.clear()
    if (this.#connection.isOpen) this.#connection.close()
  }
}
