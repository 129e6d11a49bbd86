import type { LedgerFact } from "../../../protocol/index.ts"
import { keyOf } from "../collect.ts"

const piecesMax = 64

/** How often each fact was told in nearly the same words, names and numbers aside: what is said of one thing after another. */
export function routineCounts(facts: readonly LedgerFact[]): Map<LedgerFact, number> {
  const pieces = facts.map((fact) => piecesOf(textOf(fact)))
  const counts = new Map<string, number>()
  for (const own of pieces) for (const piece of own) counts.set(piece, (counts.get(piece) ?? 0) + 1)
  return new Map(facts.map((fact, at) => [fact, sharedBy(pieces[at]!, counts)]))
}

/** So many facts have at least two thirds of these pieces in common. */
function sharedBy(pieces: ReadonlySet<string>, counts: ReadonlyMap<string, number>): number {
  const sorted = [...pieces].map((piece) => counts.get(piece) ?? 1).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 3)] ?? 1
}

function textOf(fact: LedgerFact): string {
  if (fact.kind === "said") return fact.text
  if (fact.kind === "identifier") return fact.note.length < 8 ? fact.value : fact.note
  return fact.kind === "command" && fact.outcome === "" ? fact.command : keyOf(fact)
}

/** Three words in a row, or three Chinese characters, wherever they stand; a name or a number is the same as any other. */
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
  // Too few words to tell one way of talking from another.
  return pieces.size < 2 ? new Set([hasHan || units.length > 1 ? plain : text]) : pieces
}
