import { readdir, stat } from "node:fs/promises"
import { posix } from "node:path"
import type { Place, Workspace } from "../../../workspace/workspace.ts"
import type { WantsContext } from "../../tool.ts"
import type { Word } from "../parse/script.ts"
import type { FileWant } from "./analyse.ts"
import { globFiles } from "./glob-files.ts"
import { TreeReads } from "./tree-reads.ts"

export interface PlacesOptions {
  context: Pick<WantsContext, "workspace" | "decide" | "signal">
  /** What `~` stands for. */
  home: string
}

export interface FoundPlace extends Place {
  isDirectory: boolean
}

export interface FilePlaces {
  places: FoundPlace[]
  /** True if it may be a file that is not among them. */
  unknown: boolean
  /** Directories that are read as a whole, with why a person has to agree to that. */
  wholes: { name: string; reason: "forbidden" | "guarded" | "large" | "spreads" }[]
}

const belowMax = 1_000

/** Where a file that a command names really is, from each directory in which the command may run. */
export async function realPlacesOf(file: FileWant, options: PlacesOptions): Promise<FilePlaces> {
  const { word } = file
  const { workspace } = options.context
  if (word === undefined || word.pipe) return { places: [], unknown: false, wholes: [] }
  const paths = await pathsOf(word, file.directories, options)
  if (paths === undefined) return { places: [], unknown: !file.ifThere, wholes: [] }
  const found = await Promise.all(paths.map((path) => find(path, workspace)))
  const named = found.filter(
    (place) => place !== undefined && (place.exists || !file.ifThere),
  ) as FoundPlace[]
  const more = await Promise.all(named.map((place) => morePlaces(place, file, options)))
  return {
    places: [...named, ...more.flatMap((one) => one.places)],
    unknown: found.includes(undefined),
    wholes: more.flatMap((one) => one.wholes),
  }
}

/** Undefined for a path of which nobody can say where it leads, such as one in a directory that may not be read. */
async function find(path: string, workspace: Workspace): Promise<FoundPlace | undefined> {
  const location = await workspace.resolve(path).catch(() => undefined)
  if (!location) return undefined
  const stats = await stat(location.path).catch(() => undefined)
  return { ...location, isDirectory: stats?.isDirectory() ?? false }
}

async function pathsOf(
  word: Word,
  directories: string[] | undefined,
  { home }: PlacesOptions,
): Promise<string[] | undefined> {
  if (word.value !== undefined) {
    const path = word.home ? `${home}${word.value}` : word.value
    if (path.startsWith("/")) return [path]
    return directories?.map((directory) => `${directory}/${path}`)
  }
  if (word.glob === undefined) return undefined
  const glob = word.home ? `${home.replaceAll(/[*?[\\]/g, "\\$&")}${word.glob.slice(1)}` : word.glob
  const bases = glob.startsWith("/") ? ["/"] : directories
  if (bases === undefined) return undefined
  const found = await Promise.all(bases.map((base) => globFiles(glob, base)))
  return found.includes(undefined) ? undefined : (found as string[][]).flat()
}

/** What is reached below a directory: the files that are put into it, or all that is there. */
async function morePlaces(
  place: FoundPlace,
  file: FileWant,
  options: PlacesOptions,
): Promise<Omit<FilePlaces, "unknown">> {
  const { workspace } = options.context
  const whole = file.recursive || file.word?.below
  if (!place.isDirectory) return { places: [], wholes: [] }
  if (file.access === "read") {
    const tree = new TreeReads(file, options.context)
    return whole ? tree.below(place) : { places: [], wholes: [] }
  }
  if (file.access !== "edit") return { places: [], wholes: [] }
  const names = (file.into ?? []).map((word) => (word.value === undefined ? "*" : posix.basename(word.value)))
  const put = await Promise.all(names.map((name) => find(`${place.path}/${name}`, workspace)))
  const known = put.filter((one) => one !== undefined)
  const roots = [
    ...(file.word?.below || (file.recursive && !file.into) ? [place] : []),
    ...(file.recursive ? known.filter((one) => one.isDirectory) : []),
  ]
  const follows = file.word?.below === true
  const inside = await Promise.all(roots.map((root) => below(root, { workspace, follows })))
  return { places: [...known, ...inside.flat()], wholes: [] }
}

/** What is in a directory, nearest first, up to a thousand names, and a name that stands for the rest. */
async function below(
  place: FoundPlace,
  { workspace, follows }: { workspace: Workspace; follows: boolean },
): Promise<FoundPlace[]> {
  const found: FoundPlace[] = [{ ...place, name: `${place.name}/*` }]
  const queue = place.external ? [] : [place.path]
  for (let path = queue.shift(); path !== undefined && found.length < belowMax; path = queue.shift()) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.slice(0, belowMax - found.length)) {
      const inside = `${path}/${entry.name}`
      // A symlink in a directory is changed itself, not what it leads to, unless a command is given its name.
      if (entry.isSymbolicLink() && !follows) continue
      const resolved = await workspace.resolve(inside).catch(() => undefined)
      if (!resolved) continue
      const { forbidden, ...one } = resolved
      // Nobody named it, so a person may decide.
      found.push({
        ...one,
        forbidden: false,
        guarded: one.guarded || forbidden,
        isDirectory: entry.isDirectory(),
      })
      if (entry.isDirectory() && entry.name !== ".git") queue.push(inside)
    }
  }
  return found
}
