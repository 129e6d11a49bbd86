import { mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, test } from "vitest"
import { partsOf, runScene } from "../support/run-scene.ts"

test("files of a prompt are stored as blobs, and the model can read them", async () => {
  await using scene = await runScene({ files: { "a.txt": "alpha\n" }, script: [{ text: "Seen." }] })
  const session = await scene.stemma.sessions.create()
  await session.prompt([
    { type: "text", text: "Look." },
    {
      type: "file",
      mime: "text/plain",
      filename: "a.txt",
      url: pathToFileURL(join(scene.directory, "a.txt")).href,
    },
    { type: "file", mime: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" },
    { type: "file", mime: "text/plain", url: "data:text/plain,hello%20there" },
  ])
  const urls = partsOf(await session.messages(), "file").map(({ url }) => url)
  expect(urls.every((url) => /^blob:[0-9a-f]{64}$/.test(url))).toBe(true)
  const request = scene.model.requests[0]!
  const texts = await Promise.all(
    urls.map(async (url) => Buffer.from(await request.readFile(url)).toString("latin1")),
  )
  expect(texts).toEqual(["alpha\n", "\x89PNG\r\n\x1a\n", "hello there"])
})

test("a file that the session may not read is refused under any name, and nothing is admitted", async () => {
  await using scene = await runScene({ files: { ".env": "KEY=1\n", "sub/x.txt": "x" } })
  const outside = join(scene.data, "outside.txt")
  await mkdir(scene.data, { recursive: true })
  await writeFile(outside, "outside")
  await symlink(outside, join(scene.directory, "link.txt"))
  const session = await scene.stemma.sessions.create()
  for (const path of [
    join(scene.directory, ".env"),
    outside,
    join(scene.directory, "link.txt"),
    "/etc/passwd",
  ]) {
    const file = { type: "file" as const, mime: "text/plain", url: pathToFileURL(path).href }
    await expect(session.prompt([file])).rejects.toMatchObject({ code: "denied" })
  }
  const missing = pathToFileURL(join(scene.directory, "missing.txt")).href
  await expect(session.prompt([{ type: "file", mime: "text/plain", url: missing }])).rejects.toMatchObject({
    code: "not_found",
  })
  expect(await scene.stemma.store.inbox(session.id)).toEqual([])
})

test("a file: URL in an imported history shows the model no file of this machine", async () => {
  await using scene = await runScene({ script: [{ text: "Fine." }] })
  const session = await scene.stemma.sessions.create()
  await session.append({
    role: "user",
    parts: [{ type: "file", mime: "text/plain", url: "file:///etc/passwd" }],
  })
  await session.prompt("And now?")
  await expect(scene.model.requests[0]!.readFile("file:///etc/passwd")).rejects.toMatchObject({
    code: "denied",
  })
})

test("a secret in printed output is masked, also if it arrives in two halves", async () => {
  const seen: string[] = []
  await using scene = await runScene({
    env: { PATH: process.env.PATH, HOME: "/nowhere", OPENAI_API_KEY: "sk-very-secret-key" },
    config: { provider: { openai: {} } },
    script: [
      {
        calls: [
          {
            tool: "bash",
            input: { command: "printf sk-very-; sleep 0.3; printf 'secret-key'; sleep 0.2; echo; echo end" },
          },
        ],
      },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  for await (const event of session.prompt("Go")) seen.push(JSON.stringify(event))
  const calls = seen.filter((event) => event.includes('"output"'))
  expect(calls.some((event) => event.includes("end"))).toBe(true)
  // Only the command itself contains both halves.
  for (const event of calls)
    expect(event.replaceAll(/"command":"[^"]*"|printf[^"]*/g, "")).not.toContain("sk-very-")
})
