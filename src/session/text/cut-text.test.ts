import fc from "fast-check"
import { expect, test } from "vitest"
import { estimateTokens } from "../usage/tokens.ts"
import { cutToTokens } from "./cut-text.ts"

test("a text that is short enough stays as it is", () => {
  expect(cutToTokens("a few words", 10)).toBe("a few words")
  expect(cutToTokens("", 0)).toBe("")
})

test("a longer text is cut to its beginning, which uses most of the limit", () => {
  const text = "so many plain words ".repeat(500)
  const cut = cutToTokens(text, 200)
  expect(text.startsWith(cut)).toBe(true)
  expect(estimateTokens(cut)).toBeGreaterThan(160)
  expect(cutToTokens("words", 0)).toBe("")
})

test("a cut text is a beginning of the text, within the limit, and ends with a whole character", () => {
  const unit = fc.constantFrom("word ", "配置", "👩‍🚀", "x", "\n", "0123456789", "naïve ", "{}[]")
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 200 }), fc.nat(300), (text, tokensMax) => {
      const cut = cutToTokens(text, tokensMax)
      expect(text.startsWith(cut)).toBe(true)
      expect(estimateTokens(cut)).toBeLessThanOrEqual(tokensMax)
      expect(cut.isWellFormed()).toBe(true)
      if (estimateTokens(text) <= tokensMax) expect(cut).toBe(text)
    }),
  )
})
