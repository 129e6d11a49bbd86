import { existsSync, readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"

const page = readFileSync("docs/promises.md", "utf8")
const rows = [...page.matchAll(/^\| (.+?) \| `([^`|]+)` \| (.+) \|$/gm)].map(([, claim, file, name]) => ({
  claim: claim!,
  file: file!,
  name: name!,
}))

/** A test is named by a string: in the source its quotes may be escaped. */
function names(source: string): string {
  return source.replaceAll(/\\(["'`])/g, "$1")
}

describe("the page of promises", () => {
  test("has a table for each promise", () => {
    const tables = page.split(/^## /m).slice(1)
    expect(tables.length).toBeGreaterThanOrEqual(9)
    for (const table of tables) expect(table).toMatch(/^\| claim \| test file \| test \|$/m)
    const written = page.split("\n").filter((line) => /^\| (?!claim )/.test(line))
    expect(rows.length).toBe(written.length)
  })

  test.each(rows)("$claim: $file has the test", ({ file, name }) => {
    expect(existsSync(file), `${file} is not there`).toBe(true)
    expect(names(readFileSync(file, "utf8"))).toContain(name)
  })

  test("names every test that was written for a promise", async () => {
    const { filesBelow } = await import("../tools/imports.ts")
    const own = filesBelow("test/run", ".test.ts").filter((file) => file.includes("/promise-"))
    const named = new Set(rows.map(({ file }) => file))
    expect(own.filter((file) => !named.has(file))).toEqual([])
    for (const file of own) {
      const tests = names(readFileSync(file, "utf8")).match(/^\s*test\b/gm) ?? []
      const rowsOf = rows.filter((row) => row.file === file)
      expect(rowsOf.length, `${file} has ${tests.length} tests`).toBe(tests.length)
    }
  })
})
