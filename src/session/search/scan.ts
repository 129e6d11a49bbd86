import { classOf, dense, digit, isWord, letter, mark, upper, wholeCharacter } from "./characters.ts"

/** Tokens are cut to this length, in UTF-16 units. A longer word is not split into humps. */
export const tokenUnitsMax = 64

/** Separates the two words of a pair token; never part of a word. */
const pairSeparator = "\u00b7"

export interface Scanner {
  /** A run of letters, digits and marks. `mixedCase`: an upper-case letter comes after its first character. */
  word(start: number, end: number, mixedCase: boolean): void
  /** A run of characters of a script that is written without spaces. */
  dense(start: number, end: number): void
}

/** Calls the scanner for every word and every dense run of a text, in order. All other characters separate. */
export function scan(text: string, scanner: Scanner): void {
  const { length } = text
  let start = 0
  let kind = 0
  let mixedCase = false
  for (let at = 0; at < length; ) {
    let code = text.charCodeAt(at)
    let next = at + 1
    if ((code & 0xfc00) === 0xd800) {
      code = text.codePointAt(at)!
      if (code > 0xffff) next++
    }
    const found = classOf(code)
    const nextKind = isWord(found) ? 1 : found === dense ? 2 : 0
    if (nextKind !== kind) {
      if (kind === 1) scanner.word(start, at, mixedCase)
      else if (kind === 2) scanner.dense(start, at)
      kind = nextKind
      start = at
      mixedCase = false
    } else if (found === upper) mixedCase = true
    at = next
  }
  if (kind === 1) scanner.word(start, length, mixedCase)
  else if (kind === 2) scanner.dense(start, length)
}

/**
 * The start of each hump of a word, the word's own start first: `parseHTTPQuery2` has the humps parse, HTTP and Query2.
 * A digit belongs to the hump before it. A word without humps, or a word that is too long to be a name, has one start.
 */
export function humpStarts(text: string, start: number, end: number): number[] {
  const starts = [start]
  if (end - start > tokenUnitsMax) return starts
  let before = 0
  let lastUpper = start
  for (let at = start; at < end; ) {
    const code = text.codePointAt(at)!
    const found = classOf(code)
    if (found === upper) {
      if (before !== upper && before !== digit && at > start) starts.push(at)
      lastUpper = at
    } else if (found === letter && before === upper && lastUpper > starts.at(-1)!) {
      starts.push(lastUpper)
    }
    if (found !== mark) before = found
    at += code > 0xffff ? 2 : 1
  }
  return starts
}

/**
 * A run of up to this many humps is one token, because people search for such names: `HttpServer` in
 * `MyHttpServerFactory`.
 */
export const humpRunMax = 3

/** A token as it is indexed. The cut never splits a surrogate pair. */
export function cutToken(token: string): string {
  return token.length <= tokenUnitsMax ? token : token.slice(0, wholeCharacter(token, tokenUnitsMax))
}

/** The token of two words with one joiner between them, whichever joiner it is. */
export function pairToken(first: string, second: string): string {
  return cutToken(cutToken(first) + pairSeparator + cutToken(second))
}
