import { wholeCharacter } from "./characters.ts"
import type { Mark } from "./match.ts"

export interface Snippet {
  snippet: string
  marks: Mark[]
}

const ellipsis = "…"

/** How far the start may move to fall between two words. */
const wordSlackUnits = 16

/**
 * The text around the first mark on one line, with the marks at their positions in it: at most `widthMax` UTF-16 units
 * (160 if absent), with an ellipsis where text was cut. Each line break or tab becomes a space.
 */
export function snippet(text: string, marks: readonly Mark[], options: { widthMax?: number } = {}): Snippet {
  const widthMax = options.widthMax ?? 160
  const width = text.length <= widthMax ? widthMax : Math.max(1, widthMax - 2 * ellipsis.length)
  const first = marks[0]?.[0] ?? 0
  const latest = Math.max(0, text.length - width)
  const from = Math.min(Math.max(0, first - Math.floor(width / 4)), latest)
  const start = from === 0 ? 0 : betweenWords(text, from, Math.min(first, from + wordSlackUnits))
  const end = wholeCharacter(text, Math.min(text.length, start + width))
  const head = start > 0 ? ellipsis : ""
  const tail = end < text.length ? ellipsis : ""
  const shift = head.length - start
  return {
    snippet: head + text.slice(start, end).replace(/[\t-\r\u0085\u2028\u2029]/g, " ") + tail,
    marks: marks
      .filter((mark) => mark[0] < end && mark[1] > start)
      .map((mark) => [Math.max(mark[0], start) + shift, Math.min(mark[1], end) + shift]),
  }
}

/**
 * The offset after the first white space in [from, to); else `from`, or the next offset if `from` splits a surrogate
 * pair.
 */
function betweenWords(text: string, from: number, to: number): number {
  const white = text.slice(from, to).search(/\s/u)
  if (white !== -1) return from + white + 1
  return wholeCharacter(text, from) === from ? from : from + 1
}
