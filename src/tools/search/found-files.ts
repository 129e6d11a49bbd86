import { basename, dirname, relative, sep } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { holdDirectory } from "../../system/hold-directory.ts"
import { isInside } from "../../workspace/path/is-inside.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import type { ToolContext, WantsContext } from "../tool.ts"
import { ripgrep } from "./ripgrep.ts"

const listBytesMax = 32 * 1024 * 1024
/** Checking many files may take long, so the loop yields to the event loop after this many milliseconds. */
const tickMs = 10
const checkMsMax = 20_000

/** Directories that a search of a project leaves out. They can be searched by naming them as the path. */
export const skippedDirectories = [
  ".git",
  "node_modules",
  ".hg",
  ".svn",
  "__pycache__",
  ".venv",
  ".mypy_cache",
]

/** The parts of a tool context that a search needs. */
export type SearchContext = Pick<ToolContext, "workspace" | "decide" | "signal" | "environment">

export interface FoundFile {
  /** Absolute and real. */
  path: string
  /** Relative to the directory that was searched, with `/`. */
  relative: string
  /** As in `ResolvedPath`. */
  name: string
}

export interface FoundFiles {
  /** The last changed first. */
  files: FoundFile[]
  /** How many files match but are left out because reading them is not allowed. */
  leftOut: number
  /** True if there are more files than were checked. */
  cut: boolean
}

/**
 * Files below a directory that match and may be read, except files that ignore rules exclude. No symlink is followed,
 * so every path is real. Stemma's own secrets may be among them, and names from outside if a directory was a symlink for a
 * moment: a caller shows what `firstShowable` leaves.
 */
export async function findFiles(
  location: ResolvedPath,
  { context, matches }: { context: SearchContext; matches: (path: string) => boolean },
): Promise<FoundFiles> {
  const skipped = skippedDirectories.map((name) => `--glob=!${name}`)
  const { stdout, cut } = await ripgrep({
    args: ["--files", "--null", "--hidden", "--no-messages", "--sortr=modified", ...skipped, "--", "./"],
    directory: location.path,
    outputBytesMax: listBytesMax,
    context,
  })
  const printed = stdout.toString().split("\0").slice(0, -1)
  const found: FoundFiles = { files: [], leftOut: 0, cut }
  const throttle = new EventLoopPacer(context.signal)
  for (const path of printed) {
    if (throttle.due()) await throttle.yieldTick()
    const below = path.replace(/^\.\//, "")
    if (!matches(below)) continue
    const file = foundFile(location, { below, context })
    if (mayRead(file.name, context)) found.files.push(file)
    else found.leftOut++
  }
  return found
}

class EventLoopPacer {
  readonly #signal: AbortSignal
  readonly #start = performance.now()
  #turn = this.#start

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  due(): boolean {
    return performance.now() - this.#turn >= tickMs
  }

  async yieldTick(): Promise<void> {
    if (performance.now() - this.#start > checkMsMax)
      throw new Error("The search took too long. Search a smaller directory.")
    await nextTurn()
    this.#signal.throwIfAborted()
    this.#turn = performance.now()
  }
}

function foundFile(
  location: ResolvedPath,
  { below, context }: { below: string; context: SearchContext },
): FoundFile {
  const path = `${location.path === "/" ? "" : location.path}/${below}`
  return { path, relative: below, name: nameOf(path, context) }
}

/** The name that `resolve` gives to a real path, without accessing the disk. */
export function nameOf(path: string, { workspace }: Pick<ToolContext, "workspace">): string {
  if (!isInside(path, workspace.root)) return path
  return relative(workspace.directory, path).split(sep).join("/") || "."
}

/** A file that needs a permission request is not shown, because a search does not ask. */
export function mayRead(name: string, context: Pick<WantsContext, "decide">): boolean {
  return context.decide({ permission: "read", patterns: [name] }) === "allow"
}

/** How many files are checked at the same time. */
const checksAtOnce = 16

/** The first files that a model may see and that are really in the project, and how many were checked for that. */
export async function firstShowable<T extends { path: string }>(
  files: readonly T[],
  { max, context }: { max: number; context: Pick<ToolContext, "workspace"> },
): Promise<{ shown: T[]; checked: number }> {
  const shown: T[] = []
  let checked = 0
  while (shown.length < max && checked < files.length) {
    const some = files.slice(checked, checked + Math.min(checksAtOnce, max - shown.length))
    const results = await Promise.all(
      some.map(async ({ path }) => (await isShowable(path, context)) && isPresent(path)),
    )
    shown.push(...some.filter((_, index) => results[index]))
    checked += some.length
  }
  return { shown, checked }
}

/** True if there is a file or directory at a real path, in a directory that no symlink leads to. */
async function isPresent(path: string): Promise<boolean> {
  try {
    await using held = await holdDirectory(dirname(path))
    const stats = await held.stats(basename(path))
    return stats !== undefined && !stats.isSymbolicLink()
  } catch {
    return false
  }
}

/**
 * False for a file that no model may see, and for a file that was replaced by a symlink meanwhile. A file that does not
 * exist is showable: names must come from a held directory, or be checked by `firstShowable`.
 */
export async function isShowable(
  path: string,
  { workspace }: Pick<ToolContext, "workspace">,
): Promise<boolean> {
  const location = await workspace.resolve(path).catch(() => undefined)
  return location !== undefined && !location.forbidden && location.path === path
}

export function leftOutNotice(leftOut: number): string[] {
  if (leftOut === 0) return []
  return [`(${leftOut} ${leftOut === 1 ? "file is" : "files are"} left out: reading is not allowed.)`]
}
