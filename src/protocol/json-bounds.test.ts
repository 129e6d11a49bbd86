import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { findJsonExcess, parseJson } from "./json-bounds.ts"

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

describe("the bounds of JSON", () => {
  test("allow every value within them and refuse it one level below its depth", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.boolean(), (json, isPretty) => {
        const text = isPretty ? JSON.stringify(JSON.parse(json), null, 2) : json
        const depth = depthOf(JSON.parse(text))
        expect(findJsonExcess(text, { depthMax: depth })).toBe(undefined)
        if (depth > 0) expect(findJsonExcess(text, { depthMax: depth - 1 })).toBeDefined()
      }),
    )
  })

  test.each([
    ["brackets in a text", JSON.stringify({ a: "[{".repeat(500) })],
    ["brackets after escaped quotes", JSON.stringify([`\\"[[${'"'.repeat(300)}[[\\`.repeat(3)])],
    ["brackets after a long text", JSON.stringify(["x".repeat(400), `${"y".repeat(300)}\\"[[`])],
    ["brackets in comments", `{ // ${"[".repeat(300)}\n "a": 1 /* ${"{".repeat(300)} " */ }`],
  ])("do not count %s", (_, text) => {
    expect(findJsonExcess(text, { depthMax: 2 })).toBe(undefined)
  })

  test("tell what is wrong, and where", () => {
    expect(findJsonExcess("[".repeat(1_000))).toEqual({
      at: 200,
      problem: "is nested deeper than 200 levels",
    })
    expect(findJsonExcess("[1,1,1]", { valuesMax: 2 })).toEqual({ at: 4, problem: "has more than 2 values" })
    expect(() => parseJson('{"a":'.repeat(30_000))).toThrow("The JSON is nested deeper than 200 levels")
  })

  test("end at the end of a text that is not complete", () => {
    for (const text of [
      '"',
      '"\\',
      `"${"x".repeat(500)}`,
      `"${"x\\n".repeat(500)}\\`,
      "/*",
      "//",
      "/",
      "",
      '"a',
    ])
      expect(findJsonExcess(text)).toBe(undefined)
  })

  test("are found by reading a text once, also if it has many escapes", () => {
    const units = 4 * 1024 * 1024
    const texts = ['\\"', "\\\\", `${"x".repeat(150)}\\n`, `${"x".repeat(150)}\\"`].map(
      (piece) => `["${piece.repeat(units / piece.length)}`,
    )
    const began = process.cpuUsage()
    for (const text of texts) expect(findJsonExcess(text)).toBe(undefined)
    // A second search of the rest at each escape takes minutes.
    expect(process.cpuUsage(began).user / 1000).toBeLessThan(3_000)
  })
})
