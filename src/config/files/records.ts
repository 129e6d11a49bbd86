import { createHash, randomBytes } from "node:crypto"
import { statSync } from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { StemmaError } from "../../protocol/index.ts"

/** A file system keeps times in ticks of a few milliseconds: what was changed just now may change again unseen. */
export const settledAfterMs = 100
const recordBytesMax = 64 * 1024

export interface StoredRecord {
  name: string
  value: unknown
}

/**
 * A directory with one small JSON file per record. Each is written whole or not at all and only its owner may read it;
 * since no two records share a file, any number of processes may write at once.
 */
export class Records {
  readonly directory: string
  #listed: { mtimeMs: number; records: StoredRecord[]; garbage: string[] } | undefined

  constructor(directory: string) {
    this.directory = directory
  }

  path(name: string): string {
    return join(this.directory, `${name}.json`)
  }

  /** Undefined if there is none or it is garbage. */
  async get(name: string): Promise<unknown> {
    return readRecord(this.path(name))
  }

  async put(name: string, value: unknown): Promise<void> {
    const temporary = join(this.directory, `.${name}.${process.pid}.${randomBytes(6).toString("hex")}.tmp`)
    await reported(this.directory, async () => {
      await mkdir(this.directory, { recursive: true, mode: 0o700 })
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

  /** True if there was one. */
  async remove(name: string): Promise<boolean> {
    this.#listed = undefined
    return reported(this.directory, async () => {
      try {
        await rm(this.path(name))
        return true
      } catch (error) {
        if (isAbsent(error)) return false
        throw error
      }
    })
  }

  /** All records by name, and the paths of files that hold none. Read again only if the directory changed. */
  async list(): Promise<{ records: readonly StoredRecord[]; garbage: readonly string[] }> {
    // Synchronous: it is asked before every step, and a directory that is not there costs an error otherwise.
    const found = statSync(this.directory, { throwIfNoEntry: false })
    if (found === undefined) return { records: [], garbage: [] }
    if (this.#listed?.mtimeMs === found.mtimeMs) return this.#listed
    const records: StoredRecord[] = []
    const garbage: string[] = []
    const files = await reported(this.directory, () => readdir(this.directory))
    for (const file of files.filter((name) => name.endsWith(".json")).sort()) {
      const name = file.slice(0, -".json".length)
      const value = await readRecord(this.path(name))
      if (value === undefined) garbage.push(this.path(name))
      else records.push({ name, value })
    }
    const listed = { mtimeMs: found.mtimeMs, records, garbage }
    if (Date.now() - found.mtimeMs > settledAfterMs) this.#listed = listed
    return listed
  }
}

/** A name for a record, made from what identifies it. */
export function recordName(...identity: string[]): string {
  return createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 32)
}

async function readRecord(path: string): Promise<unknown> {
  try {
    const { size } = await stat(path)
    return size > recordBytesMax ? undefined : JSON.parse(await readFile(path, "utf8"))
  } catch {
    return undefined
  }
}

/** Does something in a directory; what the system says against it becomes a sentence. */
export async function reported<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const refused = code === "EACCES" || code === "EPERM" || code === "EROFS"
    throw new StemmaError(
      refused ? "denied" : "unavailable",
      `Cannot write in ${directory} (${code ?? message}). Check that the directory is yours and the disk is not full.`,
      { cause: error },
    )
  }
}

export function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === "ENOENT" || code === "ENOTDIR"
}
