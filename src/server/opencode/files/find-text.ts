import { StemmaError } from "../../../protocol/index.ts"
import {
  isShowable,
  mayRead,
  nameOf,
  type SearchContext,
  skippedDirectories,
} from "../../../tools/search/found-files.ts"
import { ripgrep } from "../../../tools/search/ripgrep.ts"
import { unavailable } from "../wire/errors.ts"
import type { WireMatch } from "../wire/wire-directory.ts"
import { searchedRoot } from "./read-rules.ts"

const matchesMax = 100
const lineUnitsMax = 2000
const outputBytesMax = 8 * 1024 * 1024

/** Lines that match, in files that may be read without asking. Paths are relative to the directory. */
export async function findText(
  pattern: string,
  { context, mask }: { context: SearchContext; mask: (text: string) => string },
): Promise<WireMatch[]> {
  const location = await searchedRoot(context)
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
  }).catch(explained)
  const found: WireMatch[] = []
  const shown = new Map<string, boolean>()
  for (const line of stdout.toString().split("\n")) {
    if (found.length === matchesMax) break
    const match = matchOf(line)
    if (!match) continue
    const path = match.path.text.replace(/^\.\//, "")
    const isShown = shown.get(path) ?? (await mayShow(`${location.path}/${path}`, context))
    shown.set(path, isShown)
    if (isShown) found.push(masked({ ...match, path: { text: path } }, mask))
  }
  return found
}

async function mayShow(path: string, context: SearchContext): Promise<boolean> {
  return mayRead(nameOf(path, context), context) && (await isShowable(path, context))
}

/** What ripgrep says of a match; undefined for everything else it prints, and for what is no text. */
function matchOf(line: string): WireMatch | undefined {
  if (!line.startsWith('{"type":"match"')) return undefined
  let data: WireMatch
  try {
    data = (JSON.parse(line) as { data: WireMatch }).data
  } catch {
    // The last line may have been cut.
    return undefined
  }
  const { path, lines, line_number, absolute_offset, submatches } = data
  const isText = path.text !== undefined && lines.text !== undefined
  if (!isText || submatches.some(({ match }) => match.text === undefined)) return undefined
  return { path, lines, line_number, absolute_offset, submatches }
}

/** A line without secrets. Where one was taken out the places of the matches are not right any more and left out. */
function masked(match: WireMatch, mask: (text: string) => string): WireMatch {
  const text = mask(match.lines.text)
  if (text !== match.lines.text)
    return { ...match, lines: { text: text.slice(0, lineUnitsMax) }, submatches: [] }
  if (text.length <= lineUnitsMax) return match
  const submatches = match.submatches.filter(({ end }) => end <= lineUnitsMax)
  return { ...match, lines: { text: text.slice(0, lineUnitsMax) }, submatches }
}

/** With `--no-messages` ripgrep complains about nothing but the pattern. */
function explained(error: unknown): never {
  if (error instanceof Error && error.message.startsWith("rg: ")) {
    throw new StemmaError("invalid", `The pattern cannot be searched for: ${error.message.slice(4)}`)
  }
  return unavailable(error)
}
