import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { meantPath, shownName } from "./shown-name.ts"

describe("a name as it is shown", () => {
  test.each([
    "a.txt",
    "with space.md",
    'quo"te',
    "back\\slash",
    "字.md",
    "👩‍🚀.png",
    "e\u0301",
    "می‌خواهم",
    "C:\\x",
  ])("%j is itself", (name) => {
    expect(shownName(name)).toBe(name)
    expect(meantPath(name)).toBe(name)
  })

  test.each([
    ["a\nb", String.raw`"a\nb"`],
    ["a\u001b[31m.txt", String.raw`"a\u001b[31m.txt"`],
    ["gnp.\u202eexe", String.raw`"gnp.\u202eexe"`],
    ['"q"\\\t\u0085\u2028', String.raw`"\"q\"\\\t\u0085\u2028"`],
    ["x\u{e0041}", String.raw`"x\udb40\udc41"`],
    ["a\u200b", String.raw`"a\u200b"`],
  ])("%j has invisible characters escaped, and the shown name leads to the same file", (name, shown) => {
    expect(shownName(name)).toBe(shown)
    expect(meantPath(shown)).toBe(name)
  })

  test("is one line, and stands for exactly one name", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", minLength: 1 }), (name) => {
        const shown = shownName(name)
        expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e]/u)
        if (shown !== name) expect(meantPath(shown)).toBe(name)
      }),
    )
  })

  test("is unquoted only if it was quoted", () => {
    for (const path of ['"a"', String.raw`"a\\b"`, String.raw`"a\qb"`, String.raw`"a\nb`, '""']) {
      expect(meantPath(path)).toBe(path)
    }
  })
})
