import { type LoadedSession, summaryOf } from "../catalog/load.ts"
import { entryID } from "../format/decode.ts"
import { foreignContext } from "../format/header.ts"
import { isObject, type Line } from "../format/lines.ts"
import type { ForeignMessage } from "./foreign-message.ts"
import { awaitsResults, decodeForeign } from "./foreign-message.ts"

/** What other programs added to a main file, and how it fits to what we know. */
export interface AdoptionPlan {
  /** How many messages of the present history stay; fewer than there are if the other program branched off earlier. */
  keep: number
  messages: ForeignMessage[]
  /** Where their lines are. */
  ranges: [from: number, to: number][]
  title: string | undefined
  /** How far the file is accounted for then. */
  end: number
  /** The id of the last line taken, if there are messages. */
  leaf: string | null
}

/** What is known of a file whose new lines are to be adopted. */
interface KnownFile {
  /** Nothing for a file that we never saw. */
  loaded?: LoadedSession
  folder: string
  /** How many bytes were accounted for so far. */
  from: number
  /** Where the last whole line ends. */
  end: number
  /** True to wait for the results of calls that another program may still be making. */
  patient: boolean
}

/**
 * Follows the other program: its place is the last line of the file, and from there the lines go back by `parentId`.
 * Lines without ids follow one another.
 */
export function planAdoption(lines: Line[], known: KnownFile): AdoptionPlan {
  const { messages: before, ends } = presentOf(known)
  const positions = new Map(ends.map((from, position) => [from, position]))
  const path = pathTo(lines)
  const hit = path.findLastIndex((line) => positions.has(line.from))
  const keep = hit < 0 ? 0 : positions.get(path[hit]!.from)! + 1
  let fresh = path.slice(hit + 1)
  const context = {
    ...foreignContext(lines[0]?.value, known.folder),
    before: before.slice(0, keep).map(({ body }) => summaryOf(body)),
  }
  let messages = decodeForeign(fresh, context)
  let { end } = known
  if (known.patient && awaitsResults(messages, fresh)) {
    const waiting = messages.at(-1)!.lines[0]!
    fresh = fresh.slice(0, fresh.indexOf(waiting))
    messages = decodeForeign(fresh, context)
    end = Math.max(known.from, waiting.from)
  }
  const last = fresh.at(-1)
  return {
    keep,
    messages,
    ranges: messages.length === 0 ? [] : joinRanges(fresh),
    title: titleOf(lines.filter((line) => isNews(line, known) && line.from < end)),
    end,
    leaf: (last && entryID(last)) ?? messages.at(-1)?.message.id ?? null,
  }
}

function presentOf({ loaded }: KnownFile) {
  return loaded ? { messages: loaded.session.messages, ends: loaded.ends } : { messages: [], ends: [] }
}

/** The lines from the first one to the last one of the file, as `parentId` leads. */
function pathTo(lines: Line[]): Line[] {
  const entries = lines.filter((line) => line.value.type !== "session")
  const byID = new Map<string, Line>()
  const before = new Map<Line, Line | undefined>()
  for (const [index, line] of entries.entries()) {
    before.set(line, entries[index - 1])
    const id = entryID(line)
    if (id !== undefined) byID.set(id, line)
  }
  const path: Line[] = []
  const seen = new Set<Line>()
  let line = entries.at(-1)
  while (line && !seen.has(line)) {
    seen.add(line)
    path.push(line)
    const { parentId } = line.value
    line = parentId === undefined ? before.get(line) : byID.get(String(parentId))
  }
  return path.reverse()
}

function joinRanges(lines: Line[]): [from: number, to: number][] {
  const ranges: [from: number, to: number][] = []
  for (const { from, to } of lines) {
    const last = ranges.at(-1)
    if (last && last[1] === from) last[1] = to
    else ranges.push([from, to])
  }
  return ranges
}

/** True for what we do not know yet: in a file that is ours, our own lines are no news. */
function isNews(line: Line, { loaded, from }: KnownFile): boolean {
  return line.from >= from && !(loaded && line.value.seq !== undefined)
}

/** The name that the session was given last. */
function titleOf(lines: Line[]): string | undefined {
  const line = lines.findLast(({ value }) => value.type === "session_info")
  const name =
    line && isObject(line.value) && typeof line.value.name === "string" ? line.value.name.trim() : ""
  return name === "" ? undefined : name
}
