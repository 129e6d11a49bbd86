import { expect, test } from "vitest"
import { matchText } from "./match.ts"
import { parseQuery } from "./query.ts"
import { type Scored, scoreMatch } from "./rank.ts"

function score(query: string, text: string, place: Partial<Scored> = {}): number {
  const terms = parseQuery(query)
  return scoreMatch(terms, matchText(terms, text)!, { kind: "text", ...place, text })
}

test("more matches score higher, each by less", () => {
  const [once, twice, thrice] = [1, 2, 3].map((n) =>
    score("fox", `${"fox ".repeat(n)}${"dog ".repeat(10 - n)}`),
  )
  expect(twice).toBeGreaterThan(once!)
  expect(thrice! - twice!).toBeLessThan(twice! - once!)
})

test("a short text scores higher than a long one", () => {
  expect(score("fox", "a fox")).toBeGreaterThan(score("fox", `a fox ${"and more ".repeat(500)}`))
})

test("titles and text that people wrote score higher than tool output", () => {
  const order: Partial<Scored>[] = [
    { kind: "title" },
    { kind: "text", role: "user" },
    { kind: "text", role: "assistant" },
    { kind: "reasoning" },
    { kind: "tool" },
  ]
  const scores = order.map((place) => score("fox", "a fox", place))
  expect(scores).toEqual([...scores].sort((a, b) => b - a))
  expect(new Set(scores).size).toBe(order.length)
})

test("a text with more of the rarer, longer term scores higher", () => {
  expect(score("a database", "a database database a")).toBeGreaterThan(score("a database", "a database a a"))
})
