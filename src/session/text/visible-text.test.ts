import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { visibleLine, visibleText } from "./visible-text.ts"

describe("visible text", () => {
  test.each([
    ["a title of a terminal", "\u001b]0;pwn\u0007Evil", "Evil"],
    ["a terminal hyperlink", "\u001b]8;;http://x\u001b\\here\u001b]8;;\u001b\\", "here"],
    ["colours", "\u001b[1;31mError\u001b[0m: no", "Error: no"],
    ["an escape that ends nowhere", "a\u001b]0;b", "a]0;b"],
    ["bells, backspaces and NUL", "a\u0007b\b\0c\u007f", "abc"],
    ["control characters of the second kind", "a\u009b31m\u0090b", "a31mb"],
    ["a turn of direction", "abc\u202egnp.exe\u2066\u2069\u200e\u200f\u061c", "abcgnp.exe"],
    ["what has no width", "a\u200b\ufeff\u2060\u00ad\u3164\u034fb", "ab"],
    ["words hidden in tags", "hi\u{e0041}\u{e0042}\u{e0061}", "hi"],
    ["joiners that join nothing", "a\u200db\u200c\u200d", "ab"],
    ["selectors that select nothing", "a\ufe0fb\u{e0100}", "ab"],
  ])("is without %s", (_, text, expected) => {
    expect(visibleText(text)).toBe(expected)
  })

  test.each([
    ["emoji with joiners", "👩‍🚀 👨‍👩‍👧 🏳️‍🌈 👩🏽‍💻 ❤️‍🔥"],
    ["keycaps and emoji by selector", "1️⃣ ☎️ ☺︎"],
    ["flags", "🇫🇷 🏴󠁧󠁢󠁥󠁮󠁧󠁿"],
    ["Persian with its non-joiners", "می‌خواهم"],
    ["Sinhala and Hindi with their joiners", "ශ්‍රී क्‍ष"],
    ["marks", "e\u0301 ạ̈ שָׁלוֹם"],
    ["white space", "a\tb\nc  d\u3000e\u00a0f"],
    ["code", "const x = `a` && b[0] // 中文"],
  ])("keeps %s", (_, text) => {
    expect(visibleText(text)).toBe(text)
  })

  test("of any text has no control character except white space", () => {
    const unit = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "\u0007",
      "\\",
      "0",
      "m",
      "a",
      "\u202e",
      "\u200d",
      "😀",
      "\n",
    )
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        expect(visibleText(text)).not.toMatch(/(?![\t-\r])\p{Cc}|\u202e/u)
        expect(visibleLine(text)).not.toMatch(/\p{Cc}|\u202e|^\s|\s$|\s\s/u)
      }),
    )
  })

  test("takes time in proportion to the text", () => {
    for (const piece of ["\u001b]", "\u001b[0", "\u200d", "😀\u200d", "\u{1f3f4}\u{e0061}\u{e0061}"]) {
      const before = process.threadCpuUsage()
      visibleText(piece.repeat(100_000))
      const { user, system } = process.threadCpuUsage(before)
      expect((user + system) / 1000).toBeLessThan(5_000)
    }
  })

  test("on one line has each run of white space made one space", () => {
    expect(visibleLine(" a\u0085\n\tb \u200b c\u2028d ")).toBe("a b c d")
  })
})
