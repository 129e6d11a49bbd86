import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { matchWildcard } from "./wildcard.ts"

function oracle(text: string, pattern: string): boolean {
  const escaped = pattern.replace(/[.+^${}()|[\]\\*?]/g, (character) => {
    if (character === "*") return ".*"
    return character === "?" ? "." : `\\${character}`
  })
  return new RegExp(`^${escaped}$`, "su").test(text)
}

describe("wildcards", () => {
  test.each([
    ["src/a.ts", "src/*", true],
    ["src/deep/a.ts", "src/*.ts", true],
    ["src/a.ts", "*.js", false],
    ["a.ts", "?.ts", true],
    ["ab.ts", "?.ts", false],
    ["", "*", true],
    ["", "?", false],
    ["a\nb", "a*b", true],
    ["a.b", "a+b", false],
    ["😀.ts", "?.ts", true],
    ["x😀", "*?", true],
    ["git", "git *", true],
    ["git status", "git *", true],
    ["gitk", "git *", false],
    ["git ", "git *", true],
    ["", " *", true],
    ["aa", "a*a", true],
    ["a", "a*a", false],
    ["aXbXc", "a*b*c", true],
    ["abab", "*ab", true],
  ])("%j against %j: %j", (text, pattern, expected) => {
    expect(matchWildcard(text, pattern)).toBe(expected)
  })

  test("agree with a regular expression", () => {
    const character = fc.constantFrom("a", "b", " ", ".", "😀")
    const text = fc.string({ unit: character, maxLength: 12 })
    const pattern = fc.string({ unit: fc.oneof(character, fc.constantFrom("*", "?")), maxLength: 8 })
    fc.assert(
      fc.property(text, pattern, (value, form) => {
        const expected = oracle(value, form) || (form.endsWith(" *") && oracle(value, form.slice(0, -2)))
        expect(matchWildcard(value, form)).toBe(expected)
      }),
      { numRuns: 2000 },
    )
  })

  test("take linear time on hostile patterns", () => {
    const text = "a".repeat(100_000)
    const before = process.threadCpuUsage()
    expect(matchWildcard(text, `${"a*".repeat(1000)}b`)).toBe(false)
    expect(matchWildcard(text, `${"*a".repeat(1000)}*b`)).toBe(false)
    expect(matchWildcard(text, `${"*?a".repeat(300)}b`)).toBe(false)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(1000)
  })
})
