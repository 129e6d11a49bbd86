import { StemmaError } from "../../protocol/index.ts"
import { classAt, classBefore, dense, isWord } from "./characters.ts"
import { foldText } from "./fold.ts"

export const queryUnitsMax = 1000
export const queryTermsMax = 16

/** One condition on a text. All text in it is folded. */
export type SearchTerm =
  /** Equals a word of the text or a hump of a word. With `prefix`, it is the beginning of one. */
  | { kind: "word"; text: string; prefix: boolean }
  /**
   * Occurs in the text as written, its pieces in order. Where it begins or ends with a letter or digit, a word of the
   * text must begin or end too; with `prefix` the end is free.
   */
  | { kind: "literal"; text: string; pieces: readonly LiteralPiece[]; prefix: boolean }

export interface LiteralPiece {
  text: string
  /**
   * The white space before this piece. `some`: at least one; `maybe`: any or none, where the script changes; `none`:
   * the first piece.
   */
  gap: "none" | "maybe" | "some"
}

export type SearchTerms = readonly SearchTerm[]

/**
 * Parses a query. White space separates terms, "quotes" group words into one literal term, and a `*` at the end makes a
 * term a prefix. Terms of punctuation alone are left out unless quoted. Throws `invalid` if there is nothing to search
 * for.
 */
export function parseQuery(query: string): SearchTerms {
  if (query.length > queryUnitsMax) {
    throw new StemmaError(
      "invalid",
      `A search may have at most ${queryUnitsMax} characters, and this one has ${query.length}. Search for a few of its words.`,
    )
  }
  const terms = new Map<string, SearchTerm>()
  for (const word of splitQuery(query.toWellFormed())) {
    const term = toTerm(word)
    if (term) terms.set(`${term.kind} ${term.prefix} ${term.text}`, term)
  }
  const found = [...terms.values()]
  if (!found.some((term) => isSearchable(term.text))) {
    throw new StemmaError(
      "invalid",
      "There is nothing to search for. Give at least one word, number, or Chinese, Japanese or Korean character.",
    )
  }
  if (found.length > queryTermsMax) {
    throw new StemmaError(
      "invalid",
      `A search may have at most ${queryTermsMax} terms, and this one has ${found.length}. Leave some out, or put "quotes" around words that belong together.`,
    )
  }
  return found
}

interface QueryWord {
  text: string
  quoted: boolean
  prefix: boolean
}

/** A quotation, whose closing mark may be missing at the end, or a run without white space. */
const queryWord = /"([^"]*)(?:"(\**)|$)|[“„]([^"“”]*)(?:["“”](\**)|$)|\S+/gu

const sentenceEnd = /[.,;?!…。，、；？！]+$/u

function* splitQuery(query: string): Generator<QueryWord> {
  for (const [run, straight, straightStar, curly, curlyStar] of query.matchAll(queryWord)) {
    const quotation = straight ?? curly
    if (quotation !== undefined) {
      yield { text: quotation, quoted: true, prefix: Boolean(straightStar ?? curlyStar) }
      continue
    }
    const stripped = run.replace(sentenceEnd, "")
    const text = stripped.replace(/\*+$/u, "")
    yield { text, quoted: false, prefix: text !== stripped }
  }
}

function toTerm({ text, quoted, prefix }: QueryWord): SearchTerm | undefined {
  const folded = foldText(text).trim()
  if (folded === "" || (!quoted && !isSearchable(folded))) return undefined
  if (!quoted && isOneWord(folded)) return { kind: "word", text: folded, prefix }
  const pieces = splitLiteral(folded)
  return { kind: "literal", text: pieces.map((piece) => piece.text).join(" "), pieces, prefix }
}

/**
 * Cuts a literal at white space and where a word meets Chinese, Japanese or Korean: some people write a space there and
 * some do not.
 */
function splitLiteral(text: string): LiteralPiece[] {
  const pieces: LiteralPiece[] = []
  let start = 0
  let gap: LiteralPiece["gap"] = "none"
  for (const white of text.matchAll(/\s+|$/gu)) {
    for (let at = start + 1; at < white.index; at++) {
      if (!changesScript(text, at, at)) continue
      pieces.push({ text: text.slice(start, at), gap })
      start = at
      gap = "maybe"
    }
    pieces.push({ text: text.slice(start, white.index), gap })
    start = white.index + white[0].length
    gap = changesScript(text, white.index, start) ? "maybe" : "some"
  }
  return pieces
}

/** True if a word ends and Chinese, Japanese or Korean begins, or the other way round. */
function changesScript(text: string, end: number, start: number): boolean {
  const before = classBefore(text, end)
  const after = classAt(text, start)
  return (before === dense && isWord(after)) || (isWord(before) && after === dense)
}

function isSearchable(text: string): boolean {
  for (const character of text) {
    const found = classAt(character, 0)
    if (isWord(found) || found === dense) return true
  }
  return false
}

function isOneWord(text: string): boolean {
  for (const character of text) if (!isWord(classAt(character, 0))) return false
  return true
}
