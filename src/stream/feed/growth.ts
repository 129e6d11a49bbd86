import type { GrowingField, Part } from "../../protocol/index.ts"
import { growingField, grownText, withGrownText } from "../../session/replica/grow.ts"

/**
 * A part whose text grows, with the text that subscribers have: first the stored text, then the text that was only sent
 * live.
 */
export interface Growth<Subscriber> {
  /** The newest row of the part. */
  part: Part
  field: GrowingField
  stored: string
  live: string
  /** Subscribers that have not received the part. A delta means nothing to them. */
  unaware: Set<Subscriber> | undefined
}

/** The growth of a part after its row arrived. Undefined if the part cannot grow now. */
export function growthOf<Subscriber>(part: Part, unaware?: Set<Subscriber>): Growth<Subscriber> | undefined {
  const field = growingField(part)
  return field && { part, field, stored: grownText(part), live: "", unaware }
}

export function grownLength(growth: Growth<unknown>): number {
  return growth.stored.length + growth.live.length
}

/** The part with all its text so far. */
export function grownPart(growth: Growth<unknown>): Part {
  return withGrownText(growth.part, growth.stored + growth.live)
}

/**
 * Takes a stored piece. Returns the text that subscribers do not have yet. Returns `replaced` if earlier live text was
 * wrong, so that the part must be sent again. Ignores a piece that leaves a gap: the part's own row follows.
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
 * Takes live text. Returns the text that subscribers do not have yet, "" if they have all of it. Returns `early` if the
 * text leaves a gap, and `replaced` if earlier live text differs, so that the part must be sent again.
 */
export function addLive(
  growth: Growth<unknown>,
  delta: { offset: number; delta: string },
): { delta: string } | "early" | "replaced" {
  const known = grownLength(growth) - delta.offset
  if (known < 0) return "early"
  const begin = delta.offset - growth.stored.length
  // Stored text is not compared with live text: stored text is always right.
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
 * Keeps live text when a row of the part arrives: a row that only changed other fields has less text than subscribers
 * have received. A text that has ended, or that is shorter than the stored text before, was replaced.
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
