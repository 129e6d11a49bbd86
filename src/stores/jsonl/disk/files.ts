import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  ftruncateSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { StemmaError } from "../../../protocol/index.ts"
import { makeDirectory } from "../../../system/make-directory.ts"

const fsyncAsync = promisify(fsync)

/**
 * Never follows a symlink when writing, because the target may belong to another program. Not every system has the
 * flag.
 */
const noFollow = constants.O_NOFOLLOW ?? 0
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | noFollow

/** Below this size, a synchronous read is faster than a read in the thread pool. */
const readLaterBytesMin = 512 * 1024

export interface FileStat {
  size: number
  /** Rounded to milliseconds, because some programs that copy files keep no finer times. */
  mtimeMs: number
  ino: number
}

/**
 * The files of one store, named by their path relative to the store's directory. Small reads and writes are
 * synchronous, because they are faster than a trip through the thread pool; only syncing is async. Fails only with a
 * StemmaError.
 */
export class Files {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  path(name: string): string {
    return join(this.root, name)
  }

  /** Returns undefined if the file does not exist. */
  stat(name: string): FileStat | undefined {
    return guard(this.path(name), () => {
      const found = statSync(this.path(name), { throwIfNoEntry: false })
      return found && { size: found.size, mtimeMs: Math.round(found.mtimeMs), ino: found.ino }
    })
  }

  isFile(name: string): boolean {
    return guard(
      this.path(name),
      () => lstatSync(this.path(name), { throwIfNoEntry: false })?.isFile() ?? false,
    )
  }

  isLink(name: string): boolean {
    return guard(
      this.path(name),
      () => lstatSync(this.path(name), { throwIfNoEntry: false })?.isSymbolicLink() ?? false,
    )
  }

  /** Lists a directory; empty if it does not exist. A symlink is neither a file nor a directory. */
  list(name: string): { name: string; directory: boolean; file: boolean }[] {
    return guard(this.path(name), () => {
      try {
        return readdirSync(this.path(name), { withFileTypes: true }).map((entry) => ({
          name: entry.name,
          directory: entry.isDirectory(),
          file: entry.isFile(),
        }))
      } catch (error) {
        if (errorCode(error) === "ENOENT") return []
        throw error
      }
    })
  }

  /** Reads the bytes in [from, to), or fewer if the file is shorter; none if it does not exist. */
  read(name: string, from = 0, to = Number.POSITIVE_INFINITY): Buffer {
    return guard(this.path(name), () => {
      let fd: number
      try {
        fd = openSync(this.path(name), "r")
      } catch (error) {
        if (errorCode(error) === "ENOENT") return Buffer.alloc(0)
        throw error
      }
      try {
        return readRange(fd, from, Math.min(to, fstatSync(fd).size))
      } finally {
        closeSync(fd)
      }
    })
  }

  /** Like `read`, but reads a long file without blocking the event loop. */
  async readLater(name: string, from = 0, to = Number.POSITIVE_INFINITY): Promise<Buffer> {
    if ((this.stat(name)?.size ?? 0) < readLaterBytesMin) return this.read(name, from, to)
    return guardAsync(this.path(name), async () => {
      let file: FileHandle
      try {
        file = await open(this.path(name), "r")
      } catch (error) {
        if (errorCode(error) === "ENOENT") return Buffer.alloc(0)
        throw error
      }
      try {
        const end = Math.min(to, (await file.stat()).size)
        const bytes = Buffer.allocUnsafe(Math.max(0, end - from))
        const { bytesRead } = await file.read(bytes, 0, bytes.length, from)
        return bytes.subarray(0, bytesRead)
      } finally {
        await file.close()
      }
    })
  }

  /** Holds a file open, so that no new file can get the same inode number. */
  pin(name: string): { ino: number; release(): void } | undefined {
    return guard(this.path(name), () => {
      try {
        const fd = openSync(this.path(name), "r")
        return { ino: fstatSync(fd).ino, release: () => closeSync(fd) }
      } catch (error) {
        if (errorCode(error) === "ENOENT") return undefined
        throw error
      }
    })
  }

  makeDirectory(name: string): void {
    guard(this.path(name), () => makeDirectory(this.path(name)))
  }

