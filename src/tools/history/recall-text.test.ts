import { expect, test } from "vitest"
import { quoteText } from "./recall-text.ts"

test("a text is quoted line by line, including empty lines, and cut at the limit", () => {
  expect(quoteText("a\n\nb", 100)).toEqual({ quoted: "> a\n> \n> b", end: 4 })
  expect(quoteText("abcdef\nghi", 8)).toEqual({ quoted: "> abcde", end: 5 })
  expect(quoteText("abc\ndef\nghi", 12)).toEqual({ quoted: "> abc\n> def", end: 8 })
  expect(quoteText("", 100)).toEqual({ quoted: "", end: 0 })
})

test.each([5, 6, 7, 8, 20])(
  "reading on from the end gives the whole text, %i characters at a time",
  (max) => {
    const text = "one 👩‍🚀 two\n\n字字字字\nlast"
    let rest = text
    let whole = ""
    for (let times = 0; rest !== "" && times < 100; times++) {
      const { quoted, end } = quoteText(rest, max)
      expect(quoted.length).toBeLessThanOrEqual(max)
      expect(quoted.isWellFormed()).toBe(true)
      whole += rest.slice(0, end)
      rest = rest.slice(end)
    }
    expect(whole).toBe(text)
  },
)
