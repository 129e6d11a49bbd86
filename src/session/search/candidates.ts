import { classAt, joiner } from "./characters.ts"
import type { SearchTerm, SearchTerms } from "./query.ts"
import { cutToken, pairToken, scan } from "./scan.ts"

/** A token that the index must have for a text. With `prefix`, a token that begins with it is enough. */
export interface CandidateToken {
  token: string
  prefix: boolean
}

/** More tokens would exclude few more candidates and slow down the index lookup. */
const candidateTokensMax = 24

/**
 * Tokens that every text has which `matchText` accepts: the index lookup asks for them. Never empty for the terms of a
 * query. For a long query, only the longest tokens of each term.
 */
export function candidateTokens(terms: SearchTerms): CandidateToken[] {
  const lists = terms.map((term) => tokensOf(term).sort((a, b) => b.token.length - a.token.length))
  const chosen = new Map<string, CandidateToken>()
  for (let rank = 0; rank < Math.max(...lists.map((list) => list.length)); rank++) {
    for (const list of lists) {
      const candidate = list[rank]
      if (candidate === undefined || chosen.size === candidateTokensMax) continue
      chosen.set(`${candidate.prefix} ${candidate.token}`, candidate)
    }
  }
  return [...chosen.values()]
}

function tokensOf(term: SearchTerm): CandidateToken[] {
  if (term.kind === "word") return [{ token: cutToken(term.text), prefix: term.prefix }]
  const { text } = term
  const tokens: CandidateToken[] = []
  let last: { word: string; end: number; paired: boolean } | undefined
  const closeWord = () => {
    if (last && !last.paired)
      tokens.push({ token: cutToken(last.word), prefix: term.prefix && last.end === text.length })
  }
  scan(text, {
    word(start, end) {
      const word = text.slice(start, end)
      const paired = last !== undefined && start === last.end + 1 && classAt(text, last.end) === joiner
      if (paired)
        tokens.push({ token: pairToken(last!.word, word), prefix: term.prefix && end === text.length })
      else closeWord()
      last = { word, end, paired }
    },
    dense(start, end) {
      tokens.push(...denseTokens(text, { start, end }))
    },
  })
  closeWord()
  return tokens
}

/**
 * Each pair of neighbouring characters. A single character is a prefix at the end of the term; elsewhere it must be a
 * token by itself, because it ends a run of the text.
 */
function denseTokens(text: string, run: { start: number; end: number }): CandidateToken[] {
  const characters = [...text.slice(run.start, run.end)]
  if (characters.length === 1) return [{ token: characters[0]!, prefix: run.end === text.length }]
  return characters.slice(1).map((character, i) => ({ token: characters[i]! + character, prefix: false }))
}
