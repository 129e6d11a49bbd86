import { constants, type Stats } from "node:fs"
import { type FileHandle, lstat, mkdir, open, realpath, unlink } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import {
  type HeldDirectory,
  type HoldOptions,
  isAbsent,
  oneName,
  ReplacedError,
  undefinedIfAbsent,
} from "./held-directory.ts"

/** Not every system has the flag. */
const noFollow = constants.O_NOFOLLOW ?? 0

/**
 * A held directory for systems that cannot name an open directory. The directory is recognised by its device and its
 * inode before and after each use. A directory that is replaced and put back between two checks is not noticed.
 */
export async function holdByName(path: string, options: HoldOptions = {}): Promise<HeldDirectory> {
  try {
    return new NamedDirectory(path, await identityOf(path))
  } catch (error) {
    if (options.create !== true || !isAbsent(error) || dirname(path) === path) throw error
  }
  await using parent = await holdByName(dirname(path), options)
  await mkdir(parent.entry(basename(path))).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  })
  await parent.check()
  return new NamedDirectory(path, await identityOf(path))
}

class NamedDirectory implements HeldDirectory {
  readonly path: string
  readonly #identity: string

  constructor(path: string, identity: string) {
    this.path = path
    this.#identity = identity
  }

  get self(): string {
    return this.path
  }

  entry(name: string): string {
    return join(this.path, oneName(name))
  }

  async open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    await this.check()
    const path = this.entry(name)
    const handle = await open(path, flags | noFollow, mode)
    try {
      const [opened, named] = await Promise.all([handle.stat(), lstat(path)])
      await this.check()
      if (fileIdentity(opened) !== fileIdentity(named)) throw new ReplacedError(this.path)
      return handle
    } catch (error) {
      if ((flags & constants.O_EXCL) !== 0) await removeMade(handle, path)
      await handle.close()
      throw error
    }
  }

  async stats(name: string): Promise<Stats | undefined> {
    const found = await lstat(this.entry(name)).catch(undefinedIfAbsent)
    await this.check()
    return found
  }

  async check(): Promise<void> {
    if ((await identityOf(this.path)) !== this.#identity) throw new ReplacedError(this.path)
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Removes a file that was made in the wrong directory, if the path still leads to it. */
async function removeMade(handle: FileHandle, path: string): Promise<void> {
  const [made, named] = await Promise.all([handle.stat(), lstat(path).catch(() => undefined)])
  if (named && fileIdentity(named) === fileIdentity(made)) await unlink(path).catch(() => {})
}

async function identityOf(path: string): Promise<string> {
  const before = await lstat(path)
  const real = await realpath(path)
  const after = await lstat(path)
  const isSame = before.isDirectory() && fileIdentity(before) === fileIdentity(after)
  if (!isSame || real.normalize() !== path.normalize()) throw new ReplacedError(path)
  return fileIdentity(after)
}

function fileIdentity({ dev, ino }: Stats): string {
  return `${dev}:${ino}`
}
