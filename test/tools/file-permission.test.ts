import { mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import type { Tool } from "../../src/tools/tool.ts"
import { putFiles, type TestToolContext, toolContext } from "../support/tool-context.ts"

const wants = async <Input>(context: TestToolContext, tool: Tool<Input>, input: unknown) =>
  tool.wants(tool.input.parse(input), context)

describe("the permissions that a call needs", () => {
  test("reading needs read, with the path relative to the session's directory", async () => {
    await using context = await toolContext({ git: true, directory: "packages/web", files: { "a.txt": "x" } })
    expect(await wants(context, readTool, { filePath: "b.txt" })).toMatchObject([
      { permission: "read", patterns: ["b.txt"], always: ["b.txt"] },
    ])
    expect(await wants(context, readTool, { filePath: join(context.root, "a.txt") })).toMatchObject([
      { permission: "read", patterns: ["../../a.txt"] },
    ])
  })

  test.each([
    ["..", (context: TestToolContext) => ["../other/a.txt", context] as const],
    ["an absolute path", (context: TestToolContext) => [join(context.home, "other/a.txt"), context] as const],
    ["a symlink to a file", (context: TestToolContext) => ["file-link", context] as const],
    ["a symlink to a directory", (context: TestToolContext) => ["dir-link/a.txt", context] as const],
  ])("%s that leads outside also needs external_directory", async (_, pathOf) => {
    await using context = await toolContext()
    await outside(context)
    const [filePath] = pathOf(context)
    const path = join(context.home, "other/a.txt")
    const external = { permission: "external_directory", patterns: [join(context.home, "other/*")] }
    expect(await wants(context, readTool, { filePath })).toMatchObject([
      { ...external, always: external.patterns },
      { permission: "read", patterns: [path] },
    ])
    await context.call(readTool, { filePath })
    const input = { filePath, content: "new" }
    expect(await wants(context, writeTool, input)).toMatchObject([
      external,
      { permission: "edit", patterns: [path] },
    ])
  })

  test("a search outside needs external_directory for the directory itself", async () => {
    await using context = await toolContext()
    await outside(context)
    const expected = [{ permission: "external_directory", patterns: [join(context.home, "other/*")] }]
    for (const path of ["../other", "dir-link", join(context.home, "other")]) {
      expect(await wants(context, globTool, { pattern: "*", path })).toMatchObject(expected)
      expect(await wants(context, grepTool, { pattern: "x", path })).toMatchObject(expected)
      expect(await wants(context, listTool, { path })).toMatchObject(expected)
    }
    expect(await wants(context, globTool, { pattern: "*" })).toEqual([])
  })

  test("a search of one file needs read", async () => {
    await using context = await toolContext({
      files: { ".env": "KEY=1\n" },
      rules: { "*": "allow", read: { ".env": "deny" } },
    })
    await expect(context.call(grepTool, { pattern: "KEY", path: ".env" })).rejects.toThrow(
      /Not permitted: read/,
    )
  })

  test.each(["stemma.json", ".stemma/agents/a.md", ".git/config", ".git/hooks/pre-commit"])(
    'editing %s always asks, and "always" is not offered',
    async (filePath) => {
      await using context = await toolContext({ git: true })
      const input = filePath === ".git/config" ? undefined : { filePath, content: "x" }
      if (input === undefined) await context.call(readTool, { filePath })
      const wanted = await wants(context, writeTool, input ?? { filePath, content: "x" })
      expect(wanted).toMatchObject([{ permission: "edit", floor: "ask" }])
      expect(wanted[0]?.always).toBeUndefined()
    },
  )

  test("a name that contains a wildcard is not offered as a pattern", async () => {
    await using context = await toolContext({ files: { "src/*": "x" } })
    const [wanted] = await wants(context, readTool, { filePath: "src/*" })
    expect(wanted).toMatchObject({ permission: "read", patterns: ["src/*"] })
    expect(wanted?.always).toBeUndefined()
  })

  test("a forbidden file is refused by every tool, whatever path leads to it", async () => {
    await using context = await toolContext({
      files: { token: "t0ken", "a.txt": "t0ken" },
      forbidden: ["token"],
    })
    await symlink("token", join(context.root, "link"))
    for (const filePath of ["token", "link", "./x/../token"]) {
      await expect(context.call(readTool, { filePath })).rejects.toThrow(/never shown/)
      await expect(context.call(writeTool, { filePath, content: "" })).rejects.toThrow(/never shown/)
      await expect(context.call(editTool, { filePath, oldString: "t", newString: "" })).rejects.toThrow(
        /never shown/,
      )
      await expect(context.call(grepTool, { pattern: "t", path: filePath })).rejects.toThrow(/never shown/)
    }
    expect((await context.call(globTool, { pattern: "*" })).output).toBe("a.txt")
    expect((await context.call(grepTool, { pattern: "t0ken" })).output).toBe("a.txt:\n1: t0ken")
    expect((await context.call(listTool, {})).output).toBe("./\n  a.txt\n  link@")
  })
})

describe("a path that leads elsewhere by the time the call runs", () => {
  const swap = async (context: TestToolContext, target: string) => {
    await rm(join(context.root, "link"), { recursive: true })
    await symlink(target, join(context.root, "link"))
  }

  test("is checked again before it is read", async () => {
    await using context = await toolContext({
      files: { "a.txt": "fine" },
      rules: { read: "allow", external_directory: "deny" },
    })
    await outside(context)
    await symlink("a.txt", join(context.root, "link"))
    const input = readTool.input.parse({ filePath: "link" })
    await readTool.wants(input, context)
    await swap(context, join(context.home, "other/a.txt"))
    await expect(readTool.execute(input, context)).rejects.toThrow(/Not permitted: external_directory/)
  })

  test("is not written to", async () => {
    await using context = await toolContext({ rules: { edit: "allow", external_directory: "deny" } })
    await outside(context)
    await mkdir(join(context.root, "link"))
    const input = writeTool.input.parse({ filePath: "link/new.txt", content: "x" })
    await writeTool.wants(input, context)
    await swap(context, join(context.home, "other"))
    await expect(writeTool.execute(input, context)).rejects.toThrow(/Not permitted: external_directory/)
    await expect(readFile(join(context.home, "other/new.txt"))).rejects.toThrow(/ENOENT/)
  })

  test("is not written to if it became a file that always asks", async () => {
    await using context = await toolContext({ git: true, answer: () => "reject" })
    await mkdir(join(context.root, "link"))
    const input = writeTool.input.parse({ filePath: "link/hook", content: "x" })
    await writeTool.wants(input, context)
    await swap(context, ".git/hooks")
    await expect(writeTool.execute(input, context)).rejects.toThrow(/Not permitted: edit/)
  })

  test("is checked again in a search, also where a directory became a file", async () => {
    await using context = await toolContext({
      files: { ".env": "KEY=1" },
      rules: { read: { ".env": "deny" } },
    })
    await mkdir(join(context.root, "link"))
    const input = grepTool.input.parse({ pattern: "KEY", path: "link" })
    await grepTool.wants(input, context)
    await swap(context, ".env")
    await expect(grepTool.execute(input, context)).rejects.toThrow(/Not permitted: read/)
  })
})

test("a call that skips `wants` checks its permissions itself", async () => {
  await using context = await toolContext({ files: { "a.txt": "x" }, rules: { read: "deny" } })
  const input = readTool.input.parse({ filePath: "a.txt" })
  await expect(readTool.execute(input, context)).rejects.toThrow(/Not permitted: read/)
})

/** A directory beside the workspace, with symlinks to it from inside. */
async function outside(context: TestToolContext): Promise<void> {
  await putFiles(context.home, { "other/a.txt": "outside" })
  await symlink(join(context.home, "other/a.txt"), join(context.root, "file-link"))
  await symlink("../other", join(context.root, "dir-link"))
  await writeFile(join(context.root, "inside.txt"), "inside")
}
