import { expect, test } from "vitest"
import { matchText } from "./match.ts"
import { parseQuery } from "./query.ts"

/** The matches, as they are written in the text. */
function found(query: string, text: string): string[] | undefined {
  return matchText(parseQuery(query), text)?.marks.map(([start, end]) => text.slice(start, end))
}

test.each([
  ["fox", "The Fox and the foxes", ["Fox"]],
  ["fox*", "The Fox and the foxes", ["Fox", "fox"]],
  ["query", "parseQuery(QUERY, queryText)", ["Query", "QUERY", "query"]],
  ["http", "new HTTPServer, XMLHttpRequest", ["HTTP", "Http"]],
  ["parsequery", "parseQuery ParseQueryText", ["parseQuery", "ParseQuery"]],
  ["httpserver", "MyHttpServerFactory", ["HttpServer"]],
  ["pars*", "reParseAll sparse", ["Pars"]],
  ["and fox", "The fox and", ["fox", "and"]],
  ['"the fox"', "the\n   fox, the foxes", ["the\n   fox"]],
  ['"the fox"*', "the foxes", ["the fox"]],
  ['"query"', "parseQuery query", ["query"]],
  ["src/app.ts", "a/src/App.ts:12 src/app.tsx", ["src/App.ts"]],
  ["src/ap*", "a/src/App.ts:12 xsrc/app", ["src/Ap"]],
  ["foo_bar", "my_foo_bar_x foo_barx", ["foo_bar"]],
  ["c++", "C++ and c+", ["C++"]],
  ["--flag", "run --flag=1", ["--flag"]],
  ["don't", "I don’t", ["don’t"]],
  ["擎的", "搜索引擎的设计", ["擎的"]],
  ["擎", "搜索引擎的", ["擎"]],
  ["哈哈", "哈哈哈哈哈", ["哈哈", "哈哈"]],
  ["𠀀", "x𠀀y", ["𠀀"]],
  ["用React写", "我用 React 写；用react写", ["用 React 写", "用react写"]],
  ['"用 React"', "用React", ["用React"]],
  ["istanbul", "İSTANBUL", ["İSTANBUL"]],
  ["οδος", "ΟΔΟΣ", ["ΟΔΟΣ"]],
  ["api", "ＡＰＩ", ["ＡＰＩ"]],
  ["𐐨𐐩", "x 𐐀𐐁𐐀 𐐀𐐁", ["𐐀𐐁"]],
  ["b", "𐐨aB", ["B"]],
])("%s is found at the right positions in %j", (query, text, places) => {
  expect(found(query, text)).toEqual(places)
})

test.each([
  ["fox", "foxes firefox"],
  ["fox dog", "the fox"],
  ["server", "observer"],
  ["oobar", "fooBarBaz"],
  ["abcd", "aBCDef aBiCiDiE"],
  ["cafe", "cafe\u0301"],
  ["app.ts", "myapp.ts"],
  ["app.ts", "app.tsx"],
  ['"the fox"', "thefox"],
  ["搜擎", "搜索引擎"],
  ["b", "aB".repeat(40)],
  ["b", `${"𐐨".repeat(40)}aB`],
  ["x".repeat(65), `${"x".repeat(65)}Y`],
])("%s is not in %j", (query, text) => {
  expect(found(query, text)).toBeUndefined()
})

test("marks do not overlap, the longer one stays, and each term is counted", () => {
  const match = matchText(parseQuery('src "src/app.ts" app'), "src/app.ts and src")
  expect(match).toEqual({
    marks: [
      [0, 10],
      [15, 18],
    ],
    count: 4,
    counts: [2, 1, 1],
  })
})

test("gives a few marks for each term and stops counting at 100", () => {
  const match = matchText(parseQuery("a"), "a ".repeat(5000))
  expect(match?.marks).toHaveLength(8)
  expect(match?.counts).toEqual([100])
})

test("a megabyte of any text takes well under a second", () => {
  for (const [query, sample] of [
    ["b", "aB"],
    ["e", "the fox "],
    ['"a b"', "a  "],
    ["aaaa/b", "a"],
    ["的x", "的"],
    ["\u0301", "a\u0301"],
  ] as const) {
    const text = sample.repeat(Math.ceil(1_000_000 / sample.length))
    const before = process.threadCpuUsage()
    matchText(parseQuery(query), text)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000, query).toBeLessThan(1000)
  }
})
