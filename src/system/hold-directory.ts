import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, mkdir, open, readlink } from "node:fs/promises"
import { basename, dirname } from "node:path"
import {
  type HeldDirectory,
  type HoldOptions,
  isAbsent,
  oneName,
  ReplacedError,
  undefinedIfAbsent,
} from "./held-directory.ts"
import { holdByName } from "./hold-by-name.ts"

/** Linux opens a directory with this flag even if it may not be listed. Node has no name for the flag. */
const pathOnly = 0o10000000
const openFlags = pathOnly | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * Holds the directory at a real path: absolute, without `..` and symlinks. Throws a ReplacedError if the path leads
 * through a symlink now, and the system's error if there is no such directory.
 */
export async function holdDirectory(path: string, options: HoldOptions = {}): Promise<HeldDirectory> {
  if (process.platform !== "linux") return holdByName(path, options)
  const handle = await openDirectory(path, options)
  const held = await OpenDirectory.of(handle, path).catch(async (error: unknown) => {
    await handle.close()
    throw error
  })
  if (held) return held
  await handle.close()
  return holdByName(path, options)
}

async function openDirectory(path: string, { create = false }: HoldOptions): Promise<FileHandle> {
  try {
    return await open(path, openFlags)
  } catch (error) {
    if (!create || !isAbsent(error) || dirname(path) === path) throw error
  }
  await using parent = await holdDirectory(dirname(path), { create })
  const entry = parent.entry(basename(path))
  await mkdir(entry).catch((error: unknown) => {
    // Another process may have made it meanwhile. What it made is checked as any other entry.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  })
  return await open(entry, openFlags)
}

/** Linux names an open directory by the number of its file descriptor. */
class OpenDirectory implements HeldDirectory {
  readonly path: string
  readonly self: string
  readonly #handle: FileHandle
  readonly #realPath: string

  private constructor(handle: FileHandle, options: { path: string; self: string; realPath: string }) {
    this.#handle = handle
    this.path = options.path
    this.self = options.self
    this.#realPath = options.realPath
  }

  /** Undefined if `/proc` does not show the files of this process, such as in a container without `/proc`. */
  static async of(handle: FileHandle, path: string): Promise<OpenDirectory | undefined> {
    const self = `/proc/self/fd/${handle.fd}`
    const realPath = await readlink(self).catch(() => undefined)
    if (realPath === undefined) return undefined
    if (realPath !== path && !(await isSpellingOf(path, { realPath, handle }))) throw new ReplacedError(path)
    return new OpenDirectory(handle, { path, self, realPath })
  }

  entry(name: string): string {
    return `${this.self}/${oneName(name)}`
  }

  open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    return open(this.entry(name), flags | constants.O_NOFOLLOW, mode)
  }

  async stats(name: string): Promise<Stats | undefined> {
    return lstat(this.entry(name)).catch(undefinedIfAbsent)
  }

  async check(): Promise<void> {
    if ((await readlink(this.self)) !== this.#realPath) throw new ReplacedError(this.path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close()
  }
}

/**
 * On a file system that ignores case, the kernel may spell a path as another process spelled it before. Both spellings
 * must then name the same directory.
 */
async function isSpellingOf(
  path: string,
  { realPath, handle }: { realPath: string; handle: FileHandle },
): Promise<boolean> {
  if (foldPath(realPath) !== foldPath(path)) return false
  const [held, named, real] = await Promise.all([handle.stat(), lstat(path), lstat(realPath)])
  return [named, real].every((one) => one.dev === held.dev && one.ino === held.ino)
}

function foldPath(path: string): string {
  return path.normalize("NFKC").toLowerCase()
}
