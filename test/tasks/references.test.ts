import { mkdir, readFile, truncate, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { keptBytes, promptParts } from "../support/prompt-parts.ts"
import { type RunSceneOptions, runScene } from "../support/run-scene.ts"
import { shownIn } from "../support/task-script.ts"

const scene = (options: RunSceneOptions = {}) => runScene({ script: () => ({ text: "Done." }), ...options })
const png = Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1")

describe("a file", () => {
  test.each([
    ["Look at [[src/a.ts]].", "[[src/a.ts]]"],
    ["Look at @src/a.ts.", "@src/a.ts"],
    ["看看@src/a.ts，再说", "@src/a.ts"],
    ["看看@src/a.ts里面有什么", "@src/a.ts"],
    ["(@src/a.ts)", "@src/a.ts"],
  ])("%j becomes a part with its position in the text", async (text, value) => {
    await using at = await scene({ files: { "src/a.ts": "let a = 1\n" } })
    const session = await at.stemma.sessions.create()
    expect((await session.prompt(text)).text).toBe("Done.")
    const { parts, files } = await promptParts(session)
    expect(parts[0]).toMatchObject({ type: "text", text })
    const start = text.indexOf(value)
    expect(files).toMatchObject([
      {
        mime: "text/plain",
        filename: "src/a.ts",
        source: { type: "file", path: "src/a.ts", text: { value, start, end: start + value.length } },
      },
    ])
    expect((await keptBytes(at.stemma.store, files[0]!)).toString()).toBe("let a = 1\n")
    expect(at.model.requests[0]!.messages[0]!.content).toMatchObject([
      { type: "text", text },
      { type: "file", filename: "src/a.ts", mime: "text/plain" },
    ])
  })

  test("with a Chinese name is found with Chinese text behind it, and the longest name wins", async () => {
    await using at = await scene({ files: { "文档/说明.md": "one", "文档/说明.md里": "two" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("读@文档/说明.md的内容")
    const [first] = (await promptParts(session)).files
    expect(first).toMatchObject({ filename: "文档/说明.md", source: { text: { value: "@文档/说明.md" } } })
    await session.prompt("读@文档/说明.md里面的内容")
    expect((await promptParts(session)).files).toMatchObject([{ filename: "文档/说明.md里" }])
  })

  test("in double brackets is found by its whole name", async () => {
    await using at = await scene({ files: { "a b.txt": "spaces", a: "short" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("[[a b.txt]] and [[a去看看]]")
    expect((await promptParts(session)).files.map(({ filename }) => filename)).toEqual(["a b.txt"])
  })

  test("that is an image is sent as an image, whatever its extension", async () => {
    await using at = await scene()
    await writeFile(join(at.directory, "picture.txt"), png)
    const session = await at.stemma.sessions.create()
    await session.prompt("What is on @picture.txt?")
    const { files } = await promptParts(session)
    expect(files).toMatchObject([{ mime: "image/png", filename: "picture.txt" }])
    expect((await keptBytes(at.stemma.store, files[0]!)).equals(png)).toBe(true)
  })

  test("that is neither text nor image, or is too large, is left out, with the reason", async () => {
    await using at = await scene()
    await writeFile(join(at.directory, "program"), Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]))
    await writeFile(join(at.directory, "large.txt"), "x")
    await truncate(join(at.directory, "large.txt"), 20 * 1024 * 1024 + 1)
    const session = await at.stemma.sessions.create()
    expect((await session.prompt("See @program and @large.txt")).text).toBe("Done.")
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    expect(notes).toEqual([
      "@program was left out. It is neither text nor an image.",
      "@large.txt was left out. large.txt is larger than 20 MiB.",
    ])
  })

  test("that is empty is included", async () => {
    await using at = await scene({ files: { "empty.txt": "" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("See @empty.txt")
    expect((await promptParts(session)).files).toMatchObject([{ filename: "empty.txt", mime: "text/plain" }])
  })

  test("keeps the content that it had when the prompt was taken", async () => {
    await using at = await scene({ files: { "a.txt": "before" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("See @a.txt")
    await writeFile(join(at.directory, "a.txt"), "after")
    const [file] = (await promptParts(session)).files
    expect((await keptBytes(at.stemma.store, file!)).toString()).toBe("before")
  })

  test("counts as read: the model may edit it", async () => {
    await using at = await runScene({
      files: { "a.txt": "before" },
      script: [
        { calls: [{ tool: "write", input: { filePath: "a.txt", content: "after" } }] },
        { text: "Done." },
      ],
    })
    const session = await at.stemma.sessions.create()
    await session.prompt("Change @a.txt")
    expect(await readFile(join(at.directory, "a.txt"), "utf8")).toBe("after")
  })

  test("has provider keys masked, as with the read tool", async () => {
    const key = "sk-reference-0123456789abcdef"
    await using at = await scene({
      files: { "notes.txt": `the key is ${key}\n` },
      config: { provider: { other: { options: { apiKey: key } } } },
    })
    const session = await at.stemma.sessions.create()
    await session.prompt("See @notes.txt and !`cat notes.txt`")
    const { files, notes } = await promptParts(session)
    expect((await keptBytes(at.stemma.store, files[0]!)).toString()).toMatch(/^the key is /)
    expect((await keptBytes(at.stemma.store, files[0]!)).toString()).not.toContain(key)
    expect(notes.join()).not.toContain(key)
  })
})

test.each([
  ["@missing.txt [[missing]] @src [[src]] [[.]]"],
  ["me@example.com, `@a.txt` and\n```\n@a.txt !`touch ran`\n```"],
  ["\\@ @ [[]] !`` @@ ![[ ]]"],
])("%j stays text only", async (text) => {
  await using at = await scene({ files: { "a.txt": "a", "src/b.txt": "b" } })
  const session = await at.stemma.sessions.create()
  await session.prompt(text)
  expect((await promptParts(session)).parts).toMatchObject([{ type: "text", text }])
})

describe("an agent", () => {
  test.each([
    ["@explore find it", "@explore"],
    ["Let [[explore]] find it", "[[explore]]"],
    ["让@explore去看看", "@explore"],
  ])("%j becomes a part, and the model gets its meaning", async (text, value) => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    await session.prompt(text)
    const { agents, notes } = await promptParts(session)
    const start = text.indexOf(value)
    expect(agents).toMatchObject([{ name: "explore", source: { value, start, end: start + value.length } }])
    expect(notes[0]).toContain('subagent_type "explore"')
    expect(shownIn(at.model.requests)).toContain("The message names the agent explore")
  })

  test("takes precedence over a file of its name; a primary agent is no reference", async () => {
    await using at = await scene({ files: { explore: "a file", build: "another" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("@explore @build @title")
    const { agents, files } = await promptParts(session)
    expect(agents.map(({ name }) => name)).toEqual(["explore"])
    expect(files.map(({ filename }) => filename)).toEqual(["build"])
  })
})

describe("a command", () => {
  test("runs in the session's directory, and becomes its output with the exit code", async () => {
    await using at = await scene({ files: { "a.txt": "alpha\n" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("It says !`cat a.txt` and !`exit 3`.")
    const { parts, notes } = await promptParts(session)
    expect(parts[0]).toMatchObject({ text: "It says !`cat a.txt` and !`exit 3`." })
    expect(notes[0]).toBe("Output of `cat a.txt`:\nalpha\n")
    expect(notes[1]).toContain("exit code 3")
    expect(shownIn(at.model.requests)).toContain("alpha")
  })

  test("that prints more than the tool output limit is cut, and the whole output can be read", async () => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    await session.prompt("See !`seq 1 20000`")
    const [note = ""] = (await promptParts(session)).notes
    expect(note.length).toBeLessThan(60_000)
    const [, hash = ""] = /blob:([0-9a-f]{64})/.exec(note) ?? []
    expect(Buffer.from(await at.stemma.store.blobs.get(hash)).toString()).toContain("\n20000\n")
  })

  test("that prints characters that no store keeps is accepted", async () => {
    await using at = await scene()
    const session = await at.stemma.sessions.create()
    expect((await session.prompt("See !`printf 'a\\0b\\377c'`")).text).toBe("Done.")
    expect((await promptParts(session)).notes[0]).toMatch(/^Output of [^\0]*a.*b.*c/s)
  })
})

test("a reference that occurs twice is resolved once", async () => {
  await using at = await scene({ files: { "a.txt": "a" } })
  const session = await at.stemma.sessions.create()
  await session.prompt([
    { type: "text", text: "@a.txt @a.txt !`echo x >> ran; cat ran` !`echo x >> ran; cat ran`" },
    { type: "text", text: "@a.txt !`echo x >> ran; cat ran`" },
  ])
  const { files, notes } = await promptParts(session)
  expect(files).toHaveLength(1)
  expect(notes).toEqual([expect.stringMatching(/:\nx\n$/)])
})

test("only the first hundred references of a text are resolved", async () => {
  const names = Array.from({ length: 120 }, (_, index) => `f${index}.txt`)
  await using at = await scene({ files: Object.fromEntries(names.map((name) => [name, name])) })
  const session = await at.stemma.sessions.create()
  await session.prompt(names.map((name) => `@${name}`).join(" "))
  expect((await promptParts(session)).files.map(({ filename }) => filename)).toEqual(names.slice(0, 100))
})

test("references are searched only in the text that a person sees", async () => {
  await using at = await scene({ files: { "a.txt": "a" } })
  const session = await at.stemma.sessions.create()
  await session.prompt([
    { type: "text", text: "Hello" },
    { type: "text", text: "@a.txt !`touch synthetic`", synthetic: true },
    { type: "text", text: "@a.txt !`touch ignored`", ignored: true },
  ])
  expect((await promptParts(session)).parts).toHaveLength(3)
})

test.each([
  ["files", ["a.txt"]],
  ["none", []],
] as const)("with references: %j commands stay text", async (references, expected) => {
  await using at = await scene({ files: { "a.txt": "a" } })
  await mkdir(join(at.directory, "empty"))
  const session = await at.stemma.sessions.create()
  await session.prompt("@a.txt !`touch empty/ran`", { references })
  const { files, notes } = await promptParts(session)
  expect(files.map(({ filename }) => filename)).toEqual(expected)
  expect(notes).toEqual([])
})

test("an unknown value for `references` is refused", async () => {
  await using at = await scene()
  const session = await at.stemma.sessions.create()
  await expect(session.prompt("Hello", { references: "some" as never })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("all, files or none"),
  })
})
