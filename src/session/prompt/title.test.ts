import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { defaultTitle, isDefaultTitle, titleFromText } from "./title.ts"

const nowMs = Date.UTC(2024, 0, 15, 10, 30, 45, 123)

describe("default titles", () => {
  test("say whether the session is a child and when it was made", () => {
    expect(defaultTitle({ child: false, nowMs })).toBe("New session - 2024-01-15T10:30:45.123Z")
    expect(defaultTitle({ child: true, nowMs })).toBe("Child session - 2024-01-15T10:30:45.123Z")
  })

  test("are recognised, and nothing else is", () => {
    fc.assert(
      fc.property(fc.boolean(), fc.integer({ min: 0, max: 253402300799999 }), (child, at) => {
        const title = defaultTitle({ child, nowMs: at })
        expect(isDefaultTitle(title)).toBe(true)
        expect(isDefaultTitle(`${title} `)).toBe(false)
        expect(isDefaultTitle(`x${title}`)).toBe(false)
        expect(isDefaultTitle(title.slice(0, -1))).toBe(false)
      }),
    )
    for (const title of [
      "",
      "New session - ",
      "New session - today",
      "new session - 2024-01-15T10:30:45.123Z",
    ]) {
      expect(isDefaultTitle(title)).toBe(false)
    }
  })
})

describe("a title from text", () => {
  test("is the first 30 characters with white space folded", () => {
    expect(titleFromText("  Fix\n\tthe   login  ")).toBe("Fix the login")
    expect(titleFromText("a".repeat(31))).toBe("a".repeat(30))
    expect(titleFromText("分析 payment.py 的并发问题".repeat(4))).toBe(
      "分析 payment.py 的并发问题分析 payment.",
    )
    expect(titleFromText(" \n ")).toBe("")
  })

  test("has no escape sequences and no invisible characters", () => {
    expect(titleFromText("\u001b]0;pwn\u0007\u001b[2JEvil \u202e\u200btitle\u009b")).toBe("Evil title")
    expect(titleFromText("\u200b\u0007")).toBe("")
  })

  test("does not cut a character in two", () => {
    expect(titleFromText("👩‍🚀".repeat(40))).toBe("👩‍🚀".repeat(30))
    expect(titleFromText(`${"a".repeat(29)}é…`)).toBe(`${"a".repeat(29)}é`)
  })

  test("is always short, well formed and without white space at its ends", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (value) => {
        const title = titleFromText(value)
        expect(title.isWellFormed()).toBe(true)
        expect(title.trim()).toBe(title)
        expect(title.length).toBeLessThanOrEqual(480)
      }),
    )
    expect(titleFromText(`a${"\u0301".repeat(100_000)}`).length).toBeLessThanOrEqual(480)
  })
})
