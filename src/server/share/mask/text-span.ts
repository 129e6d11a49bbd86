/** A range of a text, [start, end) in UTF-16 units. */
export interface TextSpan {
  start: number
  end: number
}

/** A range and the text that replaces it. */
export interface Replacement extends TextSpan {
  text: string
}

/** All occurrences of a text in another, without overlaps. */
export function occurrencesOf(needle: string, text: string): TextSpan[] {
  const found: TextSpan[] = []
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    found.push({ start: at, end: at + needle.length })
  }
  return found
}

/** The span of `last`, the text that ends a match. */
export function matchEnd(match: RegExpExecArray, last: string): TextSpan {
  const end = match.index + match[0].length
  return { start: end - last.length, end }
}

/** Sorts the replacements and keeps the first of overlapping ones. */
export function withoutOverlaps(replacements: readonly Replacement[]): Replacement[] {
  const kept: Replacement[] = []
  for (const replacement of replacements.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    if (replacement.start >= (kept.at(-1)?.end ?? 0)) kept.push(replacement)
  }
  return kept
}
