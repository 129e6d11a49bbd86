import { classAt, classBefore, isWord, space, unitsAt, unitsBefore, upper } from "./characters.ts"
import { foldText } from "./fold.ts"
import type { LiteralPiece, SearchTerm, SearchTerms } from "./query.ts"
import { humpRunMax, humpStarts, tokenUnitsMax } from "./scan.ts"

/** A span of text, [start, end) in UTF-16 units. */
export type Mark = [number, number]

export interface TextMatch {
  /** The first matches of each term, sorted, without overlaps. */
  marks: Mark[]
  /** How many matches there are, over all terms. */
  count: number
  /** How many matches each term has; counting stops at 100. */
  counts: number[]
}

const marksPerTermMax = 8
const matchesPerTermMax = 100

/**
 * The matches of the terms in the text; undefined unless every term matches. This function decides; an index only
 * proposes candidates.
 */
export function matchText(terms: SearchTerms, text: string): TextMatch | undefined {
  const folded = foldText(text)
  const marks: Mark[] = []
  const counts: number[] = []
  for (const term of terms) {
    const count = findTerm(term, { text, folded, marks })
    if (count === 0) return undefined
    counts.push(count)
  }
  return { marks: withoutOverlap(marks), count: counts.reduce((sum, count) => sum + count, 0), counts }
}

interface Searched {
  text: string
  folded: string
  marks: Mark[]
}

/** Adds the term's first matches to the marks and returns how many matches it has. */
function findTerm(term: SearchTerm, { text, folded, marks }: Searched): number {
  const needle = term.kind === "word" ? term.text : term.pieces[0]!.text
  let count = 0
  let at = folded.indexOf(needle)
  while (at !== -1 && count < matchesPerTermMax) {
    const end = term.kind === "word" ? wordEnd(term, text, at) : literalEnd(term, { text, folded, at })
    if (end !== undefined) {
      if (count < marksPerTermMax) marks.push([at, end])
      count++
    }
    at = folded.indexOf(needle, end ?? at + 1)
  }
  return count
}

/** The end of the word or hump at `at`, if the term matches it. */
function wordEnd(term: SearchTerm & { kind: "word" }, text: string, at: number): number | undefined {
  const end = at + term.text.length
  const isWordStart = !isWord(classBefore(text, at))
  const isWordEnd = !isWord(classAt(text, end))
  if (isWordStart && (isWordEnd || term.prefix)) return end
  const mayBeHump =
    (isWordStart || classAt(text, at) === upper) && (isWordEnd || term.prefix || classAt(text, end) === upper)
  return mayBeHump && isHump(term, text, at) ? end : undefined
}

function isHump(term: SearchTerm & { kind: "word" }, text: string, at: number): boolean {
  const end = at + term.text.length
  let start = at
  let wordEnd = end
  while (wordEnd - start <= tokenUnitsMax && isWord(classBefore(text, start)))
    start -= unitsBefore(text, start)
  while (wordEnd - start <= tokenUnitsMax && isWord(classAt(text, wordEnd))) wordEnd += unitsAt(text, wordEnd)
  if (wordEnd - start > tokenUnitsMax) return false
  const starts = humpStarts(text, start, wordEnd)
  const hump = starts.indexOf(at)
  if (hump === -1) return false
  const ends = [...starts.slice(hump + 1), wordEnd].slice(0, humpRunMax)
  return term.prefix ? end <= ends.at(-1)! : ends.includes(end)
}

/** The end of the literal at `at`, if the term matches there. */
function literalEnd(
  term: SearchTerm & { kind: "literal" },
  { text, folded, at }: { text: string; folded: string; at: number },
): number | undefined {
  if (isWord(classAt(text, at)) && isWord(classBefore(text, at))) return undefined
  let end = at + term.pieces[0]!.text.length
  for (let i = 1; i < term.pieces.length; i++) {
    const piece: LiteralPiece = term.pieces[i]!
    const gapStart = end
    while (classAt(text, end) === space) end++
    if (end === gapStart && piece.gap === "some") return undefined
    if (!folded.startsWith(piece.text, end)) return undefined
    end += piece.text.length
  }
  const cutsWord = isWord(classBefore(text, end)) && isWord(classAt(text, end))
  return cutsWord && !term.prefix ? undefined : end
}

/** Of two overlapping marks, the one that begins earlier stays, or the longer one. */
function withoutOverlap(marks: Mark[]): Mark[] {
  marks.sort((a, b) => a[0] - b[0] || b[1] - a[1])
  const kept: Mark[] = []
  for (const mark of marks) if (mark[0] >= (kept.at(-1)?.[1] ?? 0)) kept.push(mark)
  return kept
}
