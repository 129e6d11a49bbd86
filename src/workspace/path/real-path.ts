import type { Stats } from "node:fs"
import { readlink, stat } from "node:fs/promises"
import { dirname, isAbsolute, join, parse, sep } from "node:path"
import { type Disk, Spelling } from "./spelling.ts"

/** As many as Linux follows before it gives up. */
const linksMax = 40
const componentsMax = 4096
const aheadMax = 32

const standardSpelling = new Spelling()

export interface RealPath {
  /** Absolute, without `.`, `..` or a symlink; what is there is spelled as on the disk. */
  path: string
  /** What is there; undefined if nothing is. */
  stats: Stats | undefined
  /**
   * The path goes through a link that only the kernel can follow, such as an open pipe in `/proc/self/fd`. `path` then
   * names the link itself.
   */
  opaque: boolean
}

/**
 * Where an absolute path leads, found one component at a time, so that `..` after a symlink means what it means to the
 * kernel. What does not exist yet is kept as it is named. Throws an Error with a sentence for a path that leads nowhere.
 */
export async function realPath(path: string, spelling: Spelling = standardSpelling): Promise<RealPath> {
  if (path.includes("\0")) throw new Error("A path cannot hold a NUL character. Give another path.")
  const { root } = parse(path)
  if (root === "") throw new Error(`${path} is not an absolute path.`)
  const pending = components(path.slice(root.length)).reverse()
  const look = lookAhead(path, { root, components: pending.toReversed(), disk: spelling.disk })
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
      if (stats === undefined || spelling.isExact(current, stats.dev)) current = next
      else current = join(current, await spelling.nameOf(current, { name: component, stats }))
      continue
    }
    if (++links > linksMax) {
      throw new Error(
        `${path} goes round in a circle of symlinks, or through too many of them. Give another path.`,
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

/** What follows an opaque link, never leading out of it again. */
function safeRest(pending: readonly string[]): string[] {
  return pending.filter((component) => component !== "..").reverse()
}

/** Asks for all directories on the way at once: in most paths none of them is a symlink, and waiting costs more than asking. */
function lookAhead(
  whole: string,
  options: { root: string; components: readonly string[]; disk: Disk },
): (path: string) => Promise<Stats | undefined> {
  const asked = new Map<string, Promise<Stats | undefined>>()
  let at = options.root
  for (const component of options.components.slice(0, aheadMax)) {
    if (component === "..") break
    at = join(at, component)
    const stats = lstatOf(at, { whole, disk: options.disk })
    // Whether it fails matters only if the way really leads here.
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
    throw new Error(`Cannot find out where ${whole} leads: ${reasonOf(code)} at ${path}. Give another path.`)
  }
}

/**
 * What a symlink says; undefined for one of the kernel's own (below `/proc`) whose text is not where it leads, such as
 * `pipe:[123]`, a deleted file, or the root directory of a process in another container.
 */
async function targetOf(link: string, whole: string): Promise<string | undefined> {
  let target: string
  try {
    target = await readlink(link)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(`Cannot find out where ${whole} leads: ${reasonOf(code)} at ${link}. Give another path.`)
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
