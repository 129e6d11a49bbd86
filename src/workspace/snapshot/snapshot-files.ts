import { createHash } from "node:crypto"
import type { Stats } from "node:fs"
import { lstat } from "node:fs/promises"
import { basename, join } from "node:path"
import { foldName, isGitName } from "../path/guarded-names.ts"
import { isInside } from "../path/inside.ts"

/** Larger files are left out. */
export const fileBytesMax = 2 * 1024 * 1024
/** Files that the user's own repository holds may be larger, such as a lock file. */
export const trackedBytesMax = 16 * 1024 * 1024

/**
 * The mode under which a tree names a file whose content is not kept. It says that there was one, so that nobody takes it
 * for absent and removes it. To git it is another repository's commit, of which it expects no object.
 */
export const leftOutMode = "160000"

const readersMax = 32

/** Where a file of the work tree and the index differ. */
export interface Listed {
  /** Not in the index. */
  others: string[]
  /** In the index, and different or gone. */
  differing: string[]
}

/** Reads `ls-files -t -z --others --modified --deleted`. */
export function parseListed(output: Buffer): Listed {
  const others: string[] = []
  const differing = new Set<string>()
  for (const line of output.toString("utf8").split("\0")) {
    const path = line.slice(2)
    // A directory is listed if it is a repository of its own: what is in it is not ours.
    if (path === "" || path.endsWith("/")) continue
    if (line.startsWith("?")) others.push(path)
    else differing.add(path)
  }
  return { others, differing: [...differing] }
}

/** What has to be done to an index. */
export interface Sorted {
  keep: string[]
  /** Too large to be kept, unless the user's repository holds it. */
  large: { path: string; bytes: number; mark: string; listedBefore: boolean }[]
  remove: string[]
  /** For whatever is in `keep`, in case that it cannot be read. */
  marks: Map<string, string>
}

export interface SortOptions {
  root: string
  /** Directories below the root that never are part of a snapshot. */
  own: readonly string[]
  /** Files that could not be read, by path, as they were then. */
  refused: ReadonlyMap<string, string>
  signal: AbortSignal
}

export async function sortListed(listed: Listed, options: SortOptions): Promise<Sorted> {
  const sorted: Sorted = { keep: [], large: [], remove: [], marks: new Map() }
  const others = new Set(listed.others)
  const visit = async (path: string) => {
    const isOther = others.has(path)
    if (isOther && !isOurs(path, options)) return
    // Below a name that is a file or a symlink now there is nothing any more, whatever a symlink leads to.
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

/** Stands for content that is not kept: equal as long as the file looks untouched. */
export function markOf(stats: Stats): string {
  return createHash("sha1").update(`${stats.mode} ${stats.size} ${stats.mtimeMs}`).digest("hex")
}

/** Git leaves such a symlink out without a word. */
function isRefusedByGit(path: string, stats: Stats): boolean {
  return stats.isSymbolicLink() && foldName(basename(path)) === ".gitmodules"
}

/** False for git directories by any name and for directories of Stemma's own. */
export function isOurs(path: string, options: { root: string; own: readonly string[] }): boolean {
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
