/** Deeper JSON has no use, and code that walks it by recursion overflows the stack. */
export const jsonDepthMax = 200

export interface JsonBounds {
  /** `jsonDepthMax` if absent. */
  depthMax?: number
  /** How many values the text may have, counted by its commas and opening brackets. No limit if absent. */
  valuesMax?: number
}

/** The first place where a text exceeds its bounds. */
export interface JsonExcess {
  /** The index of the character. */
  at: number
  /** What is wrong, after a noun: `is nested deeper than 200 levels`. */
  problem: string
}

const quote = 34
const comma = 44
const slash = 47
const backslash = 92
const openBracket = 123
const closeBracket = 125

/**
 * A string is read character by character for this long. Then its end is searched for, which is faster if it is far.
 */
const searchAfter = 128

/**
 * Finds out, before JSON is parsed, whether it is nested too deeply or has too many values. Reads the text once, stops
 * at the first excess, and does not check whether the text is valid JSON. Comments are skipped.
 */
export function findJsonExcess(text: string, bounds: JsonBounds = {}): JsonExcess | undefined {
  const { depthMax = jsonDepthMax, valuesMax = Number.POSITIVE_INFINITY } = bounds
  const { length } = text
  let depth = 0
  let values = 0
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === comma) {
      if (++values > valuesMax) return tooMany(at, valuesMax)
      continue
    }
    if (unit === quote) {
      at = stringEnd(text, at + 1)
      continue
    }
    // One bit makes `[` to `{`, `]` to `}`, and no other character to either.
    const bracket = unit | 32
    if (bracket === openBracket) {
      if (++depth > depthMax) return { at, problem: `is nested deeper than ${depthMax} levels` }
      if (++values > valuesMax) return tooMany(at, valuesMax)
    } else if (bracket === closeBracket) depth--
    else if (unit === slash) at = commentEnd(text, at)
  }
  return undefined
}

function tooMany(at: number, valuesMax: number): JsonExcess {
  return { at, problem: `has more than ${valuesMax} values` }
}

/** The index of the quote that ends the string; the last index if no quote does. */
function stringEnd(text: string, from: number): number {
  const { length } = text
  let end = -1
  let slashed = -1
  for (let at = from; at < length; at = slashed + 2) {
    const near = Math.min(length, at + searchAfter)
    for (; at < near; at++) {
      const unit = text.charCodeAt(at)
      if (unit === quote) return at
      if (unit === backslash) at++
    }
    // Each search starts where the earlier one of its kind ended, so that all searches together read the text once.
    if (end < at) end = text.indexOf('"', at)
    if (end < 0) break
    if (slashed < at) slashed = text.indexOf("\\", at)
    if (slashed < 0 || slashed > end) return end
  }
  return length - 1
}

/** The last index of the comment that may begin at the slash. */
function commentEnd(text: string, at: number): number {
  const next = text[at + 1]
  if (next !== "/" && next !== "*") return at
  const end = next === "/" ? text.indexOf("\n", at) : text.indexOf("*/", at + 2) + 1
  return end <= 0 ? text.length - 1 : end
}

/** Like `JSON.parse`, but text that exceeds its bounds is a SyntaxError too, before it is parsed. */
export function parseJson(text: string, bounds?: JsonBounds): unknown {
  const excess = findJsonExcess(text, bounds)
  if (excess) throw new SyntaxError(`The JSON ${excess.problem}`)
  return JSON.parse(text)
}
