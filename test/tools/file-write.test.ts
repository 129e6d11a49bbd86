import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { readTool } from "../../src/tools/file/read.ts"
import { writeTool } from "../../src/tools/file/write.ts"
import { toolContext } from "../support/tool-context.ts"

test("a new file is created with its directories, and the person is shown the diff", async () => {
  await using context = await toolContext({ rules: { edit: "ask" } })
  const result = await context.call(writeTool, { filePath: "a/b/c.txt", content: "one\ntwo\n" })
  const path = join(context.root, "a/b/c.txt")
  expect(await readFile(path, "utf8")).toBe("one\ntwo\n")
  expect(result.metadata).toMatchObject({ filepath: path, exists: false, additions: 2, deletions: 0 })
  expect(context.questions).toHaveLength(1)
  expect(context.questions[0]).toMatchObject({ permission: "edit", patterns: ["a/b/c.txt"] })
  expect(context.questions[0]?.metadata?.diff).toContain("+one\n+two\n")
})

test("an existing file must be read first", async () => {
  await using context = await toolContext({
    files: { "a.txt": "old\n" },
    rules: { edit: "ask", read: "allow" },
  })
  const write = () => context.call(writeTool, { filePath: "a.txt", content: "new\n" })
  await expect(write()).rejects.toThrow(/not read yet\. Read it first/)
  expect(context.questions).toEqual([])
  await context.call(readTool, { filePath: "a.txt" })
  expect((await write()).metadata).toMatchObject({ exists: true, additions: 1, deletions: 1 })
  expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe("new\n")
  await context.call(writeTool, { filePath: "a.txt", content: "newer\n" })
  expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe("newer\n")
})

test("a file that changed since it was read is not overwritten", async () => {
  await using context = await toolContext({ files: { "a.txt": "old\n" } })
  await context.call(readTool, { filePath: "a.txt" })
  await writeFile(join(context.root, "a.txt"), "theirs\n")
  const write = context.call(writeTool, { filePath: "a.txt", content: "mine\n" })
  await expect(write).rejects.toThrow(/changed since it was read\. Read it again/)
  expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe("theirs\n")
})

test("a file that changed while the person was asked is not overwritten", async () => {
  await using context = await toolContext({ files: { "a.txt": "old\n" } })
  await context.call(readTool, { filePath: "a.txt" })
  const input = writeTool.input.parse({ filePath: "a.txt", content: "mine\n" })
  await writeTool.wants(input, context)
  await utimes(join(context.root, "a.txt"), new Date(), new Date(0))
  await expect(writeTool.execute(input, context)).rejects.toThrow(/changed since it was read/)
})

test("a file that appeared while the person was asked is not overwritten", async () => {
  await using context = await toolContext()
  const input = writeTool.input.parse({ filePath: "a.txt", content: "mine\n" })
  await writeTool.wants(input, context)
  await writeFile(join(context.root, "a.txt"), "theirs\n")
  await expect(writeTool.execute(input, context)).rejects.toThrow(/not read yet/)
  expect(await readFile(join(context.root, "a.txt"), "utf8")).toBe("theirs\n")
})

test("mode and symlink are kept, the file is replaced atomically, and no temporary file is left", async () => {
  await using context = await toolContext({ files: { "bin/run": "#!/bin/sh\n" } })
  const path = join(context.root, "bin/run")
  await chmod(path, 0o755)
  await symlink("bin/run", join(context.root, "run"))
  const before = await stat(path)
  await context.call(readTool, { filePath: "run" })
  await context.call(writeTool, { filePath: "run", content: "#!/bin/bash\n" })
  expect(await readFile(path, "utf8")).toBe("#!/bin/bash\n")
  expect((await stat(path)).mode).toBe(before.mode)
  expect((await stat(path)).ino).not.toBe(before.ino)
  expect((await lstat(join(context.root, "run"))).isSymbolicLink()).toBe(true)
  expect(await readdir(join(context.root, "bin"))).toEqual(["run"])
})

test("a directory, and a file in the position of a directory, are refused with an explanation", async () => {
  await using context = await toolContext({ files: { file: "x" } })
  await mkdir(join(context.root, "folder"))
  await expect(context.call(writeTool, { filePath: "folder", content: "" })).rejects.toThrow(/is a directory/)
  const below = context.call(writeTool, { filePath: "file/a.txt", content: "" })
  await expect(below).rejects.toThrow("file/a.txt could not be written: a part of the path is a file")
  expect(await readdir(context.root)).toEqual(["file", "folder"])
})

test("of two concurrent calls that create the same file one succeeds, and the other is refused", async () => {
  await using context = await toolContext()
  const calls = ["one", "two", "three"].map((content) => {
    const input = writeTool.input.parse({ filePath: "new.txt", content })
    return writeTool
      .wants(input, context)
      .then(() => writeTool.execute(input, { ...context, reads: ledger() }))
  })
  const results = await Promise.allSettled(calls)
  expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1)
  expect(await readdir(context.root)).toEqual(["new.txt"])
})

/** The reads of another session, which has read nothing. */
function ledger() {
  return { note: () => undefined, known: () => undefined }
}
