import { readdirSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { HeldDirectory } from "../../src/system/held-directory.ts"
import { holdDirectory } from "../../src/system/hold-directory.ts"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import { openSnapshots } from "../../src/workspace/snapshot/snapshots.ts"
import { keepSwapping } from "../support/directory-swap.ts"
import { repeats } from "../support/seed.ts"
import { putFiles, type TestToolContext, toolContext } from "../support/tool-context.ts"

const secrets = Object.fromEntries(
  ["a", "b", "c", "d", "SECRET"].map((name) => [`deep/${name}.txt`, "tea SECRET\n"]),
)

interface Swapping {
  context: TestToolContext
  /** The directory `sub/deep` of the workspace, wherever it is. */
  deep: HeldDirectory
  /** Calls a tool and remembers what it showed. Calls fail while the directory is away. */
  call(...args: Parameters<TestToolContext["call"]>): Promise<void>
}

/** Works while another thread replaces `sub` by a symlink again and again, then checks what was shown and changed. */
async function whileSwapping(count: number, work: (at: Swapping, round: number) => Promise<unknown>) {
  await using context = await toolContext({ rules: { "*": "allow", external_directory: "deny" } })
  const outside = join(context.home, "outside")
  await putFiles(outside, secrets)
  await putFiles(context.root, {
    "sub/deep/a.txt": "tea inside\n",
    "sub/deep/b.txt": "tea inside\n",
    "sub/deep/c.txt": "tea inside\n",
  })
  const shown: string[] = []
  let done = 0
  const call: Swapping["call"] = async (tool, input) => {
    try {
      shown.push(JSON.stringify(await context.call(tool, input)))
      done++
    } catch (error) {
      shown.push(String(error))
    }
  }
  {
    await using deep = await holdDirectory(join(context.root, "sub/deep"))
    await using _ = await keepSwapping({ directory: join(context.root, "sub"), outside })
    for (let round = 0; round < count; round++) await work({ context, deep, call }, round)
  }
  expect(shown.filter((one) => one.includes("SECRET"))).toEqual([])
  expect(namesBelow(outside)).toEqual(["deep", ...Object.keys(secrets)].sort())
  for (const name of Object.keys(secrets))
    expect(readFileSync(join(outside, name), "utf8")).toBe("tea SECRET\n")
  expect(namesBelow(context.root).filter((name) => /\.stemma-|\.moved$/.test(name))).toEqual([])
  return { done }
}

function namesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" }).sort()
}

test("files are written and read in the workspace only, while a directory is replaced again and again", async () => {
  const { done } = await whileSwapping(repeats({ test: 200, soak: 20_000 }), async ({ call }, round) => {
    await call(writeTool, { filePath: `sub/deep/new/${round}.txt`, content: "new\n" })
    await call(readTool, { filePath: "sub/deep/a.txt" })
    await call(editTool, { filePath: "sub/deep/a.txt", oldString: "tea", newString: "tea tea" })
    await call(readTool, { filePath: "sub/deep/SECRE.txt" })
    await call(listTool, { path: "sub" })
  })
  expect(done).toBeGreaterThan(0)
})

test("searches show lines and names of the workspace only, while a directory is replaced again and again", async () => {
  const { done } = await whileSwapping(repeats({ test: 40, soak: 4_000 }), async ({ call }) => {
    await call(grepTool, { pattern: "tea" })
    await call(grepTool, { pattern: "tea", path: "sub/deep" })
    await call(globTool, { pattern: "*.txt" })
    await call(globTool, { pattern: "*.txt", path: "sub/deep" })
  })
  expect(done).toBeGreaterThan(0)
})

test("snapshots are taken and restored in the workspace only, while a directory is replaced again and again", async () => {
  await whileSwapping(repeats({ test: 8, soak: 400 }), async ({ context, deep }, round) => {
    const { root } = context
    const snapshots = openSnapshots({ root, gitDirectory: join(context.home, "data/snapshots") })
    // The content is as long as that of the files outside: git reads as many bytes as the file of the project has.
    await writeFile(deep.entry("d.txt"), `tea ${round}`.padEnd(10, ".").slice(0, 10))
    const taken = await snapshots.take()
    await writeFile(deep.entry("a.txt"), "coffee\n")
    await writeFile(deep.entry("d.txt"), "coffee\n")
    const later = await snapshots.take()
    if (taken === undefined || later === undefined) return
    expect(JSON.stringify(await snapshots.diff(taken, later))).not.toContain("SECRET")
    await snapshots.restore(taken, ["sub/deep/a.txt", "sub/deep/b.txt", "sub/deep/d.txt", "sub/deep/e.txt"])
  })
})
