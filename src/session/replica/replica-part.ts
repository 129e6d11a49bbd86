import type { GrowingField, Part } from "../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "./grow.ts"

export interface Piece {
  version: number
  field: GrowingField
  offset: number
  text: string
}

/** One part of a message in a replica: its row, what was added to it, and what came too early. */
export interface Entry {
  partID: string
  /** The part's own row; absent while only pieces of it were heard of. */
  part: Part | undefined
  /** The version of that row. */
  version: number
  /** The growing field as far as rows tell it. */
  text: string
  /** What deltas added to `text`; the next row decides whether it was true. */
  live: string
  /** True if `text` and `live` may say more than `part`. */
  grown: boolean
  /** Pieces that do not fit yet, in order of offset. */
  ahead: Piece[]
  value: Part | undefined
}

export function emptyEntry(partID: string): Entry {
  return {
    partID,
    part: undefined,
    version: 0,
    text: "",
    live: "",
    grown: false,
    ahead: [],
    value: undefined,
  }
}

/** True if nothing of the part is known to be missing. */
export function isWhole(entry: Entry | undefined): boolean {
  return entry?.part !== undefined && entry.ahead.length === 0
}

/** The newest version of anything that the entry has. */
export function newestOf(entry: Entry): number {
  return entry.ahead.reduce((newest, piece) => Math.max(newest, piece.version), entry.version)
}

/** The part with everything that has grown. */
export function partValue(entry: Entry): Part | undefined {
  if (entry.part === undefined || !entry.grown) return entry.part
  entry.value ??= withGrownText(entry.part, entry.text + entry.live)
  return entry.value
}

/** Puts the part's own row: its text replaces what had grown, but for pieces that are not older. */
export function setPart(entry: Entry, part: Part, version: number): void {
  if (entry.partID !== part.id) entry.ahead = []
  entry.partID = part.id
  entry.part = part
  entry.version = version
  entry.text = grownText(part)
  entry.live = ""
  entry.grown = false
  entry.value = undefined
  takeAhead(entry)
}

/** True if the piece says something that the entry does not have. */
export function isNewPiece(entry: Entry, partID: string, piece: Piece): boolean {
  if (entry.partID !== partID) return piece.version > newestOf(entry)
  if (piece.version < entry.version) return false
  if (entry.ahead.some((known) => known.offset === piece.offset && known.version >= piece.version))
    return false
  if (entry.part === undefined || growingField(entry.part) !== piece.field) return true
  return piece.offset + piece.text.length > entry.text.length
}

/** Appends a piece that fits, at a cost of the piece alone; keeps one that comes too early for later. */
export function addPiece(entry: Entry, piece: Piece): void {
  const at = entry.ahead.findIndex((known) => known.offset >= piece.offset)
  if (at < 0) entry.ahead.push(piece)
  else entry.ahead.splice(at, entry.ahead[at]!.offset === piece.offset ? 1 : 0, piece)
  takeAhead(entry)
}

/** Shows what a run is just saying. It counts only until the next row of the part. True if it fits. */
export function addDelta(
  entry: Entry,
  delta: { field: GrowingField; offset: number; delta: string },
): boolean {
  if (entry.part === undefined || growingField(entry.part) !== delta.field) return false
  const known = entry.text.length + entry.live.length - delta.offset
  if (known < 0 || known >= delta.delta.length) return false
  entry.live += delta.delta.slice(known)
  entry.grown = true
  entry.value = undefined
  return true
}

/** Forgets what no row has confirmed. */
export function endLive(entry: Entry): void {
  if (entry.live === "") return
  entry.live = ""
  entry.value = undefined
}

function takeAhead(entry: Entry): void {
  const { part } = entry
  if (part === undefined || entry.ahead.length === 0) return
  const field = growingField(part)
  entry.ahead = entry.ahead.filter((piece) => {
    if (piece.version < entry.version) return false
    if (piece.field !== field || piece.offset > entry.text.length) return true
    append(entry, piece.text.slice(entry.text.length - piece.offset))
    return false
  })
}

function append(entry: Entry, text: string): void {
  if (text === "") return
  entry.text += text
  entry.live = entry.live.startsWith(text) ? entry.live.slice(text.length) : ""
  entry.grown = true
  entry.value = undefined
}
