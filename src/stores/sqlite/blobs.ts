import { createHash, randomBytes } from "node:crypto"
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, utimes } from "node:fs/promises"
import { join } from "node:path"
import { type Clock, StemmaError } from "../../protocol/index.ts"
import { noBlob } from "../refusals.ts"
import type { BlobStore } from "../store.ts"

const hashPattern = /^[0-9a-f]{64}$/

/** Stores blobs as files next to the database, named by their SHA-256, in 256 directories. */
export class BlobFiles implements BlobStore {
  readonly #directory: string
  readonly #clock: Clock

  constructor(directory: string, clock: Clock) {
    this.#directory = directory
    this.#clock = clock
  }

  async put(bytes: Uint8Array): Promise<string> {
    if (!(bytes instanceof Uint8Array)) {
      throw new StemmaError("invalid", "A blob must be a Uint8Array. Pass a Uint8Array or a Buffer.")
    }
    const hash = createHash("sha256").update(bytes).digest("hex")
    const path = this.#path(hash)
    try {
      const known = await stat(path).catch(() => undefined)
      if (known?.size === bytes.byteLength) {
        // The new modification time keeps a collection that runs now from removing the blob.
        await this.#touch(path)
        return hash
      }
      await this.#write(path, bytes)
      return hash
    } catch (cause) {
      const reason = (cause as Error).message
      throw new StemmaError(
        "unavailable",
        `Blob ${hash} could not be written (${reason}). Check the disk and try again.`,
        { cause },
      )
    }
  }

  /** Writes to a temporary file, syncs it and renames it, so that a blob file is complete or absent. */
  async #write(path: string, bytes: Uint8Array): Promise<void> {
    const directory = join(path, "..")
    await mkdir(directory, { recursive: true, mode: 0o700 })
    const temporary = `${path}.${randomBytes(6).toString("hex")}.tmp`
    try {
      await withFile(temporary, "wx", async (file) => {
        await file.writeFile(bytes)
        await file.sync()
      })
      await this.#touch(temporary)
      await rename(temporary, path)
      await withFile(directory, "r", (file) => file.sync())
    } catch (error) {
      await rm(temporary, { force: true })
      throw error
    }
  }

  async #touch(path: string): Promise<void> {
    const now = this.#clock.now() / 1000
    await utimes(path, now, now)
  }

  async get(hash: string, range?: { start?: number; end?: number }): Promise<Uint8Array> {
    const size = await this.size(hash)
    const start = Math.min(Math.max(0, Math.trunc(range?.start ?? 0)), size)
    const end = Math.min(Math.max(start, Math.trunc(range?.end ?? size)), size)
    const bytes = new Uint8Array(end - start)
    await withFile(this.#path(hash), "r", async (file) => {
      let done = 0
      while (done < bytes.byteLength) {
        const { bytesRead } = await file.read(bytes, done, bytes.byteLength - done, start + done)
        if (bytesRead === 0) break
        done += bytesRead
      }
    })
    return bytes
  }

  async size(hash: string): Promise<number> {
    const found = hashPattern.test(hash) ? await stat(this.#path(hash)).catch(() => undefined) : undefined
    if (found) return found.size
    throw noBlob(hash)
  }

  /** Returns whether the blob existed. */
  async remove(hash: string): Promise<boolean> {
    try {
      await rm(this.#path(hash))
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
      throw error
    }
  }

  /** Returns how many of the blobs existed. */
  async removeAll(hashes: readonly string[]): Promise<number> {
    let removed = 0
    for (const hash of hashes) if (await this.remove(hash)) removed += 1
    return removed
  }

  /** Lists all blob files, and the temporary files that a crash left, which have no hash. */
  async *list(): AsyncGenerator<{
    hash: string | undefined
    path: string
    size: number
    modifiedMs: number
  }> {
    const folders = await readdir(this.#directory).catch(() => [])
    for (const folder of folders) {
      for (const name of await readdir(join(this.#directory, folder)).catch(() => [])) {
        const path = join(this.#directory, folder, name)
        const found = await stat(path).catch(() => undefined)
        if (!found?.isFile()) continue
        const hash = hashPattern.test(folder + name) ? folder + name : undefined
        yield { hash, path, size: found.size, modifiedMs: found.mtimeMs }
      }
    }
  }

  #path(hash: string): string {
    return join(this.#directory, hash.slice(0, 2), hash.slice(2))
  }
}

async function withFile<T>(path: string, flags: string, use: (file: FileHandle) => Promise<T>): Promise<T> {
  await using file = await open(path, flags, 0o600)
  return await use(file)
}
