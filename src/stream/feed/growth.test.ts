import { describe, expect, test } from "vitest"
import type { Part } from "../../protocol/index.ts"
import { addLive, addPiece, type Growth, grownPart, growthOf, keepLive } from "./growth.ts"

const place = { sessionID: "ses_1", messageID: "msg_1" }

function textPart(text: string, end?: number): Part {
  const time = end === undefined ? {} : { time: { start: 0, end } }
  return { id: "prt_1", type: "text", text, ...time, ...place }
}

function growth(stored: string, live = ""): Growth<never> {
  return { ...growthOf<never>(textPart(stored))!, live }
}

const textOf = (value: Growth<never>) => (grownPart(value) as { text: string }).text

describe("live text", () => {
  test.each([
    ["goes on where the text ends", growth("ab", "c"), { offset: 3, delta: "de" }, { delta: "de" }, "abcde"],
    ["is cut where it is known", growth("ab", "cd"), { offset: 3, delta: "def" }, { delta: "ef" }, "abcdef"],
    ["is nothing new if it is known", growth("ab", "cde"), { offset: 3, delta: "d" }, { delta: "" }, "abcde"],
    ["that rows have told is known", growth("abcd"), { offset: 1, delta: "bc" }, { delta: "" }, "abcd"],
    [
      "that begins in what rows have told is cut",
      growth("abcd"),
      { offset: 2, delta: "xxef" },
      { delta: "ef" },
      "abcdef",
    ],
    ["that leaves a gap waits", growth("ab"), { offset: 3, delta: "d" }, "early", "ab"],
    [
      "that is another one replaces what was live",
      growth("ab", "cd"),
      { offset: 3, delta: "xy" },
      "replaced",
      "abcxy",
    ],
  ] as const)("%s", (_, value, delta, result, text) => {
    expect(addLive(value, delta)).toEqual(result)
    expect(textOf(value)).toBe(text)
  })
})

describe("a piece", () => {
  test.each([
    ["goes on where rows end", growth("ab"), { offset: 2, text: "cd" }, { offset: 2, delta: "cd" }, "abcd"],
    [
      "that was given live is nothing new",
      growth("ab", "cdef"),
      { offset: 2, text: "cd" },
      undefined,
      "abcdef",
    ],
    [
      "that was given in part is cut",
      growth("ab", "c"),
      { offset: 2, text: "cde" },
      { offset: 3, delta: "de" },
      "abcde",
    ],
    [
      "that is known in part is cut",
      growth("abc"),
      { offset: 2, text: "cd" },
      { offset: 3, delta: "d" },
      "abcd",
    ],
    ["that is known is nothing new", growth("abc"), { offset: 1, text: "bc" }, undefined, "abc"],
    [
      "that differs from what was live replaces it",
      growth("ab", "xy"),
      { offset: 2, text: "cd" },
      "replaced",
      "abcd",
    ],
    [
      "that leaves a gap is left to the row that closes it",
      growth("ab"),
      { offset: 3, text: "d" },
      undefined,
      "ab",
    ],
  ] as const)("%s", (_, value, piece, result, text) => {
    expect(addPiece(value, piece)).toEqual(result)
    expect(textOf(value)).toBe(text)
  })
})

describe("a row of the part", () => {
  test.each([
    ["keeps live text that goes on from it", growth("ab", "cd"), textPart("ab"), "abcd"],
    ["keeps what is left when rows tell more", growth("ab", "cd"), textPart("abc"), "abcd"],
    ["drops live text when it says something else", growth("ab", "cd"), textPart("ax"), "ax"],
    ["drops live text when it became shorter", growth("ab", "cd"), textPart("a"), "a"],
    ["drops live text when the text has ended", growth("ab", "cd"), textPart("ab", 5), "ab"],
  ])("%s", (_, before, part, text) => {
    const after = growthOf<never>(part)!
    keepLive(after, before)
    expect(textOf(after)).toBe(text)
  })

  test("of a call that has finished grows no more", () => {
    const state = { status: "error" as const, input: {}, error: "no", time: { start: 1, end: 2 } }
    expect(
      growthOf({ id: "prt_1", type: "tool", callID: "c", tool: "bash", state, ...place }),
    ).toBeUndefined()
  })
})
