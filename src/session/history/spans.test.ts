import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cutSpans, historySpans, type Span, sliceSpans, spanAt, spanCount } from "./spans.ts"

/** Adjacent spans from position 0 on, and the segment of each position. */
const spansArbitrary = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 6 }).map((lengths) => {
  const spans: Span[] = []
  for (const [index, length] of lengths.entries()) {
    const from = spanCount(spans)
    spans.push({ segment: `seg_${index}`, from, to: from + length })
  }
  return spans
})

function segments(spans: readonly Span[]): string[] {
  return spans.flatMap((span) => Array.from({ length: span.to - span.from }, () => span.segment))
}

describe("spans", () => {
  test("cut to a number of messages cover exactly the first messages, without empty spans", () => {
    fc.assert(
      fc.property(spansArbitrary, fc.nat(30), (spans, keep) => {
        const cut = cutSpans(spans, keep)
        expect(segments(cut)).toEqual(segments(spans).slice(0, keep))
        expect(cut.every((span) => span.from < span.to)).toBe(true)
        expect(spanCount(cut)).toBe(Math.min(keep, spanCount(spans)))
      }),
    )
  })

  test("of a range cover exactly its positions", () => {
    fc.assert(
      fc.property(spansArbitrary, fc.nat(30), fc.nat(30), (spans, from, to) => {
        expect(segments(sliceSpans(spans, from, to))).toEqual(segments(spans).slice(from, Math.max(from, to)))
      }),
    )
  })

  test("are found by position", () => {
    fc.assert(
      fc.property(spansArbitrary, fc.nat(30), (spans, position) => {
        expect(spanAt(spans, position)?.segment).toBe(segments(spans)[position])
      }),
    )
  })

  test("of a history are its base and then its own segment", () => {
    const base = [{ segment: "seg_a", from: 0, to: 3 }]
    expect(historySpans(base, "seg_b", 5)).toEqual([...base, { segment: "seg_b", from: 3, to: 5 }])
    expect(historySpans(base, "seg_b", 3)).toEqual(base)
    expect(historySpans([], "seg_b", 0)).toEqual([])
  })

  test("of a fork of a fork never recurse and never overlap", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(4), fc.nat(100)), { maxLength: 12 }), (forks) => {
        let spans: Span[] = []
        for (const [index, [added, cut]] of forks.entries()) {
          const whole = historySpans(spans, `seg_${index}`, spanCount(spans) + added)
          spans = cutSpans(whole, cut % (spanCount(whole) + 1))
        }
        for (const [index, span] of spans.entries()) expect(span.from).toBe(spans[index - 1]?.to ?? 0)
      }),
    )
  })
})
