import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { noTokens } from "../../protocol/index.ts"
import { assistant, completed, part, text, tool, user } from "../samples.ts"
import {
  addTokens,
  estimateFileTokens,
  estimateMessageTokens,
  estimatePartTokens,
  estimateTokens,
  estimateTokensPlainly,
  totalTokens,
} from "./tokens.ts"

const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ maxLength: 80 }),
  fc
    .array(
      fc.constantFrom(
        "word ",
        "camelCase",
        "{ ",
        '"key": ',
        "\n    ",
        "2025-01-31",
        "会话，",
        "а",
        "😀",
        "--",
      ),
    )
    .map((pieces) => pieces.join("")),
)

describe("the plain rule", () => {
  test("counts a quarter token for each character, rounded up at the end", () => {
    expect(estimateTokensPlainly("")).toBe(0)
    expect(estimateTokensPlainly("a")).toBe(1)
    expect(estimateTokensPlainly("abcd")).toBe(1)
    expect(estimateTokensPlainly("abcde")).toBe(2)
  })

  test("counts half a token for each Chinese, Japanese or Korean character", () => {
    expect(estimateTokensPlainly("你好")).toBe(1)
    expect(estimateTokensPlainly("会话管理")).toBe(2)
    expect(estimateTokensPlainly("カタカナ")).toBe(2)
    expect(estimateTokensPlainly("한국어를")).toBe(2)
    expect(estimateTokensPlainly("𠀀𠀁𠀂𠀃")).toBe(2)
    expect(estimateTokensPlainly("你a")).toBe(1)
    expect(estimateTokensPlainly("你好，a")).toBe(2)
  })

  test("counts a character outside the basic plane once", () => {
    expect(estimateTokensPlainly("😀😀😀😀")).toBe(1)
  })

  test("agrees with the scripts that Unicode gives to letters", () => {
    const isCjk =
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u
    // Marks such as the long vowel of Japanese belong to no single script.
    const isShared =
      /[\p{Script=Common}&&[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Hangul}\p{scx=Bopomofo}]]/gv
    const all = Array.from({ length: 0x110000 }, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((each) => /\p{L}/u.test(each))
    const wrong = all.filter(
      (each) =>
        each.replace(isShared, "") !== "" &&
        estimateTokensPlainly(each.repeat(4)) !== (isCjk.test(each) ? 2 : 1),
    )
    expect(wrong).toEqual([])
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (value) => {
        const letters = value.replace(/[^\p{L}]/gu, "").replace(isShared, "")
        const quarters = [...letters].reduce((sum, each) => sum + (isCjk.test(each) ? 2 : 1), 0)
        expect(estimateTokensPlainly(letters)).toBe(Math.ceil(quarters / 4))
      }),
    )
  })
})

describe("the estimate", () => {
  test("is 0 for the empty text only", () => {
    expect(estimateTokens("")).toBe(0)
    for (const one of [" ", "\n", "a", "\u0000", "\ud83d", "\ude00", "你"])
      expect(estimateTokens(one)).toBeGreaterThan(0)
  })

  test("never falls when text is added", () => {
    fc.assert(
      fc.property(anyText, anyText, (start, end) => {
        expect(estimateTokens(start)).toBeLessThanOrEqual(estimateTokens(start + end))
      }),
    )
  })

  test("of two halves adds up to that of the whole, except for a few tokens at the cut", () => {
    fc.assert(
      fc.property(anyText, anyText, (start, end) => {
        const parts = estimateTokens(start) + estimateTokens(end)
        expect(Math.abs(parts - estimateTokens(start + end))).toBeLessThanOrEqual(7)
      }),
    )
  })

  test.each([
    ["a word, with the space before it", "a few short words make one token each", 8],
    ["three digits", "123456789", 3],
    ["a part of a name in camel case", "estimateMessageTokens", 3],
    ["a rule of one mark, however long", "-".repeat(80), 4],
    ["an indentation, however deep", `if\n${" ".repeat(40)}x`, 5],
  ])("counts about one token for %s", (_, value, tokens) => {
    expect(Math.abs(estimateTokens(value) - tokens)).toBeLessThanOrEqual(1)
  })

  test("counts more for letters drawn at random than for words", () => {
    const words = estimateTokens("the quick brown fox jumps over the lazy dogs")
    expect(estimateTokens("dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZQ")).toBeGreaterThan(2 * words)
  })
})

