import {
  closeSync,
  constants,
  fstatSync,
  fsync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
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

const fsyncAsync = promisify(fsync)

/** Whoever put a link here may not want its target written. Not every system knows the flag. */
const noFollow = constants.O_NOFOLLOW ?? 0
const appending = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | noFollow

/** Up to here, a trip through the thread pool takes longer than reading. */
const readLaterBytesMin = 512 * 1024

export interface FileStat {
  size: number
  /** Whole milliseconds: not every program that copies files keeps more. */
  mtimeMs: number
  ino: number
}

/**
 * The files of one store, by their names below its directory. Small reads and writes are synchronous, since they take
 * less time than a trip through the thread pool; only syncing waits. Fails with a StemmaError only.
 */
export class Files {
  readonly root: string

  constructor(root: string) {
    this.root = root
  }

  path(name: string): string {
    return join(this.root, name)
  }

  /** Absent files give `undefined`. */
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

  /** Names in a directory, none if it is absent. A link is neither a file nor a directory. */
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

  /** The bytes in [from, to), or fewer where the file ends earlier; none if it is absent. */
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

  /** The same without holding up anything else if the file is long. */
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

  /** Holds a file open, so that no other file can get its inode number. */
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
    guard(this.path(name), () => mkdirSync(this.path(name), { recursive: true, mode: 0o700 }))
  }

  /** Writes at the end, whole or not at all, and gives the file's size after it. */
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

  /** Writes a file that did not exist. */
  async create(name: string, bytes: Buffer, options: { sync: boolean }): Promise<void> {
    this.makeDirectory(dirname(name))
    this.append(name, bytes)
    if (options.sync) await this.sync(name)
  }

  /** Puts a whole new content in place of the old one, in one step. */
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

  /** Absent files are fine. */
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

  /** Makes new and renamed files of a directory durable. */
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

/** A full disk takes a part of the bytes before it refuses the rest: that part is taken back. */
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

/** What the file system said, as one of our own codes and a sentence. */
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
        `No room to write ${path}. Free some space, then try again.`,
        options,
      )
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new StemmaError("denied", `${path} may not be used. Check who owns it and its mode.`, options)
    case "ELOOP":
      return new StemmaError(
        "denied",
        `${path} is a link, which is never written. Put a file there.`,
        options,
      )
    case "ENOTDIR":
    case "EISDIR":
    case "EEXIST":
      return new StemmaError("denied", `${path} is in the way (${code}). Name another directory.`, options)
    default: {
      const why = code ?? String(error)
      return new StemmaError("unavailable", `${path} cannot be used now (${why}). Try again.`, options)
    }
  }
}
