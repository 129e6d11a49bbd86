import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { editTool } from "../../src/tools/file/edit.ts"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { toolContext } from "../support/tool-context.ts"

test("an edit changes the file and shows the diff to the person and the model", async () => {
  await using context = await toolContext({
    files: { "a.ts": "one\ntwo\nthree\n" },
    rules: { read: "allow", edit: "ask" },
  })
  await context.call(readTool, { filePath: "a.ts" })
  const result = await context.call(editTool, { filePath: "a.ts", oldString: "two", newString: "2\n2b" })
  expect(await readFile(join(context.root, "a.ts"), "utf8")).toBe("one\n2\n2b\nthree\n")
  expect(result.output).toBe("Edited a.ts at line 2.")
  expect(result.metadata).toMatchObject({ exists: true, additions: 2, deletions: 1 })
  expect(context.questions[0]?.metadata?.diff).toContain("-two\n+2\n+2b\n")
})

test("bytes outside the edit do not change: byte order mark, CRLF, missing last line break", async () => {
  const text = "\ufeffone\r\ntwo\nthree\r\nlast"
  await using context = await toolContext({ files: { "a.ts": text } })
  await context.call(readTool, { filePath: "a.ts" })
  await context.call(editTool, { filePath: "a.ts", oldString: "one\ntwo", newString: "1\n2" })
  expect(await readFile(join(context.root, "a.ts"), "utf8")).toBe("\ufeff1\r\n2\nthree\r\nlast")
})

test("20 concurrent edits of one file are all applied", async () => {
  const names = Array.from({ length: 20 }, (_, i) => `<${i}>`)
  await using context = await toolContext({ files: { "a.txt": names.join("\n") } })
  await context.call(readTool, { filePath: "a.txt" })
  await Promise.all(
    names.map((name) =>
      context.call(editTool, { filePath: "./a.txt", oldString: name, newString: `${name} done` }),
    ),
  )
  expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe(
    names.map((name) => `${name} done`).join("\n"),
  )
})

test("a file that was not read, or that changed since, is refused before the person is asked", async () => {
  await using context = await toolContext({
    files: { "a.ts": "one\n" },
    rules: { read: "allow", edit: "ask" },
  })
  const edit = () => context.call(editTool, { filePath: "a.ts", oldString: "one", newString: "two" })
  await expect(edit()).rejects.toThrow(/Read it first/)
  await context.call(readTool, { filePath: "a.ts" })
  await writeFile(join(context.root, "a.ts"), "one more\n")
  await expect(edit()).rejects.toThrow(/Read it again/)
  expect(context.questions).toEqual([])
  expect(await readFile(join(context.root, "a.ts"), "utf8")).toBe("one more\n")
})

test("a file that was written in this session need not be read", async () => {
  await using context = await toolContext()
  await context.call(writeTool, { filePath: "a.ts", content: "one\n" })
  await context.call(editTool, { filePath: "a.ts", oldString: "one", newString: "two" })
  await context.call(editTool, { filePath: "a.ts", oldString: "two", newString: "three" })
  expect(await readFile(join(context.root, "a.ts"), "utf8")).toBe("three\n")
})

test("an empty oldString creates a new file and never replaces one", async () => {
  await using context = await toolContext({ files: { "b.ts": "" } })
  const make = (filePath: string) => context.call(editTool, { filePath, oldString: "", newString: "x\n" })
  await make("dir/a.ts")
  expect(await readFile(join(context.root, "dir/a.ts"), "utf8")).toBe("x\n")
  await expect(make("dir/a.ts")).rejects.toThrow(/already exists/)
  await context.call(readTool, { filePath: "b.ts" })
  await expect(make("b.ts")).rejects.toThrow(/already exists/)
})

test("an edit that cannot be applied is refused without a question", async () => {
  await using context = await toolContext({
    files: {
      "a.ts": "one\n  two\none\n",
      "latin.txt": Buffer.from("caf\xe9, and much more text\n", "latin1"),
    },
    rules: { read: "allow", edit: "ask" },
  })
  for (const filePath of ["a.ts", "latin.txt"]) await context.call(readTool, { filePath })
  const edit = (filePath: string, oldString: string, newString = "x") =>
    expect(context.call(editTool, { filePath, oldString, newString })).rejects
  await edit("a.ts", "x", "x").toThrow(/are the same/)
  await edit("a.ts", "one").toThrow(/2 times in a\.ts, at lines 1, 3/)
  await edit("a.ts", "two \n one").toThrow(/at line 2 if white space is ignored/)
  await edit("missing.ts", "one").toThrow(/no file missing\.ts/)
  await edit("latin.txt", "much").toThrow(/not UTF-8/)
  expect(context.questions).toEqual([])
})
