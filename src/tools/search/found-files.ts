import { relative, sep } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { isInside } from "../../workspace/path/inside.ts"
import type { Place } from "../../workspace/workspace.ts"
import type { ToolContext, WantsContext } from "../tool.ts"
import { ripgrep } from "./ripgrep.ts"

const listBytesMax = 32 * 1024 * 1024
/** A hundred thousand files are many, and patterns and rules may be slow: others get their turn in between. */
const turnMs = 10
const judgedMsMax = 20_000

/** Directories that nobody means when they search a project; they can be searched by naming them as the path. */
export const skippedDirectories = [
  ".git",
  "node_modules",
  ".hg",
  ".svn",
  "__pycache__",
  ".venv",
  ".mypy_cache",
]

/** What a search needs to know: who searches is told by what it may read. */
export type SearchContext = Pick<ToolContext, "workspace" | "decide" | "signal" | "environment">

export interface FoundFile {
  /** Absolute and real. */
  path: string
  /** Relative to the directory that was searched, with `/`. */
  relative: string
  /** As in `Place`. */
  name: string
}

export interface FoundFiles {
  /** The last changed first. */
  files: FoundFile[]
  /** How many match but are left out because reading them is not allowed. */
  leftOut: number
  /** True if there are more files than were looked at. */
  cut: boolean
}

/**
 * Files below a directory that match and may be read, without what ignore files name. No symlink is followed, so all of them
 * are really there. Stemma's own secrets may be among them: whoever shows a file asks `isShowable` before.
 */
export async function findFiles(
  location: Place,
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
  const throttle = new Pace(context.signal)
  for (const path of printed) {
    if (throttle.due()) await throttle.turn()
    const below = path.replace(/^\.\//, "")
    if (!matches(below)) continue
    const file = foundFile(location, { below, context })
    if (mayRead(file.name, context)) found.files.push(file)
    else found.leftOut++
  }
  return found
}

class Pace {
  readonly #signal: AbortSignal
  readonly #start = performance.now()
  #turn = this.#start

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  due(): boolean {
    return performance.now() - this.#turn >= turnMs
  }

  async turn(): Promise<void> {
    if (performance.now() - this.#start > judgedMsMax)
      throw new Error("The search took too long. Search a smaller directory.")
    await nextTurn()
    this.#signal.throwIfAborted()
    this.#turn = performance.now()
  }
}

function foundFile(
  location: Place,
  { below, context }: { below: string; context: SearchContext },
): FoundFile {
  const path = `${location.path === "/" ? "" : location.path}/${below}`
  return { path, relative: below, name: nameOf(path, context) }
}

/** The name that `resolve` gives to a real path, without looking at the disk. */
export function nameOf(path: string, { workspace }: Pick<ToolContext, "workspace">): string {
  if (!isInside(path, workspace.root)) return path
  return relative(workspace.directory, path).split(sep).join("/") || "."
}

/** What must be asked about is not shown: a search asks no questions. */
export function mayRead(name: string, context: Pick<WantsContext, "decide">): boolean {
  return context.decide({ permission: "read", patterns: [name] }) === "allow"
}

/** False for what no model may see, and for what somebody has meanwhile replaced by a symlink. */
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
