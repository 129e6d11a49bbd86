import { expect, test } from "vitest"
import { classOf, dense, isWord } from "./characters.ts"
import { foldText } from "./fold.ts"

test("folding keeps every offset, also for characters whose lower case is longer or depends on their neighbours", () => {
  expect(foldText("İSTANBUL ΟΔΟΣ ẞ ﬀ ǅ 𐐀")).toBe("istanbul οδοσ ß ﬀ ǆ 𐐨")
  expect(foldText("ΟΔΟΣ")).toBe(foldText("οδος"))
})

test("full-width letters and the typographic apostrophe fold to the characters that people type", () => {
  expect(foldText("ＡＰＩ ｖ２ don’t")).toBe("api v2 don't")
})

test("folding a character keeps its length and whether it belongs to a word, and folding twice changes nothing", () => {
  const wrong: string[] = []
  for (let code = 0; code <= 0x1ffff; code++) {
    if (code >= 0xd800 && code < 0xe000) continue
    const character = String.fromCodePoint(code)
    const folded = foldText(character)
    const [before, after] = [classOf(code), classOf(folded.codePointAt(0)!)]
    const sameKind = isWord(before) === isWord(after) && (before === dense) === (after === dense)
    if (folded.length !== character.length || foldText(folded) !== folded || !sameKind) {
      wrong.push(code.toString(16))
    }
  }
  expect(wrong).toEqual([])
})
