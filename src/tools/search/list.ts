import { opendir } from "node:fs/promises"
import { z } from "zod"
import { holdDirectory } from "../../system/hold-directory.ts"
import type { ResolvedPath } from "../../workspace/workspace.ts"
import { explained } from "../file/open-file.ts"
import { shownName } from "../file/shown-name.ts"
import { searchPath } from "../input-names.ts"
import type { Tool, ToolContext } from "../tool.ts"
import { isShowable, leftOutNotice, mayRead, nameOf, skippedDirectories } from "./found-files.ts"
import { compileGlob } from "./glob-match.ts"
import { searchedDirectory, wantsOfSearch } from "./search-directory.ts"

const entriesMax = 200
/** No more entries are read, shown or not. */
const entriesReadMax = 20_000

type ListContext = Pick<ToolContext, "workspace" | "decide" | "signal">

const ListInput = z.object({
  path: searchPath.describe("The directory; the session's directory if absent."),
  ignore: z
    .array(z.string().min(1).max(200))
    .max(20)
    .optional()
    .describe("Globs of what to leave out, such as `dist/` or `*.snap`."),
})
type ListInput = z.infer<typeof ListInput>

export const listTool: Tool<ListInput> = {
  name: "list",
  description: [
    "Shows a directory as a tree, at most 200 entries, what is near the top first. A directory ends in `/`, or in `/ …` if there",
    "was no room to open it: list it by itself. A symlink is marked `@` and not followed. node_modules, .git and the like are",
    "left out.",
  ].join(" "),
  input: ListInput,
  replay: "safe",
  writes: false,

  async wants(input, context) {
    ignored(input)
    return wantsOfSearch(input, context)
  },

  async execute(input, context) {
    const location = await searchedDirectory(input, context)
    const { text, count, truncated } = await listing(location, { isIgnored: ignored(input), context })
    return { title: shownName(location.name), output: text, metadata: { count, truncated } }
  },
}

/** A directory as a tree, without the files that may not be read. */
export async function listing(
  location: ResolvedPath,
  options: WalkOptions,
): Promise<{ text: string; count: number; truncated: boolean }> {
  const tree = await walk(location, options)
  const notices = [
    ...(tree.more ? ["(There is more than fits here. List a directory by itself to see all of it.)"] : []),
    ...leftOutNotice(tree.leftOut),
  ]
  const lines = tree.root.children.length > 0 ? show(tree.root.children, "  ") : ["  (nothing)"]
  const text = [location.name === "/" ? "/" : `${shownName(location.name)}/`, ...lines, ...notices].join("\n")
  return { text, count: tree.count, truncated: tree.more }
}

interface Entry {
  name: string
  kind: "directory" | "file" | "link"
  path: string
  /** Relative to the directory that is listed. */
  below: string
  opened: boolean
  children: Entry[]
}

interface Tree {
  root: Entry
  count: number
  leftOut: number
  /** How many entries were read. */
  looked: number
  /** True if some entries do not fit. */
  more: boolean
}

interface WalkOptions {
  isIgnored?: (below: string) => boolean
  context: ListContext
}

/** Level by level, so that entries near the top come before deeper ones. */
async function walk(location: ResolvedPath, options: WalkOptions): Promise<Tree> {
  const root: Entry = {
    name: "",
    kind: "directory",
    path: location.path,
    below: "",
    opened: true,
    children: [],
  }
  const tree: Tree = { root, count: 0, leftOut: 0, looked: 0, more: false }
  const open = [root]
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    if (tree.count >= entriesMax || tree.looked > entriesReadMax) return { ...tree, more: true }
    options.context.signal.throwIfAborted()
    const entries = await entriesOf(next, { ...options, tree })
    const shown = entries.slice(0, entriesMax - tree.count)
    next.opened = true
    next.children = shown
    tree.count += shown.length
    if (shown.length < entries.length) tree.more = true
    open.push(...shown.filter((entry) => entry.kind === "directory"))
  }
  return tree
}

async function entriesOf(
  directory: Entry,
  { isIgnored = () => false, context, tree }: WalkOptions & { tree: Tree },
): Promise<Entry[]> {
  const entries: Entry[] = []
  try {
    await using held = await holdDirectory(directory.path)
    for await (const found of await opendir(held.self)) {
      context.signal.throwIfAborted()
      if (++tree.looked > entriesReadMax) {
        tree.more = true
        break
      }
      const below = directory.below === "" ? found.name : `${directory.below}/${found.name}`
      const path = `${directory.path === "/" ? "" : directory.path}/${found.name}`
      const kind = found.isDirectory() ? "directory" : found.isSymbolicLink() ? "link" : "file"
      if (kind === "directory" && skippedDirectories.includes(found.name)) continue
      if (isIgnored(kind === "directory" ? `${below}/` : below)) continue
      if (kind !== "directory" && !mayRead(nameOf(path, context), context)) tree.leftOut++
      else entries.push({ name: found.name, kind, path, below, opened: false, children: [] })
    }
  } catch (error) {
    // A subdirectory may be removed or unreadable; only the listed directory itself must be readable.
    if (directory.below === "") throw explained(error, "The directory could not be opened")
  }
  entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  return showable(entries, context)
}

async function showable(entries: readonly Entry[], context: ListContext): Promise<Entry[]> {
  const shown: Entry[] = []
  for (const entry of entries) {
    const looked = shown.length < entriesMax
    if (!looked || entry.kind === "link" || (await isShowable(entry.path, context))) shown.push(entry)
  }
  return shown
}

function ignored({ ignore = [] }: ListInput): (below: string) => boolean {
  const globs = ignore.map((glob) => compileGlob(glob))
  return (below) => {
    const plain = below.replace(/\/$/, "")
    return globs.some((matches) => matches(plain) || (plain !== below && matches(below)))
  }
}

function show(entries: readonly Entry[], indent: string): string[] {
  return entries.flatMap((entry) => {
    const name = shownName(entry.name)
    if (entry.kind === "file") return [`${indent}${name}`]
    if (entry.kind === "link") return [`${indent}${name}@`]
    const mark = entry.opened ? "/" : "/ …"
    return [`${indent}${name}${mark}`, ...show(entry.children, `${indent}  `)]
  })
}
