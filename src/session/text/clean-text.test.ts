import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cleanDeep, cleanText } from "./clean-text.ts"

describe("clean text", () => {
  test("has no NUL and no lone surrogate, and the same length", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.nat(0xffff).map((unit) => String.fromCharCode(unit)) }), (value) => {
        const cleaned = cleanText(value)
        expect(cleaned.isWellFormed()).toBe(true)
        expect(cleaned).not.toContain("\0")
        expect(cleaned).toHaveLength(value.length)
        expect(cleanText(cleaned)).toBe(cleaned)
      }),
    )
    expect(cleanText("a\0b\ud800c😀")).toBe("a\ufffdb\ufffdc😀")
  })

  test("is made of every string in a value, keys included", () => {
    expect(cleanDeep({ "a\0": ["\ud800", { b: "\0" }, 1, null, true] })).toEqual({
      "a\ufffd": ["\ufffd", { b: "\ufffd" }, 1, null, true],
    })
  })

  test("returns the same object for a value that is already clean", () => {
    const value = { a: ["b", { c: "d" }], e: null }
    expect(cleanDeep(value)).toBe(value)
    const mixed = { clean: { a: 1 }, dirty: "\0" }
    expect(cleanDeep(mixed).clean).toBe(mixed.clean)
  })
})
