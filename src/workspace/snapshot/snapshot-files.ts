import { createHash } from "node:crypto"
import type { Stats } from "node:fs"
import { lstat } from "node:fs/promises"
import { basename, join } from "node:path"
import { foldName, isGitName } from "../path/guarded-names.ts"
import { isInside } from "../path/is-inside.ts"

/** The content of larger files is left out. */
export const fileBytesMax = 2 * 1024 * 1024
/** Files that the user's own repository contains may be larger, such as a lock file. */
export const trackedBytesMax = 16 * 1024 * 1024

/**
 * The mode of a tree entry for a file whose content is not stored. The entry records that the file existed, so that a
 * restore does not remove it. To git it is the commit of a submodule, whose object need not exist.
 */
export const leftOutMode = "160000"

const readersMax = 32

/** The line for `update-index --index-info` that takes a file out of the index. */
export function removedEntry(path: string): string {
  return `0 ${"0".repeat(40)}\t${path}`
}

/** The differences between the work tree and the index. */
export interface ListedFiles {
  /** Files that are not in the index. */
  others: string[]
  /** Files in the index that are changed or removed. */
  differing: string[]
}

/** Parses the output of `ls-files -t -z --others --modified --deleted`. */
export function parseListed(output: Buffer): ListedFiles {
  const others: string[] = []
  const differing = new Set<string>()
  for (const line of output.toString("utf8").split("\0")) {
    const path = line.slice(2)
    // Git lists a directory only if it is a nested repository, which is not part of a snapshot.
    if (path === "" || path.endsWith("/")) continue
    if (line.startsWith("?")) others.push(path)
    else differing.add(path)
  }
  return { others, differing: [...differing] }
}

/** The changes to make to an index. */
export interface SortedFiles {
  keep: string[]
  /** Too large to be stored, unless the user's repository contains the file. */
  large: { path: string; bytes: number; mark: string; listedBefore: boolean }[]
  remove: string[]
  /** Marks of the files in `keep`, for those that turn out to be unreadable. */
  marks: Map<string, string>
}

export interface SortOptions {
  root: string
  /** Directories below the root that are never part of a snapshot. */
  own: readonly string[]
  /** Files that could not be read, by path, with their mark at that time. */
  refused: ReadonlyMap<string, string>
  signal: AbortSignal
}

export async function sortListed(listed: ListedFiles, options: SortOptions): Promise<SortedFiles> {
  const sorted: SortedFiles = { keep: [], large: [], remove: [], marks: new Map() }
  const others = new Set(listed.others)
  const visit = async (path: string) => {
    const isOther = others.has(path)
    if (isOther && !isSnapshotFile(path, options)) return
    // A path below a name that is now a file or a symlink no longer exists, whatever the symlink leads to.
    const stats = hasAncestorIn(path, others) ? undefined : await lstatOf(join(options.root, path))
    if (stats === undefined || !(stats.isFile() || stats.isSymbolicLink())) {
      if (!isOther) sorted.remove.push(path)
      return
    }
    const mark = markOf(stats)
    if (options.refused.get(path) === mark || isRefusedByGit(path, stats)) {
      if (isOther) sorted.large.push({ path, bytes: Number.POSITIVE_INFINITY, mark, listedBefore: false })
    } else if (stats.isFile() && stats.size >= fileBytesMax) {
      sorted.large.push({ path, bytes: stats.size, mark, listedBefore: !isOther })
    } else {
      sorted.keep.push(path)
      sorted.marks.set(path, mark)
    }
  }
  const pending = [...listed.others, ...listed.differing].reverse()
  const worker = async () => {
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      options.signal.throwIfAborted()
      await visit(path)
    }
  }
  await Promise.all(Array.from({ length: readersMax }, worker))
  return sorted
}

/** Stands for content that is not stored: it is equal as long as the file looks unchanged. */
export function markOf(stats: Stats): string {
  return createHash("sha1").update(`${stats.mode} ${stats.size} ${stats.mtimeMs}`).digest("hex")
}

/** Git silently leaves out such a symlink. */
function isRefusedByGit(path: string, stats: Stats): boolean {
  return stats.isSymbolicLink() && foldName(basename(path)) === ".gitmodules"
}

/** False for git directories by any spelling and for Stemma's own directories. */
export function isSnapshotFile(path: string, options: { root: string; own: readonly string[] }): boolean {
  if (path.split("/").some(isGitName)) return false
  const absolute = join(options.root, path)
  return !options.own.some((directory) => isInside(absolute, directory))
}

function hasAncestorIn(path: string, names: ReadonlySet<string>): boolean {
  for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
    if (names.has(path.slice(0, at))) return true
  }
  return false
}

async function lstatOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}
