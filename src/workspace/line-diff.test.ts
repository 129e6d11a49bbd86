import { execFile } from "node:child_process"
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { countLines, unifiedDiff } from "./line-diff.ts"

const text = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", "", "\r", "-", "+x"), { maxLength: 14 }), fc.boolean())
  .map(([lines, ends]) => lines.join("\n") + (ends && lines.length > 0 ? "\n" : ""))

/** The fewest removed and added lines, by the standard longest-common-subsequence table. */
function fewest(before: string, after: string): number {
  const lines = (all: string) => all.match(/[^\n]*\n|[^\n]+$/g) ?? []
  const [a, b] = [lines(before), lines(after)]
  let row = Array.from({ length: b.length + 1 }, () => 0)
  for (const one of a) {
    const next = [0]
    for (const [j, other] of b.entries()) {
      next.push(one === other ? row[j]! + 1 : Math.max(next[j]!, row[j + 1]!))
    }
    row = next
  }
  return a.length + b.length - 2 * row.at(-1)!
}

describe("countLines", () => {
  test.each([
    ["", "", 0, 0],
    ["", "a\nb\n", 2, 0],
    ["a\nb\n", "", 0, 2],
    ["a\n", "a\n", 0, 0],
    ["a\nb\nc\n", "a\nx\nc\n", 1, 1],
    ["a\nb\nc\n", "a\nc\n", 0, 1],
    ["a", "a\n", 1, 1],
    ["a\r\nb\r\n", "a\nb\n", 2, 2],
  ])("of %j to %j are %i more and %i less", (before, after, additions, deletions) => {
    expect(countLines(before, after)).toEqual({ additions, deletions })
  })

  test("gives the fewest lines that explain the change", () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { additions, deletions } = countLines(before, after)
        expect(additions + deletions).toBe(fewest(before, after))
      }),
    )
  })

  test("takes bounded time for two files with nothing in common", () => {
    const lines = (name: string) => Array.from({ length: 200_000 }, (_, i) => `${name}${i}\n`).join("")
    expect(countLines(lines("a"), lines("b"))).toEqual({ additions: 200_000, deletions: 200_000 })
  })
})

describe("unifiedDiff", () => {
  test("shows a change with the lines around it", () => {
    const before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    expect(unifiedDiff(before, before.replace("5", "five"), { file: "n.txt", contextLines: 1 })).toBe(
      "--- a/n.txt\n+++ b/n.txt\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n",
    )
  })

  test("is empty if the files are equal", () => {
    expect(unifiedDiff("a\n", "a\n", { file: "a" })).toBe("")
  })

  test("says where a line break is missing", () => {
    expect(unifiedDiff("a", "a\n", { file: "a" })).toBe(
      "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n",
    )
  })

  test("escapes a file name that looks like lines of the diff", () => {
    expect(unifiedDiff("a\n", "b\n", { file: "x\n+evil" }).split("\n")).not.toContain("+evil")
  })

  test("can be applied by git", { timeout: 120_000 }, async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), "stemma-diff-"))
    const file = join(directory.path, "f")
    await fc.assert(
      fc.asyncProperty(text, text, fc.nat(3), async (before, after, contextLines) => {
        const diff = unifiedDiff(before, after, { file: "f", contextLines })
        // Git reads an empty side as a created or removed file.
        fc.pre(diff !== "" && before !== "" && after !== "")
        // Without context lines, git misreads a diff of a file whose last line has no line break, in its own diffs too.
        fc.pre(contextLines > 0 || before.endsWith("\n"))
        await writeFile(file, before)
        await writeFile(join(directory.path, "patch"), diff)
        const args = ["apply", "--unidiff-zero", "--whitespace=nowarn", "patch"]
        await promisify(execFile)("git", args, { cwd: directory.path })
        expect(await readFile(file, "utf8")).toBe(after)
      }),
      { numRuns: 40 },
    )
  })
})
