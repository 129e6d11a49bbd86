import type { PlainSession, SessionFields } from "../../plain/index.ts"
import { entryID, furtherExtraOf, messageExtraOf } from "../format/decode.ts"
import { moveType } from "../format/entry.ts"
import type { Line } from "../format/lines.ts"
import type { Adoption } from "../format/state-line.ts"

/** What a writer must know about a session's files to append to them. */
export interface AppendState {
  family: string
  /** Another program wrote the main file up to this byte. */
  foreignEnd: number
  adopted: Adoption[]
  /** The id of the line that the next line continues. */
  leaf: string | null
  /** The id of the last line of each message of the present history that is in the main file. */
  leaves: string[]
  /** How many messages of the present history are in the main file. */
  written: number
  /** The ids of all lines of the main file. */
  ids: Set<string>
  /** True if the last line of the main file has no line feed. */
  unended: boolean
  /** The session row, the counts of left tails and moves, and the inbox, as they are in the state file. */
  info: SessionFields
  left: number
  moves: number
  inbox: Set<string>
}

export function appendStateOf(
  session: PlainSession,
  known: {
    family: string
    foreignEnd: number
    adopted: Adoption[]
    leaves: string[]
    written: number
    main: Line[]
    unended: boolean
  },
): AppendState {
  const ids = new Set<string>()
  for (const line of known.main.slice(1)) {
    const id = entryID(line)
    if (id !== undefined) ids.add(id)
  }
  return {
    family: known.family,
    foreignEnd: known.foreignEnd,
    adopted: known.adopted,
    leaf: leafOf(known),
    leaves: known.leaves,
    written: known.written,
    ids,
    unended: known.unended,
    info: session.info,
    left: session.left.length,
    moves: session.moves.length,
    inbox: new Set(session.inbox.map((item) => item.id)),
  }
}

/**
 * Returns the id of the last line that this driver wrote or adopted. Other lines of other programs are not part of the
 * history.
 */
function leafOf(known: { main: Line[]; adopted: Adoption[]; leaves: string[] }): string | null {
  const adoptedEnd = Math.max(0, ...known.adopted.flatMap(({ ranges }) => ranges.map(([, to]) => to)))
  const last = known.main.findLast((line) => isOurs(line) || line.from < adoptedEnd)
  if (!last || last.value.type === "session") return null
  return entryID(last) ?? known.leaves.at(-1) ?? null
}

/** True for every line that this driver wrote after the header. */
export function isOurs(line: Line): boolean {
  if (typeof line.value.seq !== "number") return false
  if (messageExtraOf(line) || furtherExtraOf(line)) return true
  return line.value.type === "session_info" || line.value.customType === moveType
}

/** Returns the wanted id, or the id with a number if it is taken, and marks it as taken. */
export function freeID(ids: Set<string>, wanted: string): string {
  let id = wanted
  for (let count = 2; ids.has(id); count++) id = `${wanted}~${count}`
  ids.add(id)
  return id
}
