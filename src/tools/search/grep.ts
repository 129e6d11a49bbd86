import { basename, dirname } from "node:path"
import { z } from "zod"
import { shownName } from "../file/shown-name.ts"
import { searchPath } from "../input-names.ts"
import { cutText } from "../output.ts"
import type { Tool, ToolContext } from "../tool.ts"
import { confirmedLines, type PrintedLine } from "./confirmed-lines.ts"
import { type FoundFile, type FoundFiles, findFiles, isShowable, leftOutNotice } from "./found-files.ts"
import { compileGlob } from "./glob-match.ts"
import { ripgrep } from "./ripgrep.ts"
import { searchedPath, wantsOfSearch } from "./search-directory.ts"

const matchesMax = 100
const lineCharactersMax = 500
/** The newest files often have enough matches; the others are searched in larger batches. */
const filesAtFirst = 100
const filesAtOnce = 1_000
/** The arguments of a process have a size limit too. */
const pathBytesAtOnce = 256 * 1024
const outputBytesMax = 4 * 1024 * 1024
const totalMs = 20_000

const GrepInput = z.object({
  pattern: z
    .string()
    .min(1)
    .max(2_000)
    .describe(
      "A regular expression in the syntax of ripgrep, matched line by line. Case counts unless it begins with (?i).",
    ),
  path: searchPath.describe("The directory or file to search; the session's directory if absent."),
  include: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe("Only files that match this glob, such as `*.{ts,tsx}` or `src/**`."),
})
type GrepInput = z.infer<typeof GrepInput>

interface Match extends PrintedLine {
  file: FoundFile
  line: number
}

export const grepTool: Tool<GrepInput> = {
  name: "grep",
  description: [
    "Finds lines by a regular expression, in the last changed files first, at most 100 lines. Each comes as `42: the line`",
    "below the name of its file; long lines are cut. What ignore files name, binary files, node_modules and the like are left",
    "out unless they are the path. Find files by name with glob instead.",
  ].join(" "),
  input: GrepInput,
  replay: "safe",
  writes: false,

  async wants(input, context) {
    if (input.include !== undefined) compileGlob(input.include)
    return wantsOfSearch(input, context)
  },

  async execute(input, context) {
    const { directory, found } = await candidates(input, context)
    const { matches, more } = await search(input.pattern, { directory, files: found.files, context })
    const notices = [
      ...(more
        ? [`(There are more than ${matches.length} matching lines. Narrow the pattern, the path or include.)`]
        : []),
      ...(found.cut ? ["(There are too many files to search all of them. Narrow the path.)"] : []),
      ...leftOutNotice(found.leftOut),
    ]
    return {
      title: input.pattern,
      output: [...(matches.length > 0 ? show(matches) : ["No line matches."]), ...notices].join("\n"),
      metadata: { matches: matches.length, truncated: more || found.cut },
    }
  },
}

async function candidates(
  input: GrepInput,
  context: ToolContext,
): Promise<{ directory: string; found: FoundFiles }> {
  const { location, kind } = await searchedPath(input, context)
  const matches = input.include === undefined ? () => true : compileGlob(input.include)
  if (kind === "directory") {
    return { directory: location.path, found: await findFiles(location, { context, matches }) }
  }
  const file = { path: location.path, relative: basename(location.path), name: location.name }
  return { directory: dirname(location.path), found: { files: [file], leftOut: 0, cut: false } }
}

/** Searches the newest files first and stops when enough matches are found. */
async function search(
  pattern: string,
  { directory, files, context }: { directory: string; files: readonly FoundFile[]; context: ToolContext },
): Promise<{ matches: Match[]; more: boolean }> {
  const matches: Match[] = []
  const deadline = performance.now() + totalMs
  // Without a file, ripgrep would not report an invalid pattern.
  if (files.length === 0) await checkPattern(pattern, { directory, context })
  for (const batch of batchesOf(files)) {
    const timeoutMs = Math.max(1, deadline - performance.now())
    const found = await searchBatch(pattern, { directory, files: batch, context, timeoutMs })
    matches.push(...found.matches)
    if (matches.length > matchesMax || found.cut) return { matches: matches.slice(0, matchesMax), more: true }
  }
  return { matches, more: false }
}

function batchesOf(files: readonly FoundFile[]): FoundFile[][] {
  const batches: FoundFile[][] = []
  let bytes = 0
  for (const file of files) {
    const last = batches.at(-1)
    bytes += Buffer.byteLength(file.relative) + 16
    if (
      last === undefined ||
      last.length === (batches.length === 1 ? filesAtFirst : filesAtOnce) ||
      bytes > pathBytesAtOnce
    ) {
      batches.push([file])
      bytes = 0
    } else last.push(file)
  }
  return batches
}

interface Batch {
  directory: string
  files: readonly FoundFile[]
  context: ToolContext
  timeoutMs: number
}

