import { readdir, stat } from "node:fs/promises"
import { posix } from "node:path"
import type { ResolvedPath, Workspace } from "../../../workspace/workspace.ts"
import type { WantsContext } from "../../tool.ts"
import type { Word } from "../parse/script.ts"
import type { FileWant } from "./analyse.ts"
import { globFiles } from "./glob-files.ts"
import { TreeReads } from "./tree-reads.ts"

export interface ResolveOptions {
  context: Pick<WantsContext, "workspace" | "decide" | "signal">
  /** The home directory that `~` stands for. */
  home: string
}

export interface ResolvedFile extends ResolvedPath {
  isDirectory: boolean
}

export interface ResolvedFiles {
  files: ResolvedFile[]
  /** True if the word may also stand for a file that is not listed. */
  unknown: boolean
  /** Directories that are read as a whole, with the reason why a person has to agree to that. */
  trees: { name: string; reason: "forbidden" | "guarded" | "large" | "spreads" }[]
}

const belowMax = 1_000

/** Resolves a file that a command names, from each directory in which the command may run. */
export async function resolveFiles(want: FileWant, options: ResolveOptions): Promise<ResolvedFiles> {
  const { word } = want
  const { workspace } = options.context
  if (word === undefined || word.pipe) return { files: [], unknown: false, trees: [] }
  const paths = await pathsOf(word, want.directories, options)
  if (paths === undefined) return { files: [], unknown: !want.ifThere, trees: [] }
  const found = await Promise.all(paths.map((path) => resolveFile(path, workspace)))
  const named = found.filter((file) => file !== undefined && (file.exists || !want.ifThere)) as ResolvedFile[]
  const more = await Promise.all(named.map((file) => filesInside(file, want, options)))
  return {
    files: [...named, ...more.flatMap((one) => one.files)],
    unknown: found.includes(undefined),
    trees: more.flatMap((one) => one.trees),
  }
}

/** Undefined for a path that cannot be resolved, such as a path in a directory that may not be read. */
async function resolveFile(path: string, workspace: Workspace): Promise<ResolvedFile | undefined> {
  const location = await workspace.resolve(path).catch(() => undefined)
  if (!location) return undefined
  const stats = await stat(location.path).catch(() => undefined)
  return { ...location, isDirectory: stats?.isDirectory() ?? false }
}

async function pathsOf(
  word: Word,
  directories: string[] | undefined,
  { home }: ResolveOptions,
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

/** The files below a directory that a command reaches: those that are put into it, or all files in it. */
async function filesInside(
  file: ResolvedFile,
  want: FileWant,
  options: ResolveOptions,
): Promise<Omit<ResolvedFiles, "unknown">> {
  const { workspace } = options.context
  const whole = want.recursive || want.word?.below
  if (!file.isDirectory) return { files: [], trees: [] }
  if (want.access === "read") {
    const tree = new TreeReads(want, options.context)
    return whole ? tree.below(file) : { files: [], trees: [] }
  }
  if (want.access !== "edit") return { files: [], trees: [] }
  const names = (want.into ?? []).map((word) => (word.value === undefined ? "*" : posix.basename(word.value)))
  const put = await Promise.all(names.map((name) => resolveFile(`${file.path}/${name}`, workspace)))
  const known = put.filter((one) => one !== undefined)
  const roots = [
    ...(want.word?.below || (want.recursive && !want.into) ? [file] : []),
    ...(want.recursive ? known.filter((one) => one.isDirectory) : []),
  ]
  const follows = want.word?.below === true
  const inside = await Promise.all(roots.map((root) => below(root, { workspace, follows })))
  return { files: [...known, ...inside.flat()], trees: [] }
}

/** The entries below a directory, nearest first, up to a thousand, and a pattern for the rest. */
async function below(
  file: ResolvedFile,
  { workspace, follows }: { workspace: Workspace; follows: boolean },
): Promise<ResolvedFile[]> {
  const found: ResolvedFile[] = [{ ...file, name: `${file.name}/*` }]
  const queue = file.external ? [] : [file.path]
  for (let path = queue.shift(); path !== undefined && found.length < belowMax; path = queue.shift()) {
    const entries = await readdir(path, { withFileTypes: true }).catch(() => [])
    for (const entry of entries.slice(0, belowMax - found.length)) {
      const inside = `${path}/${entry.name}`
      // A command on a directory changes a symlink in it, not the symlink's target, unless the command gets the
      // symlink's name.
      if (entry.isSymbolicLink() && !follows) continue
      const resolved = await workspace.resolve(inside).catch(() => undefined)
      if (!resolved) continue
      const { forbidden, ...one } = resolved
      // The command does not name this file, so a person may decide about it.
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
