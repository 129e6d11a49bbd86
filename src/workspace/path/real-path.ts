import type { Stats } from "node:fs"
import { readlink, stat } from "node:fs/promises"
import { dirname, isAbsolute, join, parse, sep } from "node:path"
import { type Disk, DiskNames } from "./disk-names.ts"

/** The limit of Linux. */
const linksMax = 40
const componentsMax = 4096
const aheadMax = 32

const standardDiskNames = new DiskNames()

export interface RealPath {
  /** Absolute, without `.`, `..` or symlinks. Components that exist are spelled as on the disk. */
  path: string
  /** The file or directory at the path; undefined if nothing exists there. */
  stats: Stats | undefined
  /**
   * True if the path goes through a link that only the kernel can follow, such as an open pipe in `/proc/self/fd`.
   * `path` is then the path of the link itself.
   */
  opaque: boolean
}

/**
 * Resolves an absolute path one component at a time, so that `..` after a symlink has the kernel's meaning. Components
 * that do not exist yet are kept as given. Throws an Error with a sentence for a path that cannot be resolved.
 */
export async function realPath(path: string, diskNames: DiskNames = standardDiskNames): Promise<RealPath> {
  if (path.includes("\0")) throw new Error("A path cannot contain a NUL character. Give another path.")
  const { root } = parse(path)
  if (root === "") throw new Error(`${path} is not an absolute path. Give an absolute path.`)
  const pending = components(path.slice(root.length)).reverse()
  const look = lstatAhead(path, { root, components: pending.toReversed(), disk: diskNames.disk })
  let current = root
  let stats: Stats | undefined
  let links = 0
  for (let component = pending.pop(); component !== undefined; component = pending.pop()) {
    if (component === "..") {
      current = dirname(current)
      stats = undefined
      continue
    }
    const next = join(current, component)
    stats = await look(next)
    if (!stats?.isSymbolicLink()) {
      if (stats === undefined || diskNames.isCaseSensitive(current, stats.dev)) current = next
      else current = join(current, await diskNames.nameOnDisk(current, { name: component, stats }))
      continue
    }
    if (++links > linksMax) {
      throw new Error(
        `${path} leads through a circle of symlinks, or through too many symlinks. Give another path.`,
      )
    }
    const target = await targetOf(next, path)
    if (target === undefined) return { path: join(next, ...safeRest(pending)), stats, opaque: true }
    if (isAbsolute(target)) current = parse(target).root
    pending.push(...components(target).reverse())
    if (pending.length > componentsMax) throw new Error(`${path} is too long. Give another path.`)
    stats = undefined
  }
  return { path: current, stats: stats ?? (await look(current)), opaque: false }
}

function components(path: string): string[] {
  return path.split(sep).filter((component) => component !== "" && component !== ".")
}

/** The components after an opaque link, without `..`, so that they cannot lead out of it. */
function safeRest(pending: readonly string[]): string[] {
  return pending.filter((component) => component !== "..").reverse()
}

/**
 * Starts lstat for all directories of the path at once: in most paths none of them is a symlink, and waiting for one
 * after the other is slower.
 */
function lstatAhead(
  whole: string,
  options: { root: string; components: readonly string[]; disk: Disk },
): (path: string) => Promise<Stats | undefined> {
  const asked = new Map<string, Promise<Stats | undefined>>()
  let at = options.root
  for (const component of options.components.slice(0, aheadMax)) {
    if (component === "..") break
    at = join(at, component)
    const stats = lstatOf(at, { whole, disk: options.disk })
    // A failure matters only if the resolution really reaches this path.
    stats.catch(() => {})
    asked.set(at, stats)
  }
  return (path) => asked.get(path) ?? lstatOf(path, { whole, disk: options.disk })
}

async function lstatOf(
  path: string,
  { whole, disk }: { whole: string; disk: Disk },
): Promise<Stats | undefined> {
  try {
    return await disk.lstat(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return undefined
    throw new Error(`Cannot resolve ${whole}: ${reasonOf(code)} at ${path}. Give another path.`)
  }
}

/**
 * The target of a symlink. Undefined for a link below `/proc` whose text is not its target, such as `pipe:[123]`, a
 * deleted file, or the root directory of a process in another container.
 */
async function targetOf(link: string, whole: string): Promise<string | undefined> {
  let target: string
  try {
    target = await readlink(link)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`Cannot resolve ${whole}: ${reasonOf(code)} at ${link}. Give another path.`)
  }
  if (!/^\/proc\/\d+\//.test(link)) return target
  if (!isAbsolute(target)) return undefined
  try {
    const [here, there] = await Promise.all([stat(link), stat(target)])
    return here.dev === there.dev && here.ino === there.ino ? target : undefined
  } catch {
    return undefined
  }
}

function reasonOf(code: string | undefined): string {
  if (code === "EACCES" || code === "EPERM") return "permission is denied"
  if (code === "ENAMETOOLONG") return "a name is too long"
  return code ?? "it fails"
}