  /** Appends all bytes or none, and returns the new size of the file. */
  append(name: string, bytes: Buffer): number {
    return guard(this.path(name), () => {
      const fd = openSync(this.path(name), appending, 0o600)
      try {
        appendWhole(fd, bytes)
        return fstatSync(fd).size
      } finally {
        closeSync(fd)
      }
    })
  }

  truncate(name: string, size: number): void {
    guard(this.path(name), () => {
      const fd = openSync(this.path(name), constants.O_RDWR | noFollow)
      try {
        ftruncateSync(fd, size)
      } finally {
        closeSync(fd)
      }
    })
  }

  /** Creates a file and its directory. The file must not exist. */
  async create(name: string, bytes: Buffer, options: { sync: boolean }): Promise<void> {
    this.makeDirectory(dirname(name))
    this.append(name, bytes)
    if (options.sync) await this.sync(name)
  }

  /** Replaces the content of a file atomically. */
  async replace(name: string, bytes: Buffer, options: { sync: boolean }): Promise<void> {
    const draft = `${name}.tmp`
    this.remove(draft)
    try {
      await this.create(draft, bytes, options)
      this.rename(draft, name)
    } catch (error) {
      this.remove(draft)
      throw error
    }
    if (options.sync) await this.syncDirectory(dirname(name))
  }

  rename(from: string, to: string): void {
    guard(this.path(to), () => renameSync(this.path(from), this.path(to)))
  }

  /** Removes a file. Does nothing if it does not exist. */
  remove(name: string): void {
    guard(this.path(name), () => {
      try {
        unlinkSync(this.path(name))
      } catch (error) {
        if (errorCode(error) !== "ENOENT") throw error
      }
    })
  }

  async sync(name: string): Promise<void> {
    await guardAsync(this.path(name), async () => {
      const fd = openSync(this.path(name), "r")
      try {
        await fsyncAsync(fd)
      } finally {
        closeSync(fd)
      }
    })
  }

  /** Syncs a directory, so that new and renamed files in it are durable. */
  async syncDirectory(name: string): Promise<void> {
    await this.sync(name)
  }
}

function readRange(fd: number, from: number, to: number): Buffer {
  const bytes = Buffer.allocUnsafe(Math.max(0, to - from))
  let length = 0
  while (length < bytes.length) {
    const count = readSync(fd, bytes, length, bytes.length - length, from + length)
    if (count === 0) break
    length += count
  }
  return bytes.subarray(0, length)
}

/** Appends all bytes. If the disk becomes full in the middle, removes the bytes that were written. */
function appendWhole(fd: number, bytes: Buffer): void {
  let written = 0
  try {
    while (written < bytes.length) written += writeSync(fd, bytes, written)
  } catch (error) {
    if (written > 0) ftruncateSync(fd, fstatSync(fd).size - written)
    throw error
  }
}

export function errorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code
}

function guard<T>(path: string, action: () => T): T {
  try {
    return action()
  } catch (error) {
    throw fileError(error, path)
  }
}

async function guardAsync<T>(path: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action()
  } catch (error) {
    throw fileError(error, path)
  }
}

/** Maps an error of the file system to a StemmaError. A StemmaError is returned as it is. */
export function fileError(error: unknown, path: string): StemmaError {
  if (StemmaError.is(error)) return error
  const code = errorCode(error)
  const options = { details: { path, code }, cause: error }
  switch (code) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return new StemmaError(
        "unavailable",
        `The disk has no space to write ${path}. Free some space, then try again.`,
        options,
      )
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new StemmaError(
        "denied",
        `Access to ${path} is denied (${code}). Check the owner and the mode of the file.`,
        options,
      )
    case "ELOOP":
      return new StemmaError(
        "denied",
        `${path} is a symlink, and the store never writes through symlinks. Replace it with a regular file.`,
        options,
      )
    case "ENOTDIR":
    case "EISDIR":
    case "EEXIST":
      return new StemmaError(
        "denied",
        `${path} is not what the store expects there (${code}). Move it away, or choose another directory for the store.`,
        options,
      )
    default: {
      const why = code ?? String(error)
      return new StemmaError("unavailable", `${path} cannot be read or written (${why}). Try again.`, options)
    }
  }
}
