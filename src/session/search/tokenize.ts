import { classOf, joiner, unitsAt } from "./characters.ts"
import { foldText } from "./fold.ts"
import { cutToken, humpRunMax, humpStarts, pairToken, scan } from "./scan.ts"

/**
 * The distinct tokens of a text, folded, in order of first appearance. A token has no white space and no ASCII
 * characters except letters and digits.
 * - each word, each hump of a camelCase word, and each run of up to three humps;
 * - for two words with exactly one of `. / \ - _ : @ #` between them, the pair of them;
 * - for a run of Chinese, Japanese or Korean, each pair of neighbouring characters, and the last character alone, so
 *   that every character of the run begins a token.
 */
export function tokenize(text: string): string[] {
  const tokens = new Set<string>()
  for (let at = 0; at < text.length; ) {
    const end = sliceEnd(text, at)
    addTokens(tokens, at === 0 && end === text.length ? text : text.slice(at, end))
    at = end
  }
  return [...tokens]
}

/** A longer text is read in slices, so that the copies which are made of it stay small. */
const sliceUnits = 1024 * 1024

/** Where a slice from `at` on may end: after white space, because no token contains it. */
function sliceEnd(text: string, at: number): number {
  const end = at + sliceUnits
  if (end >= text.length) return text.length
  const slice = text.slice(at, end)
  const space = Math.max(slice.lastIndexOf(" "), slice.lastIndexOf("\n"))
  return space < 0 ? text.length : at + space + 1
}

function addTokens(tokens: Set<string>, text: string): void {
  const folded = foldText(text)
  let lastWord = ""
  let lastEnd = -2
  scan(text, {
    word(start, end, mixedCase) {
      const word = cutToken(folded.slice(start, end))
      tokens.add(word)
      if (start === lastEnd + 1 && classOf(text.charCodeAt(lastEnd)) === joiner) {
        tokens.add(pairToken(lastWord, word))
      }
      lastWord = word
      lastEnd = end
      if (!mixedCase) return
      const bounds = humpStarts(text, start, end)
      if (bounds.length === 1) return
      bounds.push(end)
      for (let first = 0; first < bounds.length - 1; first++) {
        for (let last = first + 1; last < bounds.length && last <= first + humpRunMax; last++) {
          tokens.add(folded.slice(bounds[first], bounds[last]))
        }
      }
    },
    dense(start, end) {
      addDense(tokens, folded, { start, end })
    },
  })
}

function addDense(tokens: Set<string>, folded: string, run: { start: number; end: number }): void {
  let at = run.start
  for (;;) {
    const second = at + unitsAt(folded, at)
    if (second >= run.end) break
    tokens.add(folded.slice(at, second + unitsAt(folded, second)))
    at = second
  }
  tokens.add(folded.slice(at, run.end))
}
