import { readdirSync, readFileSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { beforeEach, describe, expect, test, vi } from "vitest"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import { type DirectorySwap, swapBack, swapOut } from "../support/directory-swap.ts"
import { putFiles, type TestToolContext, toolContext } from "../support/tool-context.ts"
import { calls, ignoreCalls } from "../support/watched-calls.ts"

vi.mock("node:fs/promises", async (original) => {
  const { watchedFileSystem } = await import("../support/watched-calls.ts")
  return watchedFileSystem(await original<object>())
})
vi.mock("node:child_process", async (original) => {
  const { watchedProcesses } = await import("../support/watched-calls.ts")
  return watchedProcesses(await original())
})

const inside = { "sub/deep/a.txt": "tea inside\n", "sub/deep/b.txt": "tea inside\n" }
const outside = { "deep/a.txt": "tea SECRET\n", "deep/b.txt": "tea SECRET\n", "deep/SECRET.txt": "tea\n" }

interface Race extends AsyncDisposable {
  context: TestToolContext
  swap: DirectorySwap
  /** Fails if the call changed or showed anything outside, or left a file of its own anywhere. */
  check(shown: string): void
}

/** A workspace with the directory `sub/deep`, and a directory outside that has the same names in it. */
async function race(): Promise<Race> {
  const context = await toolContext({ rules: { "*": "allow", external_directory: "deny" } })
  const other = join(context.home, "outside")
  await putFiles(context.root, inside)
  await putFiles(other, outside)
  return {
    context,
    swap: { directory: join(context.root, "sub"), outside: other },
    check(shown) {
      expect(shown).not.toContain("SECRET")
      const names = readdirSync(other, { recursive: true, encoding: "utf8" }).sort()
      expect(names).toEqual(["deep", ...Object.keys(outside)].sort())
      for (const [name, text] of Object.entries(outside))
        expect(readFileSync(join(other, name), "utf8")).toBe(text)
      const own = readdirSync(context.root, { recursive: true, encoding: "utf8" })
      expect(own.filter((name) => name.includes(".stemma-"))).toEqual([])
    },
    [Symbol.asyncDispose]: () => context[Symbol.asyncDispose](),
  }
}

/** What a model is shown: the output, or the error. */
async function shownBy(call: Promise<unknown>): Promise<string> {
  return call.then(
    (result) => JSON.stringify(result),
    (error: unknown) => String(error),
  )
}

const file = "sub/deep/a.txt"
const fileCalls: [string, (context: TestToolContext) => Promise<unknown>][] = [
  ["read", (context) => context.call(readTool, { filePath: file })],
  ["read of a missing file", (context) => context.call(readTool, { filePath: "sub/deep/SECRE.txt" })],
  ["write to a file", (context) => context.call(writeTool, { filePath: file, content: "new\n" })],
  ["write of a new file", (context) => context.call(writeTool, { filePath: "sub/deep/n", content: "new\n" })],
  [
    "write in new directories",
    (context) => context.call(writeTool, { filePath: "sub/deep/x/y/n", content: "new\n" }),
  ],
  ["edit", (context) => context.call(editTool, { filePath: file, oldString: "inside", newString: "new" })],
  ["list", (context) => context.call(listTool, { path: "sub" })],
]

beforeEach(ignoreCalls)

describe("a directory is replaced by a symlink before any call to the file system", () => {
  describe.each([
    ["and put back before the next call", 1],
    ["and put back before the third call", 3],
    ["and stays replaced", Number.POSITIVE_INFINITY],
  ])("%s", (_, length) => {
    test.each(fileCalls)("%s: nothing outside is shown or changed", async (_, call) => {
      await using at = await race()
      for (let first = 0, total = 1; first < total; first++) {
        await rm(join(at.context.root, "sub"), { recursive: true })
        await putFiles(at.context.root, inside)
        await at.context.call(readTool, { filePath: file })
        let count = 0
        calls.beforeFileCall = () => {
          if (count === first) swapOut(at.swap)
          if (count === first + length) swapBack(at.swap)
          count++
        }
        const shown = await shownBy(call(at.context))
        ignoreCalls()
        total = Math.max(total, count)
        swapBack(at.swap)
        at.check(shown)
      }
    })
  })
})

describe("a directory is a symlink while ripgrep runs", () => {
  test.each<[string, (context: TestToolContext) => Promise<unknown>]>([
    ["grep", (context) => context.call(grepTool, { pattern: "tea" })],
    ["grep in a directory", (context) => context.call(grepTool, { pattern: "tea", path: "sub/deep" })],
    ["grep in a file", (context) => context.call(grepTool, { pattern: "tea", path: file })],
    ["glob", (context) => context.call(globTool, { pattern: "**/*.txt" })],
    ["glob in a directory", (context) => context.call(globTool, { pattern: "*.txt", path: "sub/deep" })],
  ])("%s: nothing outside is shown", async (_, call) => {
    await using at = await race()
    // Ripgrep runs once or twice: it lists files, and it searches them.
    for (const which of [0, 1]) {
      let count = 0
      calls.beforeProcess = () => count++ === which && swapOut(at.swap)
      calls.afterProcess = () => swapBack(at.swap)
      at.check(await shownBy(call(at.context)))
      swapBack(at.swap)
    }
  })

  test("a search without a replacement finds the same lines as before", async () => {
    await using at = await race()
    await mkdir(join(at.context.root, "sub/deep/empty"))
    const { output } = await at.context.call(grepTool, { pattern: "tea" })
    expect(output).toContain("sub/deep/a.txt:\n1: tea inside")
    expect(output).toContain("sub/deep/b.txt:\n1: tea inside")
  })
})
