import { execFile } from "node:child_process"
import { stat, symlink, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { readTool } from "../../src/tools/file/read.ts"
import { limitOutput } from "../../src/tools/output.ts"
import { toolContext } from "../support/tool-context.ts"

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`).join("\n")

test("a text has line numbers, and the output says that it is complete", async () => {
  await using context = await toolContext({ files: { "a.txt": "\ufeffone\r\ntwo\r\n" } })
  const { output, title } = await context.call(readTool, { filePath: "a.txt" })
  expect(output).toBe("00001| one\n00002| two\n(End of the file: 2 lines.)")
  expect(title).toBe("a.txt")
})

test("an empty file and an offset past the end are explained", async () => {
  await using context = await toolContext({ files: { empty: "", "a.txt": "one\n" } })
  expect((await context.call(readTool, { filePath: "empty" })).output).toBe("(The file is empty.)")
  await expect(context.call(readTool, { filePath: "a.txt", offset: 2 })).rejects.toThrow(/has 1 lines/)
})

test("a long file is read in pages to its end, each line once, and the run cuts no page", async () => {
  const lines = Array.from({ length: 4_500 }, (_, i) => `${i + 1} ${"x".repeat(i % 90)}`)
  await using context = await toolContext({ files: { long: lines.join("\n") } })
  const seen: string[] = []
  let pages = 0
  for (let offset: number | undefined = 1; offset !== undefined; pages++) {
    const { output }: { output: string } = await context.call(readTool, { filePath: "long", offset })
    expect(limitOutput(output).cut).toBe(false)
    seen.push(...[...output.matchAll(/^\d{5}\| (.*)$/gm)].map((found) => found[1]!))
    const next: string | undefined = output.match(/of 4500\. Go on with offset (\d+)\.\)$/)?.[1]
    offset = next === undefined ? undefined : Number(next)
  }
  expect(seen).toEqual(lines)
  expect(pages).toBeLessThan(12)
})

test("a page of a huge file is read without reading the rest", async () => {
  await using context = await toolContext()
  const path = join(context.root, "huge")
  await writeFile(path, `${numbered(2_000)}\n`)
  await truncate(path, 8 * 1024 ** 3)
  const before = process.memoryUsage().rss
  const { output } = await context.call(readTool, { filePath: "huge", offset: 50, limit: 2 })
  expect(output).toBe(
    "00050| line 50\n00051| line 51\n(Lines 50 to 51 of more than 2000. Go on with offset 52.)",
  )
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 ** 2)
})

test("a missing file is reported without the targets of symlinks that lead out of the workspace", async () => {
  await using context = await toolContext()
  await writeFile(join(context.home, "private"), "")
  await symlink(join(context.home, "private"), join(context.root, "link.txt"))
  const call = context.call(readTool, { filePath: "lnk.txt" })
  await expect(call).rejects.toThrow("There is no file lnk.txt. Use glob or list to find the file.")
})

test("a missing file is reported, with similar names that may be read", async () => {
  await using context = await toolContext({
    files: { "src/session.ts": "", "src/sessions.md": "", "src/session.key": "", "src/other.ts": "" },
    rules: { "*": "allow", read: { "*": "allow", "*.key": "deny" } },
  })
  const call = context.call(readTool, { filePath: "src/sesion.ts" })
  await expect(call).rejects.toThrow("There is no file src/sesion.ts. Did you mean src/session.ts?")
  await expect(context.call(readTool, { filePath: "src/session.kez" })).rejects.not.toThrow(/session\.key/)
})

test("a directory is refused with a hint to the list tool", async () => {
  await using context = await toolContext({ files: { "src/a.ts": "" } })
  await expect(context.call(readTool, { filePath: "src" })).rejects.toThrow(/directory.*list tool/)
})

test("binary files are refused, whatever their names", async () => {
  await using context = await toolContext({
    files: {
      "a.txt": Buffer.from([1, 2, 0, 3]),
      "b.txt": Buffer.alloc(1_000, 0xfe),
      "c.txt": Buffer.from("h\0i\0", "utf8"),
    },
  })
  for (const filePath of ["a.txt", "b.txt", "c.txt"]) {
    await expect(context.call(readTool, { filePath })).rejects.toThrow(/binary/)
  }
})

test("a pipe and a device are refused immediately, also behind a symlink", async () => {
  await using context = await toolContext()
  await promisify(execFile)("mkfifo", [join(context.root, "pipe")])
  await symlink("pipe", join(context.root, "link"))
  await symlink("/dev/zero", join(context.root, "zero"))
  for (const filePath of ["pipe", "link", "zero", "/dev/zero"]) {
    await expect(context.call(readTool, { filePath })).rejects.toThrow(/Only regular files can be opened/)
  }
})

test("images and PDFs are attached, recognised by their content", async () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\nrest of it", "latin1")
  await using context = await toolContext({ files: { "a.png": png, odd: Buffer.from("%PDF-1.7 \0\0") } })
  const image = await context.call(readTool, { filePath: "a.png" })
  const url = `data:image/png;base64,${png.toString("base64")}`
  expect(image.attachments).toEqual([{ type: "file", mime: "image/png", filename: "a.png", url }])
  expect((await context.call(readTool, { filePath: "odd" })).attachments?.[0]?.mime).toBe("application/pdf")
})

test("an image over 10 MB is refused", async () => {
  await using context = await toolContext({ files: { "a.png": Buffer.from("\x89PNG\r\n\x1a\n", "latin1") } })
  await truncate(join(context.root, "a.png"), 10 * 1024 ** 2 + 1)
  await expect(context.call(readTool, { filePath: "a.png" })).rejects.toThrow(/at most 10485760/)
})

test("stored output is read in pages by its hash, and needs no permission", async () => {
  await using context = await toolContext({ rules: { "*": "deny" } })
  const hash = await context.blobs.put(Buffer.from(numbered(3_000)))
  const { output } = await context.call(readTool, { filePath: `blob:${hash}`, offset: 2_999 })
  expect(output).toBe("02999| line 2999\n03000| line 3000\n(End of the file: 3000 lines.)")
  expect(context.asked).toEqual([])
  await expect(context.call(readTool, { filePath: `blob:${"0".repeat(64)}` })).rejects.toThrow(
    /no stored output/,
  )
  await expect(context.call(readTool, { filePath: "blob:../../etc/passwd" })).rejects.toThrow(/64 hex digits/)
})

test("the size and the modification time of a file are recorded when it is read", async () => {
  await using context = await toolContext({ files: { "a.txt": "one" } })
  await symlink("a.txt", join(context.root, "link"))
  await context.call(readTool, { filePath: "link" })
  const { mtimeMs, size } = await stat(join(context.root, "a.txt"))
  expect(context.reads.known(join(context.root, "a.txt"))).toEqual({ mtimeMs, size })
})

test("an aborted call ends", async () => {
  await using context = await toolContext()
  const path = join(context.root, "huge")
  await writeFile(path, `${numbered(2_000)}\n`)
  await truncate(path, 64 * 1024 ** 3)
  const call = context.call(readTool, { filePath: "huge", offset: 3_000 })
  setTimeout(() => context.abort(), 20)
  await expect(call).rejects.toThrow(/abort/i)
})
