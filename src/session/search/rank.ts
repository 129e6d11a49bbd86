import type { SearchKind } from "../../protocol/index.ts"
import type { TextMatch } from "./match.ts"
import type { SearchTerms } from "./query.ts"

/** Text that people wrote or read counts for more than tool output. */
const kindWeight: Record<SearchKind, number> = {
  title: 3,
  text: 1.5,
  file: 1.2,
  other: 1,
  reasoning: 0.9,
  tool: 0.7,
}

const userWeight = 1.3
const saturation = 1.2
const lengthShare = 0.6
const usualLengthUnits = 800

/** The text that matched, with its kind and role. */
export interface Scored {
  text: string
  kind: SearchKind
  role?: "user" | "assistant"
}

/**
 * How well a text matches the terms; a higher score is better. It depends on this text alone, never on how many other
 * texts have the term, so that every store gives the same order. Each further match of a term adds less, a long text
 * needs more matches, and a longer term counts for more.
 */
export function scoreMatch(terms: SearchTerms, match: TextMatch, { text, kind, role }: Scored): number {
  const slack = saturation * (1 - lengthShare + (lengthShare * text.length) / usualLengthUnits)
  let score = 0
  for (const [i, term] of terms.entries()) {
    const count = match.counts[i] ?? 0
    const termWeight = Math.min(term.text.length, 16) + 8
    score += (termWeight * count) / (count + slack)
  }
  return score * kindWeight[kind] * (kind === "text" && role === "user" ? userWeight : 1)
}
