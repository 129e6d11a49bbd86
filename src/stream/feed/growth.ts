import type { GrowingField, Part } from "../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "../../session/replica/grow.ts"

/** A part whose text grows, as far as it was given to listeners: what rows have told, then what was live alone. */
export interface Growth<Listener> {
  /** The newest row of the part. */
  part: Part
  field: GrowingField
  stored: string
  live: string
  /** Listeners that were never given the part: a delta means nothing to them. */
  strangers: Set<Listener> | undefined
}

/** The growth of a part whose row has come; undefined if the part cannot grow now. */
export function growthOf<Listener>(part: Part, strangers?: Set<Listener>): Growth<Listener> | undefined {
  const field = growingField(part)
  return field && { part, field, stored: grownText(part), live: "", strangers }
}

export function grownLength(growth: Growth<unknown>): number {
  return growth.stored.length + growth.live.length
}

/** The part with all its text so far. */
export function grownPart(growth: Growth<unknown>): Part {
  return withGrownText(growth.part, growth.stored + growth.live)
}

/**
 * Takes a piece. Gives what of it is new to listeners; `replaced` if live text before it was wrong, so that the part must
 * be given again. A piece that leaves a gap is ignored: the part's own row is yet to come.
 */
export function addPiece(
  growth: Growth<unknown>,
  piece: { offset: number; text: string },
): { offset: number; delta: string } | "replaced" | undefined {
  const { stored, live } = growth
  if (piece.offset > stored.length || piece.offset + piece.text.length <= stored.length) return undefined
  const fresh = piece.offset === stored.length ? piece.text : piece.text.slice(stored.length - piece.offset)
  growth.stored += fresh
  if (live === "") return { offset: stored.length, delta: fresh }
  if (live.startsWith(fresh)) {
    growth.live = live.slice(fresh.length)
    return undefined
  }
  growth.live = ""
  if (!fresh.startsWith(live)) return "replaced"
  return { offset: stored.length + live.length, delta: fresh.slice(live.length) }
}

/**
 * Takes live text. Gives what of it is new to listeners, "" if nothing is; `early` if it does not fit yet; `replaced` if
 * live text before it was another one, so that the part must be given again.
 */
export function addLive(
  growth: Growth<unknown>,
  delta: { offset: number; delta: string },
): { delta: string } | "early" | "replaced" {
  const known = grownLength(growth) - delta.offset
  if (known < 0) return "early"
  const begin = delta.offset - growth.stored.length
  // What rows have told is not compared: they decide.
  const text = begin < 0 ? delta.delta.slice(-begin) : delta.delta
  const overlap = growth.live.slice(Math.max(begin, 0))
  if (overlap.startsWith(text)) return { delta: "" }
  if (text.startsWith(overlap)) {
    growth.live += text.slice(overlap.length)
    return { delta: text.slice(overlap.length) }
  }
  growth.live = growth.live.slice(0, Math.max(begin, 0)) + text
  return "replaced"
}

/**
 * The live text that stays when a row of the part comes: a row that only changed other fields says less than listeners
 * have seen. A text that has ended, or that became shorter than rows had told before, was replaced.
 */
export function keepLive(growth: Growth<unknown>, before: Growth<unknown>): void {
  if (before.live === "" || before.field !== growth.field || hasEnded(growth.part)) return
  if (growth.stored.length < before.stored.length) return
  const seen = before.stored + before.live
  if (seen.startsWith(growth.stored)) growth.live = seen.slice(growth.stored.length)
}

function hasEnded(part: Part): boolean {
  return (part.type === "text" || part.type === "reasoning") && part.time?.end !== undefined
}
