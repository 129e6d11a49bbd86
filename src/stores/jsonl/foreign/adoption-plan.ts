import { type LoadedSession, summaryOf } from "../catalog/session-from-lines.ts"
import { entryID } from "../format/decode.ts"
import { foreignContext } from "../format/header.ts"
import { isObject, type Line } from "../format/lines.ts"
import type { ForeignMessage } from "./foreign-message.ts"
import { awaitsResults, decodeForeign } from "./foreign-message.ts"

/** The messages that other programs added to a main file, and where they continue the history. */
export interface AdoptionPlan {
  /**
   * How many messages of the present history stay. Fewer than all if the other program continued from an earlier
   * message.
   */
  keep: number
  messages: ForeignMessage[]
  /** The byte ranges of the new lines. */
  ranges: [from: number, to: number][]
  title: string | undefined
  /** Up to which byte the file is accounted for after the adoption. */
  end: number
  /** The id of the last adopted line. */
  leaf: string | null
}

/** What is known about a file before its new lines are adopted. */
interface KnownFile {
  /** Undefined for a file that was not a session of this store before. */
  loaded?: LoadedSession
  folder: string
  /** How many bytes are accounted for so far. */
  from: number
  /** The byte offset where the last complete line ends. */
  end: number
  /** True to leave out a last message whose tool calls another program may still be running. */
  waitsForResults: boolean
}

/**
 * Follows the other program: its history ends at the last line of the file and goes back from there by `parentId`. A
 * line without `parentId` follows the line before it.
 */
export function planAdoption(lines: Line[], known: KnownFile): AdoptionPlan {
  const { messages: before, ends } = presentHistory(known)
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
  if (known.waitsForResults && awaitsResults(messages, fresh)) {
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
    title: titleOf(lines.filter((line) => isNewLine(line, known) && line.from < end)),
    end,
    leaf: (last && entryID(last)) ?? messages.at(-1)?.message.id ?? null,
  }
}

function presentHistory({ loaded }: KnownFile) {
  return loaded ? { messages: loaded.session.messages, ends: loaded.ends } : { messages: [], ends: [] }
}

/** Returns the lines that lead to the last line of the file, by `parentId`, in order. */
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

/** True for a line after the accounted bytes that this driver did not write. */
function isNewLine(line: Line, { loaded, from }: KnownFile): boolean {
  return line.from >= from && !(loaded && line.value.seq !== undefined)
}

/** Returns the newest title in the lines. */
function titleOf(lines: Line[]): string | undefined {
  const line = lines.findLast(({ value }) => value.type === "session_info")
  const name =
    line && isObject(line.value) && typeof line.value.name === "string" ? line.value.name.trim() : ""
  return name === "" ? undefined : name
}
