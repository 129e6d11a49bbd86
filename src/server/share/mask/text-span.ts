/** A stretch of a text, [start, end) in UTF-16 units. */
export interface TextSpan {
  start: number
  end: number
}

/** A stretch that something else is shown for. */
export interface Replacement extends TextSpan {
  text: string
}

/** Spans that overlap or touch become one. */
export function union(spans: readonly TextSpan[]): TextSpan[] {
  const sorted = spans.filter(({ start, end }) => end > start).sort((a, b) => a.start - b.start)
  const merged: TextSpan[] = []
  for (const { start, end } of sorted) {
    const last = merged.at(-1)
    if (last && start <= last.end) last.end = Math.max(last.end, end)
    else merged.push({ start, end })
  }
  return merged
}

/** The places of a text in another; none overlaps another one. */
export function occurrencesOf(needle: string, text: string): TextSpan[] {
  const found: TextSpan[] = []
  for (let at = text.indexOf(needle); at >= 0; at = text.indexOf(needle, at + needle.length)) {
    found.push({ start: at, end: at + needle.length })
  }
  return found
}