async function searchBatch(
  pattern: string,
  { directory, files, context, timeoutMs }: Batch,
): Promise<{ matches: Match[]; cut: boolean }> {
  const { stdout, cut } = await ripgrep({
    args: [...searchOptions, `--regexp=${pattern}`, "--", ...files.map((file) => `./${file.relative}`)],
    directory,
    outputBytesMax,
    context,
    timeoutMs,
  }).catch(explainPattern)
  const byPath = new Map(files.map((file, rank) => [`./${file.relative}`, { file, rank }]))
  const ranked: (Match & { rank: number })[] = []
  for (const { path, line, offset, text } of printedMatches(stdout.toString())) {
    const known = fileOfPath(path, byPath)
    if (known) ranked.push({ ...known, line, offset, text })
  }
  ranked.sort((a, b) => a.rank - b.rank || a.line - b.line)
  return { matches: await onlyShowable(ranked, context), cut }
}

const searchOptions = [
  "--no-messages",
  "--with-filename",
  "--line-number",
  "--byte-offset",
  "--no-heading",
  "--null",
  "--crlf",
  "--no-ignore",
  "--no-mmap",
  "--regex-size-limit=10M",
  "--hidden",
  `--max-count=${matchesMax + 1}`,
  `--max-columns=${lineCharactersMax * 4}`,
  "--max-columns-preview",
]

/**
 * `path NUL line : offset : text`. Names may contain newlines, so the NUL decides. Notices about binary files have no NUL: they
 * end up before the next path, on a line of their own.
 */
function* printedMatches(
  output: string,
): Generator<{ path: string; line: number; offset: number; text: string }> {
  // Each NUL is looked for once: one pattern for the whole would take quadratic time in output without a NUL.
  for (let at = 0, end = output.indexOf("\0"); end >= 0; end = output.indexOf("\0", at)) {
    afterPath.lastIndex = end + 1
    const [, line, offset, text] = afterPath.exec(output) ?? []
    const path = output.slice(Math.max(at, end - pathUnitsMax), end)
    at = end + 1
    if (text === undefined) continue
    at = afterPath.lastIndex
    yield { path, line: Number(line), offset: Number(offset), text }
  }
}

const afterPath = /(\d+):(\d+):([^\n]*)\n/y
/** Longer than any path. What is before it are notices. */
const pathUnitsMax = 4200

/** The file that a printed path names. The path may have notices before it, and line breaks in it. */
function fileOfPath<T>(printed: string, byPath: ReadonlyMap<string, T>): T | undefined {
  for (let at = 0; ; ) {
    const known = byPath.get(printed.slice(at))
    const lineEnd = printed.indexOf("\n", at)
    if (known !== undefined || lineEnd < 0) return known
    at = lineEnd + 1
  }
}

/** So many files are checked at the same time, because each takes several calls to the file system. */
const filesCheckedAtOnce = 16

async function onlyShowable(matches: readonly Match[], context: ToolContext): Promise<Match[]> {
  const files = [...Map.groupBy(matches, ({ file }) => file)].reverse()
  const kept: Match[] = []
  while (files.length > 0 && kept.length <= matchesMax) {
    const some: typeof files = []
    for (let lines = kept.length; lines <= matchesMax && some.length < filesCheckedAtOnce; ) {
      const next = files.pop()
      if (next === undefined) break
      some.push(next)
      lines += next[1].length
    }
    const shown = await Promise.all(some.map(([file, lines]) => shownLines(file, { lines, context })))
    kept.push(...shown.flat())
  }
  return kept
}

async function shownLines(
  file: FoundFile,
  { lines, context }: { lines: readonly Match[]; context: ToolContext },
): Promise<Match[]> {
  if (!(await isShowable(file.path, context))) return []
  return confirmedLines(file, { lines: lines.slice(0, matchesMax + 1), unitsMax: lineCharactersMax + 1 })
}

async function checkPattern(
  pattern: string,
  { directory, context }: { directory: string; context: ToolContext },
): Promise<void> {
  const args = [...searchOptions, `--regexp=${pattern}`, "--", "/dev/null"]
  await ripgrep({ args, directory, outputBytesMax, context }).catch(explainPattern)
}

/** With `--no-messages`, ripgrep reports only invalid arguments, and only the pattern can be invalid. */
function explainPattern(error: unknown): never {
  if (!(error instanceof Error && error.message.startsWith("rg: "))) throw error
  throw new Error(`The pattern is not a valid regular expression: ${error.message.slice(4)}`)
}

function show(matches: readonly Match[]): string[] {
  const lines: string[] = []
  let name: string | undefined
  for (const match of matches) {
    if (match.file.name !== name) {
      name = match.file.name
      lines.push(...(lines.length > 0 ? [""] : []), `${shownName(name)}:`)
    }
    const text = match.text.replace(/\r$/, "")
    const cut = text.length > lineCharactersMax ? `${cutText(text, lineCharactersMax)}…` : text
    lines.push(`${match.line}: ${cut}`)
  }
  return lines
}