describe("the estimate of a file", () => {
  const bytes = (count: number) => `data:application/octet-stream;base64,${"A".repeat((count / 3) * 4)}`

  test("is the same for an image, however long its data are", () => {
    const small = estimateFileTokens({ mime: "image/png", url: bytes(300) })
    expect(small).toBeGreaterThanOrEqual(1_000)
    expect(small).toBeLessThanOrEqual(1_600)
    expect(estimateFileTokens({ mime: "image/jpeg", url: bytes(3_000_000) })).toBe(small)
    expect(estimateFileTokens({ mime: "image/webp", url: "blob:abc" })).toBe(small)
  })

  test("of a PDF grows with its pages", () => {
    const page = estimateFileTokens({ mime: "application/pdf", url: bytes(30_000) })
    expect(estimateFileTokens({ mime: "application/pdf", url: bytes(300_000) })).toBe(6 * page)
    expect(estimateFileTokens({ mime: "application/pdf", url: "blob:abc" })).toBeGreaterThan(page)
  })

  test("of a text file is near that of its text", () => {
    const source = "export function add(a: number, b: number): number {\n  return a + b\n}\n".repeat(200)
    const real = estimateTokens(source)
    for (const url of [
      `data:text/plain;base64,${Buffer.from(source).toString("base64")}`,
      `data:text/plain,${source}`,
    ]) {
      expect(estimateFileTokens({ mime: "text/plain; charset=utf-8", url })).toBeGreaterThan(real * 0.75)
      expect(estimateFileTokens({ mime: "text/plain", url })).toBeLessThan(real * 1.25)
    }
    expect(estimateFileTokens({ mime: "image/svg+xml", url: bytes(30_000) })).toBeGreaterThan(5_000)
  })

  test("of a file that is not sent is that of a sentence", () => {
    expect(estimateFileTokens({ mime: "application/zip", url: bytes(3_000_000) })).toBeLessThan(100)
    expect(estimateFileTokens({ mime: "text/html", url: "https://example.com/" })).toBeLessThan(100)
    expect(estimateFileTokens({ mime: "text/plain", url: "data:no-comma" })).toBeLessThan(100)
  })
})

describe("the estimate of a part", () => {
  const file = { mime: "image/png", url: `data:image/png;base64,${"A".repeat(400_000)}` }

  test("counts what a model would see", () => {
    const words = "some words to read ".repeat(20)
    expect(estimatePartTokens(text("prt_a", words))).toBe(estimateTokens(words))
    expect(estimatePartTokens(text("prt_a", words, { ignored: true }))).toBe(0)
    expect(estimatePartTokens(tool("prt_a", completed(words)))).toBeGreaterThan(estimateTokens(words))
    expect(estimatePartTokens(part("patch", "prt_a", { hash: "abcdefgh", files: ["a.ts"] }))).toBe(0)
  })

  test("counts files and attachments, but not their data as text", () => {
    const image = estimateFileTokens(file)
    expect(estimatePartTokens(part("file", "prt_a", file))).toBe(image)
    const plain = completed("shown")
    const attached = { ...plain, attachments: [{ type: "file" as const, ...file }] } as typeof plain
    const added = estimatePartTokens(tool("prt_a", attached)) - estimatePartTokens(tool("prt_a", plain))
    expect(added).toBe(image)
  })
})

describe("the estimate of a message", () => {
  test("adds its parts and a user's own system text", () => {
    const parts = [text("prt_a", "abcd"), text("prt_b", "abcd")]
    expect(estimateMessageTokens({ message: assistant("msg_a"), parts })).toBe(2)
    expect(estimateMessageTokens({ message: { ...user("msg_a"), system: "abcd" }, parts })).toBe(3)
  })

  test("counts only the name of an assistant's file", () => {
    const parts = [part("file", "prt_a", { mime: "image/png", filename: "chart.png", url: "blob:abc" })]
    expect(estimateMessageTokens({ message: user("msg_a"), parts })).toBeGreaterThan(1_000)
    expect(estimateMessageTokens({ message: assistant("msg_a"), parts })).toBeLessThan(10)
  })
})

test("tokens are added field by field and in total", () => {
  const one = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
  expect(addTokens(one, one)).toEqual({ input: 2, output: 4, reasoning: 6, cache: { read: 8, write: 10 } })
  expect(addTokens(one, noTokens())).toEqual(one)
  expect(totalTokens(one)).toBe(15)
})
