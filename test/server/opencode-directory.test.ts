import { execFile } from "node:child_process"
import { link, mkdir, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { bearer, data, opencodeScene } from "../support/server/opencode-scene.ts"

const key = "sk-live-0123456789abcdef"

test("agents, config, providers, path and project have the shapes that the OpenCode client expects", async () => {
  await using scene = await opencodeScene({
    git: true,
    files: { "sub/a.txt": "a\n" },
    config: {
      agent: { scout: { description: "Looks", mode: "subagent", model: "scripted/x", steps: 3 } },
      command: { greet: { template: "Hello $1", description: "Greets" } },
      permission: { edit: "ask" },
    },
  })
  const { client, directory } = scene
  const agents = await data(client.app.agents({ directory }))
  expect(agents.find(({ name }) => name === "build")).toMatchObject({ mode: "primary", native: true })
  expect(agents.find(({ name }) => name === "scout")).toMatchObject({
    mode: "subagent",
    native: false,
    model: { providerID: "scripted", modelID: "x" },
    steps: 3,
  })
  const config = await data(client.config.get({ directory }))
  expect(config).toMatchObject({
    model: "scripted/m",
    share: "manual",
    permission: { edit: "ask" },
    agent: { scout: { description: "Looks", steps: 3 } },
    command: { greet: { template: "Hello $1", description: "Greets" } },
  })
  const listed = await data(client.config.providers({ directory }))
  expect(listed.default).toMatchObject({ scripted: "m", demo: "guide" })
  expect(listed.providers.find(({ id }) => id === "demo")?.models.guide).toMatchObject({ providerID: "demo" })

  const sub = join(directory, "sub")
  expect(await data(client.path.get({ directory: sub }))).toMatchObject({
    directory: sub,
    worktree: directory,
  })
  const project = await data(client.project.current({ directory: sub }))
  expect(project).toMatchObject({ worktree: directory, vcs: "git", id: expect.stringMatching(/^prj_/) })
})

test("the config, the providers and the agents contain no key, header or environment value", async () => {
  const env = {
    PATH: process.env.PATH,
    HOME: "/nowhere",
    OPENAI_API_KEY: key,
    MY_SECRET: "filled-in-value-42",
  }
  const header = "a-header-value-99"
  await using scene = await opencodeScene({
    env,
    config: {
      provider: {
        mine: {
          npm: "@ai-sdk/openai-compatible",
          name: "Mine",
          options: {
            baseURL: "https://user:pa55word@example.org/v1",
            apiKey: "qz7x1",
            headers: { "x-trace": header },
            nested: { token: "deep-down-7" },
          },
          models: {
            small: { options: { secret: "of-a-model" }, variants: { x: { secret: "of-a-variant" } } },
          },
        },
      },
      agent: {
        build: { prompt: `Use ${key} and {env:MY_SECRET}.`, options: { mine: { apiKey: "of-an-agent" } } },
      },
      command: { leak: { template: `curl -H ${key}` } },
    },
  })
  const paths = ["/config", "/config/providers", "/agent"]
  const answers = await Promise.all(
    paths.map(async (path) => (await fetch(`${scene.url}${path}`, { headers: bearer })).text()),
  )
  expect(answers[0]).toContain('"mine"')
  expect(answers[1]).toContain("OPENAI_API_KEY")
  const secrets = [key, "filled-in-value-42", header, "pa55word", "qz7x1", "deep-down-7"]
  for (const secret of [...secrets, "of-a-model", "of-a-variant", "of-an-agent"]) {
    expect(
      paths.filter((_, index) => answers[index]!.includes(secret)),
      secret,
    ).toEqual([])
  }
})

test("files are found, listed and read, except files that an agent would need permission for", async () => {
  await using scene = await opencodeScene({
    git: true,
    files: {
      "src/main.ts": "export const answer = 42\n",
      "src/other.ts": "export const question = 'answer'\n",
      "docs/readme.md": "The answer\r\n",
      ".env": "PASSWORD=answer\n",
      "keys/id_rsa": "answer\n",
      "dist/out.js": "answer\n",
      "private/notes.md": "answer\n",
      ".gitignore": "dist/\n*.log\nvoid/\n",
      "a.log": "answer\n",
    },
    config: { permission: { read: { "private/*": "deny" } } },
  })
  const { client, directory } = scene
  await mkdir(join(directory, "empty"))
  await mkdir(join(directory, "void"))
  await writeFile(join(directory, "dot.png"), Buffer.from("\x89PNG\r\n\x1a\n\0\0", "latin1"))

  const found = await data(client.find.text({ directory, pattern: "ans\\w+" }))
  expect(found.map(({ path }) => path.text).sort()).toEqual(["docs/readme.md", "src/main.ts", "src/other.ts"])
  const match = found.find(({ path }) => path.text === "src/main.ts")
  expect(match).toMatchObject({
    lines: { text: "export const answer = 42\n" },
    line_number: 1,
    submatches: [{ match: { text: "answer" }, start: 13, end: 19 }],
  })
  const bad = await client.find.text({ directory, pattern: "(" })
  expect(bad.response.status).toBe(400)

  expect(await data(client.find.files({ directory, query: "main" }))).toEqual(["src/main.ts"])
  expect(await data(client.find.files({ directory, query: "smn", type: "file" }))).toEqual(["src/main.ts"])
  expect(await data(client.find.files({ directory, query: "src", type: "directory" }))).toEqual(["src/"])
  const all = await data(client.find.files({ directory, query: "", dirs: "false" }))
  expect(all.sort()).toEqual([".gitignore", "docs/readme.md", "dot.png", "src/main.ts", "src/other.ts"])
  expect(await data(client.find.files({ directory, query: "", limit: 2 }))).toHaveLength(2)

  const root = await data(client.file.list({ directory, path: "" }))
  const names = root.map(({ name, ignored }) => `${name}${ignored ? " (ignored)" : ""}`)
  expect(names).toContain("dist (ignored)")
  expect(names).toContain("a.log (ignored)")
  expect(names).toEqual(expect.arrayContaining(["src", "docs", "keys", ".gitignore"]))
  expect(names).not.toContain(".env")
  expect(names).not.toContain(".git")
  expect(names).toContain("empty")
  expect(names).toContain("void (ignored)")
  const dist = await data(client.file.list({ directory, path: "dist" }))
  expect(dist).toMatchObject([{ name: "out.js", ignored: true }])
  const src = await data(client.file.list({ directory, path: "src" }))
  expect(src[0]).toEqual({
    name: "main.ts",
    path: "src/main.ts",
    absolute: join(directory, "src/main.ts"),
    type: "file",
    ignored: false,
  })
  expect(await data(client.file.list({ directory, path: "keys" }))).toEqual([])

  const text = await data(client.file.read({ directory, path: "src/main.ts" }))
  expect(text).toEqual({ type: "text", content: "export const answer = 42\n" })
  const image = await data(client.file.read({ directory, path: "dot.png" }))
  expect(image).toMatchObject({ type: "binary", encoding: "base64", mimeType: "image/png" })
  const status = async (path: string) => (await client.file.read({ directory, path })).response.status
  expect(await status("nothing.txt")).toBe(404)
  expect(await status("src")).toBe(400)
  for (const path of [".env", "keys/id_rsa", "private/notes.md"]) expect(await status(path)).toBe(403)
})

test("no path leads out of the project, to the token, to a named pipe, or to an endless file", async () => {
  await using scene = await opencodeScene({ files: { "in/a.txt": "a\n", ".env": "PASSWORD=x\n" } })
  const { client, directory } = scene
  const outside = join(directory, "..", "outside.txt")
  await writeFile(outside, "secret\n")
  await writeFile(join(scene.data, "token"), "the token\n")
  await symlink(outside, join(directory, "in/link.txt"))
  await symlink(join(directory, ".."), join(directory, "in/up"))
  await symlink(join(directory, ".env"), join(directory, "in/plain.txt"))
  await link(join(scene.data, "token"), join(directory, "in/hard.txt"))
  await promisify(execFile)("mkfifo", [join(directory, "in/pipe")])
  await writeFile(join(directory, "in/large.txt"), Buffer.alloc(5 * 1024 * 1024 + 1, "a"))
  const read = async (path: string) => (await client.file.read({ directory, path })).response.status
  const paths = [
    "../outside.txt",
    outside,
    "in/link.txt",
    "in/up/outside.txt",
    "/etc/passwd",
    "/proc/self/environ",
  ]
  for (const path of paths) expect(await read(path), path).toBe(403)
  expect(await read("in/plain.txt")).toBe(403)
  expect(await read("in/hard.txt")).toBe(403)
  expect(await read("in/pipe")).toBe(400)
  expect(await read("in/large.txt")).toBe(400)
  expect(await read("in/a\0.txt")).toBe(400)
  expect((await client.file.list({ directory, path: ".." })).response.status).toBe(403)
  expect((await client.file.list({ directory, path: "in/up" })).response.status).toBe(403)
  const listed = await data(client.file.list({ directory, path: "in" }))
  expect(listed.map(({ name }) => name)).toEqual(["a.txt", "large.txt"])
  expect(await data(client.find.text({ directory, pattern: "secret|token|PASSWORD" }))).toEqual([])
  expect(await data(client.find.files({ directory, query: "outside" }))).toEqual([])
})
