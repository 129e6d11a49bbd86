import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { shownText } from "./terminal.ts"
import { VisibleStream } from "./visible-stream.ts"

function streamed(pieces: readonly string[]): string {
  const stream = new VisibleStream()
  return pieces.map((piece) => stream.write(piece)).join("") + stream.end()
}

describe("a text that comes bit by bit", () => {
  test.each([
    ["an emoji of several", "a 👨‍👩‍👧 b 🏴󠁧󠁢󠁥󠁮󠁧󠁿 c ❤️"],
    ["a command to the terminal", "a\u001b[2Jb\u001b]0;title\u0007c\u001b[31;1md"],
    ["one that never ends", "a\u001b["],
    ["Chinese", "你好，世界"],
    ["line ends", "a\r\nb\nc"],
  ])("looks the same wherever it was cut: %s", (_, text) => {
    for (let at = 0; at <= text.length; at++) {
      const shown = streamed([text.slice(0, at), text.slice(at)])
      if (!text.includes("🏴")) expect(shown).toBe(shownText(text))
      expect(shown.isWellFormed()).toBe(true)
    }
  })

  test("never gives a terminal a command, whatever it is and wherever it was cut", () => {
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

  test("plain text is shown at once", () => {
    const stream = new VisibleStream()
    expect([stream.write("Hel"), stream.write("lo, "), stream.write("world\n")]).toEqual([
      "Hel",
      "lo, ",
      "world\n",
    ])
  })
})
