import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Api } from "../provider/providers.ts"
import { fitCallID, fitToolName, ownToolNames } from "./fit-names.ts"

const apis: Api[] = ["anthropic", "google", "openai-responses", "openai-chat", "openai-compatible"]
const odd = [
  "",
  " ",
  "a b",
  "a\u0000",
  "\u001b[31m",
  "é",
  "日本",
  "😀",
  "a".repeat(65),
  "x".repeat(100_000),
  "a/b",
  "a+b",
]

describe("ids of calls", () => {
  test("that every API accepts are not changed", () => {
    for (const id of ["call_1", "toolu_01A09q90qw90lq917835lq9", "a", "A-b_9", "chatcmpl-0123456789"]) {
      for (const api of apis) expect(fitCallID(id, api)).toBe(id)
    }
  })

  test("of chat completions are not changed for chat completions, and are replaced for other APIs", () => {
    expect(fitCallID("functions.read:0", "openai-compatible")).toBe("functions.read:0")
    expect(fitCallID("functions.read:0", "openai-chat")).toBe("functions.read:0")
    expect(fitCallID("functions.read:0", "anthropic")).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  })

  test("are valid after the replacement, whatever they were", () => {
    for (const api of apis) {
      for (const id of odd) expect(fitCallID(id, api)).toMatch(/^[A-Za-z0-9_-]{1,40}$/)
    }
  })

  test("that differ stay different, even for an id that imitates a replaced one", () => {
    for (const api of apis) {
      const made = odd.map((id) => fitCallID(id, api))
      const again = made.map((id) => fitCallID(id, api))
      expect(new Set([...made, ...again]).size).toBe(2 * odd.length)
    }
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }), (a, b) => {
        expect(fitCallID(a, "anthropic") === fitCallID(b, "anthropic")).toBe(a === b)
      }),
    )
  })
})

describe("names of tools", () => {
  test("that are valid are not changed, and others become valid", () => {
    for (const name of ["read", "todowrite", "mcp__server-1__Tool"]) expect(fitToolName(name)).toBe(name)
    for (const name of [...odd, "9lives", "-x"])
      expect(fitToolName(name)).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/)
    expect(new Set(odd.map(fitToolName)).size).toBe(odd.length)
  })

  test("are found again by their replaced names", () => {
    expect(ownToolNames([{ name: "read" }])).toBeUndefined()
    const names = ownToolNames([{ name: "read" }, { name: "my tool" }])
    expect(names?.get(fitToolName("my tool"))).toBe("my tool")
  })
})
