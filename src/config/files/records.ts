import { createHash, randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { open, readdir, readFile, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { parseJson, StemmaError } from "../../protocol/index.ts"
import { makeDirectory } from "../../system/make-directory.ts"

/**
 * File systems store times with a resolution of a few milliseconds: a file that changed just now may change again
 * without a new time.
 */
export const settledAfterMs = 100
const recordBytesMax = 64 * 1024

export interface StoredRecord {
  name: string
  value: unknown
}

/**
 * A directory with one small JSON file for each record. A record is written atomically and only its owner may read it.
 * No two records share a file, so any number of processes may write at the same time.
 */
export class Records {
  readonly directory: string
  #listed: { mtimeMs: number; records: StoredRecord[]; invalid: string[] } | undefined

  constructor(directory: string) {
    this.directory = directory
  }

  path(name: string): string {
    return join(this.directory, `${name}.json`)
  }

  /** Undefined if there is no such record or its file is not valid. */
  async get(name: string): Promise<unknown> {
    return readRecord(this.path(name))
  }

  async put(name: string, value: unknown): Promise<void> {
    const temporary = join(this.directory, `.${name}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`)
    await withStemmaError(this.directory, async () => {
      makeDirectory(this.directory)
      try {
        const file = await open(temporary, "wx", 0o600)
        try {
          await file.writeFile(`${JSON.stringify(value, null, 2)}\n`)
          await file.sync()
        } finally {
          await file.close()
        }
        await rename(temporary, this.path(name))
      } catch (error) {
        await rm(temporary, { force: true })
        throw error
      }
    })
    this.#listed = undefined
  }

  /** Returns true if the record existed. */
  async remove(name: string): Promise<boolean> {
    this.#listed = undefined
    return withStemmaError(this.directory, async () => {
      try {
        await rm(this.path(name))
        return true
      } catch (error) {
        if (isAbsent(error)) return false
        throw error
      }
    })
  }

  /** All records by name, and the paths of files that are not valid. Read again only if the directory changed. */
  async list(): Promise<{ records: readonly StoredRecord[]; invalid: readonly string[] }> {
    // Synchronous, because it is called before every step, and an asynchronous call would throw an error for an absent
    // directory.
    const found = statSync(this.directory, { throwIfNoEntry: false })
    if (found === undefined) return { records: [], invalid: [] }
    if (this.#listed?.mtimeMs === found.mtimeMs) return this.#listed
    const records: StoredRecord[] = []
    const invalid: string[] = []
    const files = await withStemmaError(this.directory, () => readdir(this.directory))
    for (const file of files.filter((name) => name.endsWith(".json")).sort()) {
      const name = file.slice(0, -".json".length)
      const value = await readRecord(this.path(name))
      if (value === undefined) invalid.push(this.path(name))
      else records.push({ name, value })
    }
    const listed = { mtimeMs: found.mtimeMs, records, invalid }
    if (Date.now() - found.mtimeMs > settledAfterMs) this.#listed = listed
    return listed
  }
}

/** A file name for a record, derived from the values that identify it. */
export function recordName(...identity: string[]): string {
  return createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 32)
}

async function readRecord(path: string): Promise<unknown> {
  try {
    const { size } = await stat(path)
    return size > recordBytesMax ? undefined : parseJson(await readFile(path, "utf8"))
  } catch {
    return undefined
  }
}

/** Does work in a directory and turns a file system error into a StemmaError. */
export async function withStemmaError<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const refused = code === "EACCES" || code === "EPERM" || code === "EROFS"
    throw new StemmaError(
      refused ? "denied" : "unavailable",
      `Cannot write in ${directory} (${code ?? message}). Check that you own the directory and that the disk is not full.`,
      { cause: error },
    )
  }
}

export function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === "ENOENT" || code === "ENOTDIR"
}
