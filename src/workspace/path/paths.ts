import { stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, join, relative, resolve, sep } from "node:path"
import { StemmaError } from "../../protocol/error/error.ts"
import { findRoot, gitLocation } from "../git/git-location.ts"
import type { Place, Workspace } from "../workspace.ts"
import { isGuardedName } from "./guarded-names.ts"
import { isInside } from "./inside.ts"
import { type RealPath, realPath } from "./real-path.ts"

export interface WorkspaceOptions {
  directory: string
  /** Stemma's own directories, with its data and config: everything in them is guarded. */
  own?: readonly string[]
  /** Files (or directories) that are never shown to a model, such as the token. */
  forbidden?: readonly string[]
}

/** What `/proc` shows of any process of the same user: its environment and memory hold keys. */
const processSecrets = /^\/proc\/[^/]+\/(task\/[^/]+\/)?(environ|mem|auxv)$/

/** Opens the files around a directory. Throws `not_found` or `invalid` if there is no such directory. */
export async function openWorkspace(options: WorkspaceOptions): Promise<Workspace> {
  const directory = await existingDirectory(options.directory)
  const root = await findRoot(directory)
  const location = await gitLocation(root)
  const own = [...(options.own ?? []), ...(location ? [location.gitDirectory, location.commonDirectory] : [])]
  const ownPlaces = await namesAndPlaces(own)
  const forbidden = options.forbidden ?? []
  const forbiddenPlaces = await namesAndPlaces(forbidden)
  const secret = await unfolded([...(options.own ?? []), ...forbidden])

  return {
    directory,
    root,
    async resolve(path): Promise<Place> {
      const found = await realPath(absolute(path, directory))
      const external = found.opaque || !isInside(found.path, root)
      const inside = relative(directory, found.path).split(sep).join("/")
      return {
        path: found.path,
        name: external ? found.path : inside || ".",
        external,
        directoryPattern: join(dirname(found.path), "*"),
        guarded: found.opaque || isGuarded(found.path, root) || isBelowAny(found.path, ownPlaces),
        forbidden:
          processSecrets.test(found.path) ||
          isBelowAny(found.path, forbiddenPlaces) ||
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
      "That is not a directory's name: it is empty or holds a NUL. Name a directory.",
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
      `There is no directory ${directory}. Make it first, or name another one.`,
    )
  }
  if (!found.stats.isDirectory() || found.opaque) {
    throw new StemmaError(
      "invalid",
      `${directory} is not a directory. Name the directory that holds the files.`,
    )
  }
  return found.path
}

/** Absolute, with `..` left where it is: only whoever follows the symlinks knows what it means. */
function absolute(path: string, directory: string): string {
  if (path === "~" || path.startsWith("~/")) return `${homedir()}/${path.slice(2)}`
  return path.startsWith("/") || resolve(path) === path ? path : `${directory}${sep}${path}`
}

/** Each path as it is named and as it is now, so that neither a symlink to it nor one put in its place is missed. */
async function namesAndPlaces(paths: readonly string[]): Promise<string[]> {
  return [...new Set((await unfolded(paths)).map(foldPath))]
}

async function unfolded(paths: readonly string[]): Promise<string[]> {
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

/** Two names that some file system takes for one are taken for one everywhere. */
function foldPath(path: string): string {
  return path.normalize("NFKC").toLowerCase()
}

function isBelowAny(path: string, folded: readonly string[]): boolean {
  const one = foldPath(path)
  return folded.some((directory) => isInside(one, directory))
}

/** Inside the root only what is below it counts, so that a work tree kept in some `.git` can be worked on. */
function isGuarded(path: string, root: string): boolean {
  const below = isInside(path, root) ? path.slice(root.length) : path
  return below.split(sep).some(isGuardedName)
}

/** Another name of a forbidden file: a hard link, or a file system that takes two names for one. */
async function isSameFile(found: RealPath, files: readonly string[]): Promise<boolean> {
  const { stats } = found
  if (!stats?.isFile()) return false
  for (const file of files) {
    const other = await stat(file).catch(() => undefined)
    if (other !== undefined && other.dev === stats.dev && other.ino === stats.ino) return true
  }
  return false
}
