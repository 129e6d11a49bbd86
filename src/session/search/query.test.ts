import { expect, test } from "vitest"
import { StemmaError } from "../../protocol/index.ts"
import { candidateTokens } from "./candidates.ts"
import { ftsExpression } from "./fts.ts"
import { parseQuery } from "./query.ts"

function shown(query: string): string[] {
  return parseQuery(query).map((term) => `${term.kind} ${term.text}${term.prefix ? "*" : ""}`)
}

test.each([
  ["white space separates", "Foo  bar\tBAZ", ["word foo", "word bar", "word baz"]],
  ["quotes make a literal", '"foo  bar" “a b” „c d“', ["literal foo bar", "literal a b", "literal c d"]],
  [
    "a star at the end makes a prefix",
    'foo* src/fo* "a b"*',
    ["word foo*", "literal src/fo*", "literal a b*"],
  ],
  ["a star in quotes is a star", '"foo*"', ["literal foo*"]],
  ["an open quote lasts to the end", 'x "foo bar', ["word x", "literal foo bar"]],
  ["a quote inside a term is a character", 'name="x"', ['literal name="x"']],
  [
    "punctuation makes a literal",
    "max_size a.b C++ .ts",
    ["literal max_size", "literal a.b", "literal c++", "literal .ts"],
  ],
  [
    "the end of a sentence is left out",
    "why? foo.bar. 为什么？",
    ["word why", "literal foo.bar", "literal 为什么"],
  ],
  ["punctuation alone is left out", "a && b", ["word a", "word b"]],
  ["quoted punctuation stays beside a word", 'a "&&"', ["word a", "literal &&"]],
  ["the same term counts once", "foo Foo FOO", ["word foo"]],
  ["a word that meets Chinese may have a space there", "用React写", ["literal 用 react 写"]],
])("%s", (_, query, terms) => {
  expect(shown(query)).toEqual(terms)
})

test.each([
  ["", "nothing to search for"],
  ['  "" * -- 🎉', "nothing to search for"],
  ['"&&"', "nothing to search for"],
  ["x".repeat(1001), "1000 characters"],
  [Array.from({ length: 17 }, (_, i) => `w${i}`).join(" "), "16 terms"],
])("refuses %j and says why", (query, sentence) => {
  try {
    parseQuery(query)
    expect.unreachable()
  } catch (error) {
    expect(StemmaError.is(error, "invalid") && error.message).toContain(sentence)
  }
})

test.each([
  ["foo ba*", '"foo" AND "ba"*'],
  ["src/app.ts", '"src·app" AND "app·ts"'],
  ["src/fo*", '"src·fo"*'],
  ["src/*", '"src"'],
  ['"foo, bar b"*', '"foo" AND "bar" AND "b"*'],
  ["a/b::c", '"a·b" AND "c"'],
  ["搜索引", '"搜索" AND "索引"'],
  ["搜", '"搜"*'],
  ["搜a", '"搜" AND "a"'],
  ["foo中文bar", '"foo" AND "bar" AND "中文"'],
  ['a "&&"', '"a"'],
])("asks the index for what %s needs", (query, expression) => {
  expect(ftsExpression(candidateTokens(parseQuery(query)))).toBe(expression)
})

test("asks for a bounded number of tokens, some of each term", () => {
  const tokens = candidateTokens(parseQuery(`"${"一二三四五六七八九十".repeat(50)}" rare`))
  expect(tokens.length).toBeLessThanOrEqual(24)
  expect(tokens).toContainEqual({ token: "rare", prefix: false })
})
