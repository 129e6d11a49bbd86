import type { LedgerFact } from "../../../protocol/index.ts"
import { keyOf } from "../collect.ts"

const piecesMax = 64

/**
 * How many facts are worded nearly like each fact, apart from names and numbers: sentences that repeat for one thing
 * after another.
 */
export function routineCounts(facts: readonly LedgerFact[]): Map<LedgerFact, number> {
  const pieces = facts.map((fact) => piecesOf(textOf(fact)))
  const counts = new Map<string, number>()
  for (const own of pieces) for (const piece of own) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  return new Map(facts.map((fact, at) => [fact, sharedBy(pieces[at]!, counts)]))
}

/** How many facts share at least two thirds of these pieces. */
function sharedBy(pieces: ReadonlySet<string>, counts: ReadonlyMap<string, number>): number {
  const sorted = [...pieces].map((piece) => counts.get(piece) ?? 1).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 3)] ?? 1
}

function textOf(fact: LedgerFact): string {
  if (fact.kind === "said") return fact.text
  if (fact.kind === "identifier") return fact.note.length < 8 ? fact.value : fact.note
  return fact.kind === "command" && fact.outcome === "" ? fact.command : keyOf(fact)
}

/** Every three words, or three Chinese characters, in a row. All names and numbers count as the same word. */
function piecesOf(text: string): Set<string> {
  const hasHan = /\p{Script=Han}/u.test(text)
  const plain = text
    .slice(0, 400)
    .replace(/[!-~]+/g, (word) => (hasHan || /[\d/_.`A-Z]/.test(word.slice(1)) ? "_" : word))
  const units = plain.match(/\p{Script=Han}|[^\s\p{Script=Han}]+/gu) ?? []
  const pieces = new Set<string>()
  for (let at = 0; at + 3 <= units.length && pieces.size < piecesMax; at++) {
    pieces.add(`${units[at]} ${units[at + 1]} ${units[at + 2]}`)
  }
  // Too few words to recognise a repeated wording.
  return pieces.size < 2 ? new Set([hasHan || units.length > 1 ? plain : text]) : pieces
}
