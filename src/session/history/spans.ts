/**
 * A stretch of a segment: its messages at positions `from` to `to` (without `to`). A message has the same position in
 * every history that includes it, because histories share only what they have in common from the start.
 */
export interface Span<S = string> {
  segment: S
  from: number
  to: number
}

/** How many messages the spans cover. */
export function spanCount<S>(spans: readonly Span<S>[]): number {
  return spans.at(-1)?.to ?? 0
}

/** The spans of the first `keep` messages; none of them empty. */
export function cutSpans<S>(spans: readonly Span<S>[], keep: number): Span<S>[] {
  const kept: Span<S>[] = []
  for (const span of spans) {
    if (span.from >= keep) break
    kept.push(span.to <= keep ? span : { ...span, to: keep })
  }
  return kept
}

/** The spans of a history: the base of its segment, then the segment's own messages up to `count`. */
export function historySpans<S>(base: readonly Span<S>[], segment: S, count: number): Span<S>[] {
  const from = spanCount(base)
  return count > from ? [...base, { segment, from, to: count }] : [...base]
}

/** The parts of the spans that lie in [from, to). */
export function sliceSpans<S>(spans: readonly Span<S>[], from: number, to: number): Span<S>[] {
  const result: Span<S>[] = []
  for (const span of spans) {
    const start = Math.max(span.from, from)
    const end = Math.min(span.to, to)
    if (start < end) result.push({ segment: span.segment, from: start, to: end })
  }
  return result
}

/** The span that holds a position. */
export function spanAt<S>(spans: readonly Span<S>[], position: number): Span<S> | undefined {
  let low = 0
  let high = spans.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const span = spans[middle]!
    if (position < span.from) high = middle - 1
    else if (position >= span.to) low = middle + 1
    else return span
  }
  return undefined
}
