import type { GrowingField, Part } from "../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "./grow.ts"

export interface Piece {
  version: number
  field: GrowingField
  offset: number
  text: string
}

/**
 * One part of a message in a replica: its row, the text that pieces and deltas added, and pieces that arrived too
 * early.
 */
export interface ReplicaPart {
  partID: string
  /** The part's own row; absent as long as only pieces of it have arrived. */
  part: Part | undefined
  /** The version of the part's row. */
  version: number
  /** The text of the growing field, from rows and pieces. */
  text: string
  /** Text that deltas added after `text`. The next row or piece confirms or drops it. */
  deltaText: string
  /** True if `text` and the delta text may be longer than the text in `part`. */
  hasGrown: boolean
  /** Pieces that do not fit yet, in order of offset. */
  earlyPieces: Piece[]
  value: Part | undefined
}

export function emptyReplicaPart(partID: string): ReplicaPart {
  return {
    partID,
    part: undefined,
    version: 0,
    text: "",
    deltaText: "",
    hasGrown: false,
    earlyPieces: [],
    value: undefined,
  }
}

/** True if the part's row is known and no piece of it is missing. */
export function isWhole(replicaPart: ReplicaPart | undefined): boolean {
  return replicaPart?.part !== undefined && replicaPart.earlyPieces.length === 0
}

/** The newest version among the part's row and its early pieces. */
export function newestOf(replicaPart: ReplicaPart): number {
  return replicaPart.earlyPieces.reduce(
    (newest, piece) => Math.max(newest, piece.version),
    replicaPart.version,
  )
}

/** The part with all of its text. */
export function partValue(replicaPart: ReplicaPart): Part | undefined {
  if (replicaPart.part === undefined || !replicaPart.hasGrown) return replicaPart.part
  replicaPart.value ??= withGrownText(replicaPart.part, replicaPart.text + replicaPart.deltaText)
  return replicaPart.value
}

/**
 * Sets the part's own row. Its text replaces the text so far; pieces that are not older than the row are applied again.
 */
export function setPart(replicaPart: ReplicaPart, part: Part, version: number): void {
  if (replicaPart.partID !== part.id) replicaPart.earlyPieces = []
  replicaPart.partID = part.id
  replicaPart.part = part
  replicaPart.version = version
  replicaPart.text = grownText(part)
  replicaPart.deltaText = ""
  replicaPart.hasGrown = false
  replicaPart.value = undefined
  applyEarlyPieces(replicaPart)
}

/** True if the piece adds text that the replica part does not have. */
export function isNewPiece(replicaPart: ReplicaPart, partID: string, piece: Piece): boolean {
  if (replicaPart.partID !== partID) return piece.version > newestOf(replicaPart)
  if (piece.version < replicaPart.version) return false
  if (
    replicaPart.earlyPieces.some((known) => known.offset === piece.offset && known.version >= piece.version)
  )
    return false
  if (replicaPart.part === undefined || growingField(replicaPart.part) !== piece.field) return true
  return piece.offset + piece.text.length > replicaPart.text.length
}

/** Appends a piece that fits, in time proportional to the piece. Keeps a piece that arrives too early. */
export function addPiece(replicaPart: ReplicaPart, piece: Piece): void {
  const at = replicaPart.earlyPieces.findIndex((known) => known.offset >= piece.offset)
  if (at < 0) replicaPart.earlyPieces.push(piece)
  else replicaPart.earlyPieces.splice(at, replicaPart.earlyPieces[at]!.offset === piece.offset ? 1 : 0, piece)
  applyEarlyPieces(replicaPart)
}

/** Appends streamed text that holds only until the next row of the part. Returns true if its offset fits. */
export function addDelta(
  replicaPart: ReplicaPart,
  delta: { field: GrowingField; offset: number; delta: string },
): boolean {
  if (replicaPart.part === undefined || growingField(replicaPart.part) !== delta.field) return false
  const known = replicaPart.text.length + replicaPart.deltaText.length - delta.offset
  if (known < 0 || known >= delta.delta.length) return false
  replicaPart.deltaText += delta.delta.slice(known)
  replicaPart.hasGrown = true
  replicaPart.value = undefined
  return true
}

/** Drops delta text that no row has confirmed. */
export function dropDeltaText(replicaPart: ReplicaPart): void {
  if (replicaPart.deltaText === "") return
  replicaPart.deltaText = ""
  replicaPart.value = undefined
}

function applyEarlyPieces(replicaPart: ReplicaPart): void {
  const { part } = replicaPart
  if (part === undefined || replicaPart.earlyPieces.length === 0) return
  const field = growingField(part)
  replicaPart.earlyPieces = replicaPart.earlyPieces.filter((piece) => {
    if (piece.version < replicaPart.version) return false
    if (piece.field !== field || piece.offset > replicaPart.text.length) return true
    append(replicaPart, piece.text.slice(replicaPart.text.length - piece.offset))
    return false
  })
}

function append(replicaPart: ReplicaPart, text: string): void {
  if (text === "") return
  replicaPart.text += text
  replicaPart.deltaText = replicaPart.deltaText.startsWith(text)
    ? replicaPart.deltaText.slice(text.length)
    : ""
  replicaPart.hasGrown = true
  replicaPart.value = undefined
}
