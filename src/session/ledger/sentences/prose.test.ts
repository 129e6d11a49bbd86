import { describe, expect, test } from "vitest"
import { pastedLines, sentences, shorten } from "./prose.ts"

describe("sentences", () => {
  test.each([
    ["One. Two! Three? Four", ["One", "Two!", "Three?", "Four"]],
    ["先做一。再做二！三", ["先做一", "再做二！", "三"]],
    ["See src/a.ts. It uses v1.2.3, e.g. for x.", ["See src/a.ts", "It uses v1.2.3, e.g. for x"]],
    ["run go test ./internal/... -run X twice", ["run go test ./internal/... -run X twice"]],
    ["docker build -t a:b . fails", ["docker build -t a:b . fails"]],
    ["call `a. b. c` now", ["call `a. b. c` now"]],
    ["- [ ] first\n2. second\n* third", ["first", "second", "third"]],
    ["Hi, please use tabs, thanks!", ["use tabs"]],
    ["你好，请用制表符，谢谢", ["用制表符"]],
    ["no. 5 is odd", ["no. 5 is odd"]],
    ["no. what else?", ["no", "what else?"]],
    ["3 retries at most", ["3 retries at most"]],
    ["", []],
    ["...!?", []],
  ])("of %j are %j", (text, expected) => {
    expect(sentences(text)).toEqual(expected)
  })

  test("that are very long are cut at commas, and inside a word only if they have none", () => {
    const clause = `${"word ".repeat(30)}end`
    const cut = sentences(`${clause}, ${clause}, ${clause}`)
    expect(cut).toHaveLength(3)
    const [whole] = sentences("x".repeat(3_000))
    expect(whole!.length).toBeLessThanOrEqual(240)
    expect(whole!.endsWith("…")).toBe(true)
  })

  test("leave out pasted blocks, but nothing after a fence that is never closed", () => {
    const code = "const a = 1;\nif (a) {\n  run(a)\n}"
    expect(sentences(`Look at this:\n\n${code}\n\nIt must stay.`)).toEqual(["Look at this:", "It must stay"])
    expect(sentences("```\nopen fence\nUse tabs.")).toContain("Use tabs")
    expect(pastedLines("a\n```\nE1042 here\n```")).toEqual(["E1042 here"])
  })
})

test("shortening never cuts a character in half", () => {
  for (let length = 1; length < 9; length++) expect(shorten("a👩b👩c👩", length).isWellFormed()).toBe(true)
})
