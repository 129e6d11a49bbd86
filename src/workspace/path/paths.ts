import { stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, relative, resolve, sep } from "node:path"
import { StemmaError } from "../../protocol/error/error.ts"
import { findRoot, gitLocation } from "../git/git-location.ts"
import type { ResolvedPath, Workspace } from "../workspace.ts"
import { isGuardedName } from "./guarded-names.ts"
import { isInside } from "./is-inside.ts"
import { type RealPath, realPath } from "./real-path.ts"

export interface WorkspaceOptions {
  directory: string
  /** Stemma's own data and config directories. Everything in them is guarded. */
  own?: readonly string[]
  /** Files or directories that are never shown to a model, such as the token. */
  forbidden?: readonly string[]
}

/** Files in `/proc` with the environment and memory of processes of the same user, which contain keys. */
const processSecrets = /^\/proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|auxv)$/

/** Opens the workspace of a directory. Throws `not_found` or `invalid` if there is no such directory. */
export async function openWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const directory = await existingDirectory(options.directory)
  const root = await findRoot(directory)
  const location = await gitLocation(root)
  const own = [...(options.own ?? []), ...(location ? [location.gitDirectory, location.commonDirectory] : [])]
  const ownPaths = await foldedPaths(own)
  const forbidden = options.forbidden ?? []
  const forbiddenPaths = await foldedPaths(forbidden)
  const secret = await givenAndRealPaths([...(options.own ?? []), ...forbidden])

  return {
    directory,
    root,
    async resolve(path): Promise<ResolvedPath> {
      const found = await realPath(absolute(path, directory))
      const external = found.opaque || !isInside(found.path, root)
      const inside = relative(directory, found.path).split(sep).join("/")
      return {
        path: found.path,
        name: external ? found.path : inside || ".",
        external,
        directoryPattern: join(dirname(found.path), "*"),
        guarded: found.opaque || isGuarded(found.path, root) || isBelowAny(found.path, ownPaths),
        forbidden:
          processSecrets.test(found.path) ||
          isBelowAny(found.path, forbiddenPaths) ||
          (await isSameFile(found, forbidden)),
        exists: found.stats !== undefined,
      }
    },
    ownBelow: (path) => secret.filter((one) => isInside(foldPath(one), foldPath(path))),
  }
}

async function existingDirectory(given: string): Promise<string> {
  if (given === "" || given.includes("\0")) {
    throw new StemmaError(
      "invalid",
      "The directory's path is empty or contains a NUL character. Give the path of a directory.",
    )
  }
  const directory = absolute(given, process.cwd())
  let found: RealPath
  try {
    found = await realPath(directory)
  } catch (error) {
    throw new StemmaError("invalid", (error as Error).message, { cause: error })
  }
  if (found.stats === undefined) {
    throw new StemmaError(
      "not_found",
      `There is no directory ${directory}. Create it first, or give another one.`,
    )
  }
  if (!found.stats.isDirectory() || found.opaque) {
    throw new StemmaError(
      "invalid",
      `${directory} is not a directory. Give the directory that contains the files.`,
    )
  }
  return found.path
}

/** Makes a path absolute and keeps `..`, because its meaning depends on the symlinks before it. */
function absolute(path: string, directory: string): string {
  if (path === "~" || path.startsWith("~/")) return `${homedir()}/${path.slice(2)}`
  return path.startsWith("/") || resolve(path) === path ? path : `${directory}${sep}${path}`
}

/** Each path as given and as resolved now, so that neither a symlink to it nor a symlink that replaced it is missed. */
async function foldedPaths(paths: readonly string[]): Promise<string[]> {
  return [...new Set((await givenAndRealPaths(paths)).map(foldPath))]
}

async function givenAndRealPaths(paths: readonly string[]): Promise<string[]> {
  const places = await Promise.all(
    paths.map(async (path) => {
      const named = resolve(path)
      return [
        named,
        await realPath(named).then(
          (found) => found.path,
          () => named,
        ),
      ]
    }),
  )
  return [...new Set(places.flat())]
}

/** Two names that are equal on any file system count as equal everywhere. */
function foldPath(path: string): string {
  return path.normalize("NFKC").toLowerCase()
}

function isBelowAny(path: string, folded: readonly string[]): boolean {
  const one = foldPath(path)
  return folded.some((directory) => isInside(one, directory))
}

/**
 * Inside the root, only the path below the root is checked, so that a work tree inside some `.git` directory can be
 * worked on.
 */
function isGuarded(path: string, root: string): boolean {
  const below = isInside(path, root) ? path.slice(root.length) : path
  return below.split(sep).some(isGuardedName)
}

/** True for another name of a forbidden file: a hard link, or another spelling on a lenient file system. */
async function isSameFile(found: RealPath, files: readonly string[]): Promise<boolean> {
  const { stats } = found
  if (!stats?.isFile()) return false
  for (const file of files) {
    const other = await stat(file).catch(() => undefined)
    if (other !== undefined && other.dev === stats.dev && other.ino === stats.ino) return true
  }
  return false
}
