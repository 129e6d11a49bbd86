import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import type { Tool } from "../../src/tools/tool.ts"
import { type TestToolContext, type ToolContextOptions, toolContext } from "../support/tool-context.ts"

const asks: ToolContextOptions = { rules: { "*": "allow", external_directory: "ask" } }

async function outside(options: ToolContextOptions): Promise<TestToolContext> {
  const context = await toolContext(options)
  const other = join(context.home, "other")
  await mkdir(join(other, "folder"), { recursive: true })
  await writeFile(join(other, "file"), "a secret\n")
  await symlink(join(other, "circle"), join(other, "circle"))
  return context
}

const calls: [string, Tool, (path: string) => object][] = [
  ["read", readTool, (filePath) => ({ filePath })],
  ["write", writeTool, (filePath) => ({ filePath, content: "x" })],
  ["edit", editTool, (filePath) => ({ filePath, oldString: "a", newString: "b" })],
  ["an edit that makes a file", editTool, (filePath) => ({ filePath, oldString: "", newString: "b" })],
  ["list", listTool, (path) => ({ path })],
  ["glob", globTool, (path) => ({ pattern: "*", path })],
  ["grep", grepTool, (path) => ({ pattern: "a", path })],
]

describe.each(calls)("%s", (_, tool, inputOf) => {
  test.each([
    ["the rules deny it", { rules: { "*": "allow", external_directory: "deny" } }],
    ["the person says no", { ...asks, answer: () => "reject" }],
  ] satisfies [string, ToolContextOptions][])(
    "tells nothing of what is outside if %s: not whether there is anything, nor what",
    async (_, options) => {
      await using context = await outside(options)
      const told = async (name: string) => {
        const path = join(context.home, "other", name)
        const said = await context.call(tool, inputOf(path)).then(
          () => "done",
          (error: Error) => error.message,
        )
        return said.replaceAll(name, "NAME")
      }
      const missing = await told("missing")
      expect(missing).toMatch(/^Not permitted: external_directory/)
      for (const name of ["file", "folder", "circle"]) expect(await told(name)).toBe(missing)
    },
  )
})

test("what cannot work outside is said once it is permitted to look there, and nothing else is asked", async () => {
  await using context = await outside(asks)
  const path = join(context.home, "other/file")
  await expect(context.call(writeTool, { filePath: path, content: "x" })).rejects.toThrow(/not read yet/)
  expect(context.questions.map(({ permission }) => permission)).toEqual(["external_directory"])
  expect(context.asked.map(({ permission }) => permission)).toEqual(["external_directory"])
  const circle = join(context.home, "other/circle")
  await expect(context.call(readTool, { filePath: circle })).rejects.toThrow(/circle of symlinks/)
})

test("where looking outside is allowed, what cannot work is said before anybody is asked", async () => {
  await using context = await outside({ rules: { "*": "ask", external_directory: "allow" } })
  const path = join(context.home, "other/file")
  await expect(writeTool.wants({ filePath: path, content: "x" }, context)).rejects.toThrow(/not read yet/)
})

test("of a file that the session has read, a change that cannot be made asks nobody", async () => {
  await using context = await outside(asks)
  const filePath = join(context.home, "other/file")
  await context.call(readTool, { filePath })
  const input = { filePath, oldString: "not there", newString: "x" }
  await expect(editTool.wants(input, context)).rejects.toThrow(/does not occur/)
})

test("a change outside shows the person its diff", async () => {
  await using context = await outside(asks)
  const filePath = join(context.home, "other/new")
  const [external, edit] = await writeTool.wants({ filePath, content: "line\n" }, context)
  expect(external).toMatchObject({ permission: "external_directory" })
  expect(edit).toMatchObject({ permission: "edit", patterns: [filePath] })
  expect(String(edit!.metadata!.diff)).toContain("+line")
})

test("to search a file outside is to read it", async () => {
  const rules = { "*": "allow", read: "ask", external_directory: "ask" } as const
  await using context = await outside({ rules })
  const path = join(context.home, "other/file")
  const { output } = await context.call(grepTool, { pattern: "secret", path })
  expect(output).toContain("1: a secret")
  expect(context.questions).toMatchObject([
    { permission: "external_directory", patterns: [`${path}/*`] },
    { permission: "read", patterns: [path] },
  ])
  await using strict = await outside({ rules: { ...rules, read: "deny" } })
  const denied = strict.call(grepTool, { pattern: "secret", path: join(strict.home, "other/file") })
  await expect(denied).rejects.toThrow(/Not permitted: read/)
})
