import { expect, test } from "vitest"
import type { Mark } from "./match.ts"
import { snippet } from "./snippet.ts"

function around(text: string, marked: string, widthMax?: number) {
  const start = text.indexOf(marked)
  const result = snippet(text, [[start, start + marked.length]], widthMax === undefined ? {} : { widthMax })
  return { ...result, marked: result.marks.map(([from, to]) => result.snippet.slice(from, to)) }
}

test("a short text is shown whole, on one line", () => {
  expect(snippet("one\r\n\ttwo", [[6, 9]])).toEqual({ snippet: "one   two", marks: [[6, 9]] })
})

test("a long text is cut between words on both sides of the first mark, with an ellipsis", () => {
  const result = around(`${"before ".repeat(50)}HERE${" after".repeat(50)}`, "HERE")
  expect(result.snippet).toMatch(/^…before .* HERE after .*…$/)
  expect(result.snippet.length).toBeLessThanOrEqual(160)
  expect(result.snippet.length).toBeGreaterThan(140)
  expect(result.marked).toEqual(["HERE"])
})

test("near the end of a text the snippet shows more of the text before the mark", () => {
  const result = around(`${"word ".repeat(100)}HERE`, "HERE")
  expect(result.snippet).toMatch(/^…word .* HERE$/)
  expect(result.snippet.length).toBeGreaterThan(130)
})

test("marks outside are left out and a mark that is too long is cut", () => {
  const text = "x".repeat(400)
  const marks: Mark[] = [
    [0, 200],
    [300, 310],
  ]
  const result = snippet(text, marks)
  expect(result.marks).toEqual([[0, 158]])
  expect(result.snippet).toBe(`${"x".repeat(158)}…`)
})

test("no surrogate pair is cut, wherever the mark is", () => {
  const text = "😀".repeat(200)
  for (let at = 0; at < text.length; at += 2) {
    for (const widthMax of [40, 41, 42, 43]) {
      const result = snippet(text, [[at, at + 2]], { widthMax })
      expect(result.snippet.isWellFormed()).toBe(true)
      expect(result.snippet.slice(...result.marks[0]!)).toBe("😀")
    }
  }
})
