import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { noTokens } from "../protocol/index.ts"
import { assistant, completed, part, text, tool, user } from "./samples.ts"
import {
  addTokens,
  estimateMessageTokens,
  estimatePartTokens,
  estimateTokens,
  totalTokens,
} from "./tokens.ts"

describe("the estimate", () => {
  test("is a quarter token a character, rounded up at the end", () => {
    expect(estimateTokens("")).toBe(0)
    expect(estimateTokens("a")).toBe(1)
    expect(estimateTokens("abcd")).toBe(1)
    expect(estimateTokens("abcde")).toBe(2)
  })

  test("is half a token a Chinese, Japanese or Korean character", () => {
    expect(estimateTokens("你好")).toBe(1)
    expect(estimateTokens("会话管理")).toBe(2)
    expect(estimateTokens("カタカナ")).toBe(2)
    expect(estimateTokens("한국어를")).toBe(2)
    expect(estimateTokens("𠀀𠀁𠀂𠀃")).toBe(2)
    expect(estimateTokens("你a")).toBe(1)
    expect(estimateTokens("你好，a")).toBe(2)
  })

  test("counts a character outside the basic plane once", () => {
    expect(estimateTokens("😀😀😀😀")).toBe(1)
  })

  test("agrees with the scripts that Unicode gives to letters", () => {
    const isCjk =
      /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 50 }), (value) => {
        const letters = value.replace(/[^\p{L}]/gu, "")
        const quarters = [...letters].reduce((sum, each) => sum + (isCjk.test(each) ? 2 : 1), 0)
        expect(estimateTokens(letters)).toBe(Math.ceil(quarters / 4))
      }),
    )
  })

  test("of a part counts what a model would see", () => {
    expect(estimatePartTokens(text("prt_a", "a".repeat(40)))).toBe(10)
    expect(estimatePartTokens(text("prt_a", "a".repeat(40), { ignored: true }))).toBe(0)
    expect(estimatePartTokens(tool("prt_a", completed("a".repeat(400))))).toBeGreaterThan(100)
    expect(estimatePartTokens(part("patch", "prt_a", { hash: "abcdefgh", files: ["a.ts"] }))).toBe(0)
  })

  test("of a message adds its parts and a user's own system text", () => {
    const parts = [text("prt_a", "abcd"), text("prt_b", "abcd")]
    expect(estimateMessageTokens({ message: assistant("msg_a"), parts })).toBe(2)
    expect(estimateMessageTokens({ message: { ...user("msg_a"), system: "abcd" }, parts })).toBe(3)
  })
})

test("tokens are added field by field and in total", () => {
  const one = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
  expect(addTokens(one, one)).toEqual({ input: 2, output: 4, reasoning: 6, cache: { read: 8, write: 10 } })
  expect(addTokens(one, noTokens())).toEqual(one)
  expect(totalTokens(one)).toBe(15)
})
