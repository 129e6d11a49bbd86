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
  ["edit that creates a file", editTool, (filePath) => ({ filePath, oldString: "", newString: "b" })],
  ["list", listTool, (path) => ({ path })],
  ["glob", globTool, (path) => ({ pattern: "*", path })],
  ["grep", grepTool, (path) => ({ pattern: "a", path })],
]

describe.each(calls)("%s", (_, tool, inputOf) => {
  test.each([
    ["the rules deny it", { rules: { "*": "allow", external_directory: "deny" } }],
    ["the person says no", { ...asks, answer: () => "reject" }],
  ] satisfies [string, ToolContextOptions][])(
    "reveals nothing about files outside if %s: neither existence nor content",
    async (_, options) => {
      await using context = await outside(options)
      const errorFor = async (name: string) => {
        const path = join(context.home, "other", name)
        const message = await context.call(tool, inputOf(path)).then(
          () => "done",
          (error: Error) => error.message,
        )
        return message.replaceAll(name, "NAME")
      }
      const missing = await errorFor("missing")
      expect(missing).toMatch(/^Not permitted: external_directory/)
      for (const name of ["file", "folder", "circle"]) expect(await errorFor(name)).toBe(missing)
    },
  )
})

test("a call that cannot work outside fails after the permission to look there, without a second question", async () => {
  await using context = await outside(asks)
  const path = join(context.home, "other/file")
  await expect(context.call(writeTool, { filePath: path, content: "x" })).rejects.toThrow(/not read yet/)
  expect(context.questions.map(({ permission }) => permission)).toEqual(["external_directory"])
  expect(context.asked.map(({ permission }) => permission)).toEqual(["external_directory"])
  const circle = join(context.home, "other/circle")
  await expect(context.call(readTool, { filePath: circle })).rejects.toThrow(/circle of symlinks/)
})

test("where looking outside is allowed, a call that cannot work fails before a question", async () => {
  await using context = await outside({ rules: { "*": "ask", external_directory: "allow" } })
  const path = join(context.home, "other/file")
  await expect(writeTool.wants({ filePath: path, content: "x" }, context)).rejects.toThrow(/not read yet/)
})

test("a change that cannot be applied to a file that the session has read fails without a question", async () => {
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

test("a search of a file outside needs the permission to read it", async () => {
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
