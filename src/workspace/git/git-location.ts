import { lstat, readFile, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { isInside } from "../path/is-inside.ts"
import { realPath } from "../path/real-path.ts"

const gitFileBytesMax = 4096

/**
 * The directories of a work tree's own repository. They are found without running git, because a repository's config
 * may name programs to run.
 */
export interface GitLocation {
  /** The directory with the index. */
  gitDirectory: string
  /** The directory with `info/exclude`. In a linked work tree it differs from `gitDirectory`. */
  commonDirectory: string
}

/**
 * The git work tree that contains a directory (a real path), or the directory itself. A repository that covers the
 * whole home directory does not count, nor does a repository above the directory that belongs to another user.
 */
export async function findRoot(directory: string): Promise<string> {
  const home = await homeDirectory()
  const owner = (await stat(directory)).uid
  for (let at = directory; at === directory || !isInside(home, at); at = dirname(at)) {
    if (await isRepository(at, owner)) return at
    if (at === dirname(at)) break
  }
  return directory
}

/** The user's home directory as a real path. */
export async function homeDirectory(): Promise<string> {
  const home = homedir()
  return realPath(resolve(home)).then(
    (found) => found.path,
    () => home,
  )
}

/** The repository of a work tree; undefined if it has none. */
export async function gitLocation(root: string): Promise<GitLocation | undefined> {
  const dotGit = join(root, ".git")
  try {
    const stats = await stat(dotGit)
    const gitDirectory = stats.isDirectory() ? dotGit : await pointedTo(dotGit, "gitdir: ")
    // Git itself checks for HEAD first: without it, this is just a directory named `.git`.
    if (gitDirectory === undefined || !(await lstat(join(gitDirectory, "HEAD")))) return undefined
    const commonDirectory = await pointedTo(join(gitDirectory, "commondir"), "").catch(() => undefined)
    return { gitDirectory, commonDirectory: commonDirectory ?? gitDirectory }
  } catch {
    return undefined
  }
}

async function isRepository(directory: string, owner: number): Promise<boolean> {
  const stats = await lstat(join(directory, ".git")).catch(() => undefined)
  if (stats === undefined || !(await gitLocation(directory))) return false
  return stats.uid === owner || stats.uid === process.getuid?.()
}

async function pointedTo(file: string, prefix: string): Promise<string | undefined> {
  const stats = await stat(file)
  if (!stats.isFile() || stats.size > gitFileBytesMax) return undefined
  const text = (await readFile(file, "utf8")).trimEnd()
  if (!text.startsWith(prefix) || text.includes("\0")) return undefined
  return resolve(dirname(file), text.slice(prefix.length))
}
