import { describe, expect, test } from "vitest"
import type { Part } from "../../protocol/index.ts"
import { addLive, addPiece, type Growth, grownPart, growthOf, keepLive } from "./growth.ts"

const ids = { sessionID: "ses_1", messageID: "msg_1" }

function textPart(text: string, end?: number): Part {
  const time = end === undefined ? {} : { time: { start: 0, end } }
  return { id: "prt_1", type: "text", text, ...time, ...ids }
}

function growth(stored: string, live = ""): Growth<never> {
  return { ...growthOf<never>(textPart(stored))!, live }
}

const textOf = (value: Growth<never>) => (grownPart(value) as { text: string }).text

describe("live text", () => {
  test.each([
    [
      "continues where the text ends",
      growth("ab", "c"),
      { offset: 3, delta: "de" },
      { delta: "de" },
      "abcde",
    ],
    [
      "that overlaps known text is cut",
      growth("ab", "cd"),
      { offset: 3, delta: "def" },
      { delta: "ef" },
      "abcdef",
    ],
    ["that is known adds nothing", growth("ab", "cde"), { offset: 3, delta: "d" }, { delta: "" }, "abcde"],
    ["that is stored adds nothing", growth("abcd"), { offset: 1, delta: "bc" }, { delta: "" }, "abcd"],
    [
      "that begins inside the stored text is cut",
      growth("abcd"),
      { offset: 2, delta: "xxef" },
      { delta: "ef" },
      "abcdef",
    ],
    ["that leaves a gap is early", growth("ab"), { offset: 3, delta: "d" }, "early", "ab"],
    [
      "that differs from earlier live text replaces it",
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
    [
      "continues where the stored text ends",
      growth("ab"),
      { offset: 2, text: "cd" },
      { offset: 2, delta: "cd" },
      "abcd",
    ],
    ["that was sent live adds nothing", growth("ab", "cdef"), { offset: 2, text: "cd" }, undefined, "abcdef"],
    [
      "that was sent live in part is cut",
      growth("ab", "c"),
      { offset: 2, text: "cde" },
      { offset: 3, delta: "de" },
      "abcde",
    ],
    [
      "that is stored in part is cut",
      growth("abc"),
      { offset: 2, text: "cd" },
      { offset: 3, delta: "d" },
      "abcd",
    ],
    ["that is stored adds nothing", growth("abc"), { offset: 1, text: "bc" }, undefined, "abc"],
    [
      "that differs from live text replaces it",
      growth("ab", "xy"),
      { offset: 2, text: "cd" },
      "replaced",
      "abcd",
    ],
    ["that leaves a gap is ignored", growth("ab"), { offset: 3, text: "d" }, undefined, "ab"],
  ] as const)("%s", (_, value, piece, result, text) => {
    expect(addPiece(value, piece)).toEqual(result)
    expect(textOf(value)).toBe(text)
  })
})

describe("the row of a part", () => {
  test.each([
    ["keeps live text that continues its text", growth("ab", "cd"), textPart("ab"), "abcd"],
    ["keeps the rest of the live text when its text is longer", growth("ab", "cd"), textPart("abc"), "abcd"],
    ["drops live text when its text differs", growth("ab", "cd"), textPart("ax"), "ax"],
    ["drops live text when its text is shorter", growth("ab", "cd"), textPart("a"), "a"],
    ["drops live text when its text has ended", growth("ab", "cd"), textPart("ab", 5), "ab"],
  ])("%s", (_, before, part, text) => {
    const after = growthOf<never>(part)!
    keepLive(after, before)
    expect(textOf(after)).toBe(text)
  })

  test("of a finished tool call does not grow", () => {
    const state = { status: "error" as const, input: {}, error: "no", time: { start: 1, end: 2 } }
    expect(growthOf({ id: "prt_1", type: "tool", callID: "c", tool: "bash", state, ...ids })).toBeUndefined()
  })
})
