import type { GrowingField, Part } from "../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "./grow.ts"

export interface Piece {
  version: number
  field: GrowingField
  offset: number
  text: string
}

/** One part of a message in a replica: its row, what was added to it, and what came too early. */
export interface ReplicaPart {
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

export function emptyReplicaPart(partID: string): ReplicaPart {
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
export function isWhole(replicaPart: ReplicaPart | undefined): boolean {
  return replicaPart?.part !== undefined && replicaPart.ahead.length === 0
}

/** The newest version of anything that the entry has. */
export function newestOf(replicaPart: ReplicaPart): number {
  return replicaPart.ahead.reduce((newest, piece) => Math.max(newest, piece.version), replicaPart.version)
}

/** The part with everything that has grown. */
export function partValue(replicaPart: ReplicaPart): Part | undefined {
  if (replicaPart.part === undefined || !replicaPart.grown) return replicaPart.part
  replicaPart.value ??= withGrownText(replicaPart.part, replicaPart.text + replicaPart.live)
  return replicaPart.value
}

/** Puts the part's own row: its text replaces what had grown, but for pieces that are not older. */
export function setPart(replicaPart: ReplicaPart, part: Part, version: number): void {
  if (replicaPart.partID !== part.id) replicaPart.ahead = []
  replicaPart.partID = part.id
  replicaPart.part = part
  replicaPart.version = version
  replicaPart.text = grownText(part)
  replicaPart.live = ""
  replicaPart.grown = false
  replicaPart.value = undefined
  takeAhead(replicaPart)
}

/** True if the piece says something that the entry does not have. */
export function isNewPiece(replicaPart: ReplicaPart, partID: string, piece: Piece): boolean {
  if (replicaPart.partID !== partID) return piece.version > newestOf(replicaPart)
  if (piece.version < replicaPart.version) return false
  if (replicaPart.ahead.some((known) => known.offset === piece.offset && known.version >= piece.version))
    return false
  if (replicaPart.part === undefined || growingField(replicaPart.part) !== piece.field) return true
  return piece.offset + piece.text.length > replicaPart.text.length
}

/** Appends a piece that fits, at a cost of the piece alone; keeps one that comes too early for later. */
export function addPiece(replicaPart: ReplicaPart, piece: Piece): void {
  const at = replicaPart.ahead.findIndex((known) => known.offset >= piece.offset)
  if (at < 0) replicaPart.ahead.push(piece)
  else replicaPart.ahead.splice(at, replicaPart.ahead[at]!.offset === piece.offset ? 1 : 0, piece)
  takeAhead(replicaPart)
}

/** Shows what a run is just saying. It counts only until the next row of the part. True if it fits. */
export function addDelta(
  replicaPart: ReplicaPart,
  delta: { field: GrowingField; offset: number; delta: string },
): boolean {
  if (replicaPart.part === undefined || growingField(replicaPart.part) !== delta.field) return false
  const known = replicaPart.text.length + replicaPart.live.length - delta.offset
  if (known < 0 || known >= delta.delta.length) return false
  replicaPart.live += delta.delta.slice(known)
  replicaPart.grown = true
  replicaPart.value = undefined
  return true
}

/** Forgets what no row has confirmed. */
export function endLive(replicaPart: ReplicaPart): void {
  if (replicaPart.live === "") return
  replicaPart.live = ""
  replicaPart.value = undefined
}

function takeAhead(replicaPart: ReplicaPart): void {
  const { part } = replicaPart
  if (part === undefined || replicaPart.ahead.length === 0) return
  const field = growingField(part)
  replicaPart.ahead = replicaPart.ahead.filter((piece) => {
    if (piece.version < replicaPart.version) return false
    if (piece.field !== field || piece.offset > replicaPart.text.length) return true
    append(replicaPart, piece.text.slice(replicaPart.text.length - piece.offset))
    return false
  })
}

function append(replicaPart: ReplicaPart, text: string): void {
  if (text === "") return
  replicaPart.text += text
  replicaPart.live = replicaPart.live.startsWith(text) ? replicaPart.live.slice(text.length) : ""
  replicaPart.grown = true
  replicaPart.value = undefined
}
