import { describe, expect, test } from "vitest"
import { referencesIn } from "./references.ts"

const values = (text: string) => referencesIn(text).map(({ type, value }) => `${type} ${value}`)

describe("referencesIn", () => {
  test.each([
    ["look at [[src/a.ts]] and @src/b.ts.", ["name src/a.ts", "name src/b.ts"]],
    ["@explore find it", ["name explore"]],
    ["ask [[explore]], then (@general)", ["name explore", "name general"]],
    ["what does !`git status -s` say", ["command git status -s"]],
    ["mail me at me@example.com or a.b@c.d", []],
    ["`@a.ts` and `[[b.ts]]` are code", []],
    ["before\n```ts\n@Injectable()\n!`rm -rf /`\n```\nafter @c.ts", ["name c.ts"]],
    ["unclosed\n```\n@a.ts !`ls`", []],
    ["看看@src/甲.ts，再看 [[文档/乙.md]]", ["name src/甲.ts", "name 文档/乙.md"]],
    ["[[]] [[ ]] @ !`` !` `", []],
    ["[[a]] [[a]]", ["name a", "name a"]],
    ["@../up.ts @~/home.ts @/etc/hosts", ["name ../up.ts", "name ~/home.ts", "name /etc/hosts"]],
    ["wow!`ls`", ["command ls"]],
    ["[[two\nlines]] !`two\nlines`", []],
  ])("%j", (text, expected) => {
    expect(values(text)).toEqual(expected)
  })

  test("gives the span of each reference", () => {
    const text = "a @b.ts, !`c d` [[ e ]]"
    for (const { text: own, start, end } of referencesIn(text)) expect(text.slice(start, end)).toBe(own)
  })

  test("limits the number of references, and handles long texts quickly", () => {
    expect(referencesIn("@a ".repeat(500))).toHaveLength(100)
    expect(referencesIn(`[[${"x".repeat(500)}]]`)).toEqual([])
    expect(referencesIn(`@a${".".repeat(500_000)}b`)).toEqual([])
    const hostile = ["@a...", "!`", "[[", "`", "```\n", "@", "~~~\n", "\n```"].map((piece) =>
      piece.repeat(100_000),
    )
    const before = process.threadCpuUsage()
    for (const text of hostile) referencesIn(text)
    const { user, system } = process.threadCpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(5_000)
  })
})
