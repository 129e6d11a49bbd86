import { StemmaError } from "../../../protocol/index.ts"
import { confirmedLines } from "../../../tools/search/confirmed-lines.ts"
import {
  isShowable,
  mayRead,
  nameOf,
  type SearchContext,
  skippedDirectories,
} from "../../../tools/search/found-files.ts"
import { ripgrep } from "../../../tools/search/ripgrep.ts"
import { throwUnavailable } from "../wire/errors.ts"
import type { WireMatch } from "../wire/wire-directory.ts"
import { searchRoot } from "./read-rules.ts"

const matchesMax = 100
const lineUnitsMax = 2000
const outputBytesMax = 8 * 1024 * 1024
/** Secrets are masked in a whole line before it is cut, so the whole line must be confirmed. */
const wholeLine = outputBytesMax

/** Lines that match the pattern, in files that may be read without asking. Paths are relative to the directory. */
export async function findText(
  pattern: string,
  { context, mask }: { context: SearchContext; mask: (text: string) => string },
): Promise<WireMatch[]> {
  const location = await searchRoot(context)
  const skipped = skippedDirectories.map((name) => `--glob=!${name}`)
  const { stdout } = await ripgrep({
    args: [
      "--json",
      "--hidden",
      "--no-messages",
      "--crlf",
      "--no-mmap",
      "--regex-size-limit=10M",
      `--max-count=${matchesMax}`,
      ...skipped,
      `--regexp=${pattern}`,
      "--",
      "./",
    ],
    directory: location.path,
    outputBytesMax,
    context,
  }).catch(throwSearchError)
  const matches = stdout
    .toString()
    .split("\n")
    .flatMap((line) => matchOf(line) ?? [])
  const found: WireMatch[] = []
  for (const [path, lines] of Map.groupBy(matches, (match) => match.path.text)) {
    if (found.length >= matchesMax) break
    const file = `${location.path}/${path}`
    if (!(await mayShow(file, context))) continue
    const printed = lines.map((match) => ({ match, offset: match.absolute_offset, text: match.lines.text }))
    const confirmed = await confirmedLines(
      { path: file, name: path },
      { lines: printed, unitsMax: wholeLine },
    )
    found.push(...confirmed.map(({ match }) => masked(match, mask)))
  }
  return found.slice(0, matchesMax)
}

async function mayShow(path: string, context: SearchContext): Promise<boolean> {
  return mayRead(nameOf(path, context), context) && (await isShowable(path, context))
}

/** A match of ripgrep. Undefined for its other output, and for a match that is not text. */
function matchOf(line: string): WireMatch | undefined {
  if (!line.startsWith('{"type":"match"')) return undefined
  let data: WireMatch
  try {
    data = (JSON.parse(line) as { data: WireMatch }).data
  } catch {
    // The last line may be incomplete.
    return undefined
  }
  const { path, lines, line_number, absolute_offset, submatches } = data
  const isText = path.text !== undefined && lines.text !== undefined
  if (!isText || submatches.some(({ match }) => match.text === undefined)) return undefined
  return { path: { text: path.text.replace(/^\.\//, "") }, lines, line_number, absolute_offset, submatches }
}

/** The line without secrets. If a secret was masked, the offsets of the matches are wrong and are left out. */
function masked(match: WireMatch, mask: (text: string) => string): WireMatch {
  const text = mask(match.lines.text)
  if (text !== match.lines.text)
    return { ...match, lines: { text: text.slice(0, lineUnitsMax) }, submatches: [] }
  if (text.length <= lineUnitsMax) return match
  const submatches = match.submatches.filter(({ end }) => end <= lineUnitsMax)
  return { ...match, lines: { text: text.slice(0, lineUnitsMax) }, submatches }
}

/** With `--no-messages`, the only error that ripgrep reports is a wrong pattern. */
function throwSearchError(error: unknown): never {
  if (error instanceof Error && error.message.startsWith("rg: ")) {
    throw new StemmaError("invalid", `The pattern is not valid: ${error.message.slice(4)}`)
  }
  return throwUnavailable(error)
}
