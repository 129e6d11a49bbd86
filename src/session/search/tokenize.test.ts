import { expect, test } from "vitest"
import { tokenize } from "./tokenize.ts"

test.each([
  ["words, each once, in any case", "The cat saw the Cat.", ["the", "cat", "saw"]],
  ["numbers and words with accents", "Déjà vu 42", ["déjà", "vu", "42"]],
  ["camelCase as a whole and by humps", "parseQuery", ["parsequery", "parse", "query"]],
  [
    "runs of up to three humps",
    "aBigRedFox",
    ["abigredfox", "a", "abig", "abigred", "big", "bigred", "bigredfox", "red", "redfox", "fox"],
  ],
  ["capitals before a hump", "HTTPServer", ["httpserver", "http", "server"]],
  [
    "digits with what stands before them",
    "utf8Decoder2 MD5sum",
    ["utf8decoder2", "utf8", "decoder2", "md5sum"],
  ],
  [
    "an upper-case word as one, also with accents of their own",
    "README E\u0301COLE",
    ["readme", "e\u0301cole"],
  ],
  ["words that one character joins, also as a pair", "src/app.ts", ["src", "app", "src·app", "ts", "app·ts"]],
  ["snake_case as words and pairs", "max_size", ["max", "size", "max·size"]],
  ["no pair over a space or two characters", "a, b:: c", ["a", "b", "c"]],
  ["each two neighbours and the last character of Chinese", "搜索引擎", ["搜索", "索引", "引擎", "擎"]],
  ["characters beyond the first plane", "𠀀𠀁", ["𠀀𠀁", "𠀁"]],
  ["Japanese with its marks", "佐々木サー", ["佐々", "々木", "木サ", "サー", "ー"]],
  ["Korean and Thai", "한글 ไทย", ["한글", "글", "ไท", "ทย", "ย"]],
  ["words and Chinese that touch", "用React写", ["用", "react", "写"]],
  ["neither punctuation nor emoji", "🎉 -> ✅! 👩‍👩‍👧 ❤️", []],
])("gives %s", (_, text, tokens) => {
  expect(tokenize(text)).toEqual(tokens)
})

test("cuts long tokens, never inside a character, and does not split a word that is too long to be a name", () => {
  expect(tokenize("x".repeat(100))).toEqual(["x".repeat(64)])
  expect(tokenize(`x${"𐐨".repeat(40)}`)).toEqual([`x${"𐐨".repeat(31)}`])
  expect(tokenize("aB".repeat(40))).toEqual(["ab".repeat(32)])
})

test("a megabyte of any text takes well under a second", () => {
  const samples = [
    "The quick brown fox. ",
    "const fooBar = src/app.ts;\n",
    "搜索引擎的设计",
    "aB",
    "a",
    "a\u0301",
    "𠀀",
  ]
  for (const sample of samples) {
    const text = sample.repeat(Math.ceil(1_000_000 / sample.length))
    const before = process.threadCpuUsage()
    tokenize(text)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000, sample).toBeLessThan(1000)
  }
})

test("a text that is read in slices has the same tokens, wherever the slices end", () => {
  const unit = 1024 * 1024
  const filler = "-".repeat(unit - 7)
  for (const edge of ["oneWord", "src/app.ts", "two words", "搜索引擎", "line\nbreak"]) {
    const text = `fill ${filler} ${edge} more ${edge}End`
    const expected = [`fill ${edge} more`, `${edge}End`].flatMap((part) => tokenize(part))
    expect(tokenize(text)).toEqual([...new Set(expected)])
    expect(tokenize(`a.${"-".repeat(unit)}b/${edge}`)).toEqual(tokenize(`a.--b/${edge}`))
  }
})
