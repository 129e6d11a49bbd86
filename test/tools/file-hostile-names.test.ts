import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { globTool } from "../../src/tools/search/glob.ts"
import { grepTool } from "../../src/tools/search/grep.ts"
import { listTool } from "../../src/tools/search/list.ts"
import { toolContext } from "../support/tool-context.ts"

const hostile = "a\nb\u001b[31m\u202etxt.sh"
const shown = String.raw`"a\nb\u001b[31m\u202etxt.sh"`
const files = { [hostile]: "needle\n", "plain.txt": "needle\n", "dir\u0007/inner.txt": "x\n" }

test("list, glob and grep show a name with control characters on one line, escaped", async () => {
  await using context = await toolContext({ files })
  const list = await context.call(listTool, {})
  const [header, ...lines] = list.output.split("\n")
  expect(header).toBe("./")
  expect(lines.toSorted()).toEqual(
    [`  ${shown}`, String.raw`  "dir\u0007"/`, "    inner.txt", "  plain.txt"].toSorted(),
  )
  const glob = await context.call(globTool, { pattern: "*" })
  expect(glob.output.split("\n").toSorted()).toEqual(
    [shown, String.raw`"dir\u0007/inner.txt"`, "plain.txt"].toSorted(),
  )
  const grep = await context.call(grepTool, { pattern: "needle" })
  expect(grep.output.split("\n").toSorted()).toEqual(
    ["", "1: needle", "1: needle", `${shown}:`, "plain.txt:"].toSorted(),
  )
})

test("a file can be named by its escaped name and by its real name", async () => {
  await using context = await toolContext({ files })
  for (const filePath of [shown, hostile]) {
    const { title, output } = await context.call(readTool, { filePath })
    expect(title).toBe(shown)
    expect(output).toContain("needle")
  }
  const edited = await context.call(editTool, { filePath: shown, oldString: "needle", newString: "pin" })
  expect(edited).toMatchObject({ title: shown, output: `Edited ${shown} at line 1.` })
  expect((await context.call(grepTool, { pattern: "pin", path: shown })).output).toContain("1: pin")
  expect((await context.call(listTool, { path: String.raw`"dir\u0007"` })).output).toContain("inner.txt")
  expect(context.asked.every(({ patterns }) => !patterns.includes(shown))).toBe(true)
})

test("messages about such a file are on one line too", async () => {
  await using context = await toolContext({ files })
  const failed = (promise: Promise<unknown>) => promise.then(String, (error: Error) => error.message)
  const said = [
    await failed(context.call(readTool, { filePath: `${hostile}x` })),
    await failed(context.call(writeTool, { filePath: hostile, content: "" })),
    await failed(context.call(editTool, { filePath: `${hostile}y`, oldString: "a", newString: "b" })),
    await failed(context.call(readTool, { filePath: "dir\u0007" })),
    await failed(context.call(listTool, { path: hostile })),
  ]
  for (const one of said) expect(one).not.toMatch(/[\p{Cc}\u202e]/u)
  expect(said[0]).toContain(`Did you mean ${shown}?`)
})

test("a similar name is suggested escaped, and a similar name that may not be read is not suggested", async () => {
  await using context = await toolContext({
    rules: { "*": "allow", read: { "*": "allow", "*key*": "deny" } },
  })
  await writeFile(join(context.root, "key1"), "")
  await expect(context.call(readTool, { filePath: "kez1" })).rejects.toThrow(/Use glob or list/)
})
