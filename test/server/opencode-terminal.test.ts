import { execFile } from "node:child_process"
import { chmod, mkdir, rm, stat, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import type { GlobalEvent } from "@opencode-ai/sdk/v2"
import { describe, expect, test } from "vitest"
import { type RunSceneOptions, until } from "../support/run-scene.ts"
import { bearer, data, type OpencodeScene, opencodeScene, watch } from "../support/server/opencode-scene.ts"

const text = (words: string) => [{ type: "text" as const, text: words }]

async function git(directory: string, ...args: string[]): Promise<void> {
  const user = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
  await promisify(execFile)("git", [...user, ...args], { cwd: directory })
}

/** A project with one commit on the branch `trunk`. */
async function repository(options: RunSceneOptions = {}): Promise<OpencodeScene> {
  const scene = await opencodeScene({ ...options, git: true })
  await git(scene.directory, "checkout", "-q", "-b", "trunk")
  await git(scene.directory, "add", ".")
  await git(scene.directory, "commit", "-q", "--allow-empty", "-m", "first")
  return scene
}

/** The events of all directories, as they come. */
async function watchAll({ client }: OpencodeScene) {
  const over = new AbortController()
  const { stream } = await client.global.event({ signal: over.signal })
  const events: GlobalEvent[] = []
  const reading = (async () => {
    for await (const event of stream) events.push(event)
  })()
  reading.catch(() => {})
  await until("the stream is open", () => events.length > 0)
  const find = (type: string) => events.find(({ payload }) => payload.type === type)
  return { events, find, [Symbol.dispose]: () => over.abort() }
}

describe("providers and models", () => {
  test("only providers that can answer are listed, the provider of the default model first", async () => {
    await using scene = await opencodeScene({
      env: { OPENAI_API_KEY: "sk-planted" },
      config: {
        model: "mine/b",
        provider: {
          mine: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: "http://127.0.0.1:1/v1", apiKey: "planted-key" },
            models: { a: {}, b: {} },
          },
        },
      },
    })
    const { client } = scene
    const { providers, default: defaults } = await data(client.config.providers())
    expect(providers[0]).toMatchObject({ id: "mine", source: "config" })
    expect(defaults.mine).toBe("b")
    const ids = providers.map(({ id }) => id)
    expect(ids).toEqual(expect.arrayContaining(["mine", "openai", "demo"]))
    // Without a key, or without models: nothing runs on the ports of the local providers.
    for (const id of ["anthropic", "ollama", "lmstudio", "vllm"]) expect(ids).not.toContain(id)
    for (const { models } of providers) expect(Object.keys(models).length).toBeGreaterThan(0)

    const list = await data(client.provider.list())
    expect(list).toEqual({ all: providers, default: defaults, connected: ids })
    expect(await data(client.provider.auth())).toEqual({})
    const located = await data(client.v2.model.list())
    expect(located.data.filter(({ providerID }) => providerID === "mine").map(({ id }) => id)).toEqual([
      "a",
      "b",
    ])
    expect((await data(client.v2.provider.list())).data.map(({ id }) => id)).toEqual(ids)
    expect(JSON.stringify([list, located])).not.toMatch(/planted/)
  })

  test("the config names the model that is used if none is named, also a model that no list has", async () => {
    await using scene = await opencodeScene()
    const { model } = await data(scene.client.config.get())
    expect(model).toBe("scripted/m")
    const { providers, default: defaults } = await data(scene.client.config.providers())
    expect(providers[0]).toMatchObject({ id: "scripted", models: { m: { id: "m", providerID: "scripted" } } })
    expect(defaults.scripted).toBe("m")
  })

  test("a running Ollama is listed with the models that it reports", async () => {
    const answer = { models: [{ name: "llama9:8b" }, { name: "qwen:1b" }] }
    const fetch = async () => Response.json(answer)
    await using scene = await opencodeScene({ fetch: fetch as typeof globalThis.fetch })
    const { providers } = await data(scene.client.config.providers())
    const ollama = providers.find(({ id }) => id === "ollama")
    expect(Object.keys(ollama?.models ?? {})).toEqual(["llama9:8b", "qwen:1b"])
  })

  test("every agent has a description", async () => {
    await using scene = await opencodeScene()
    for (const { name, description } of await data(scene.client.app.agents())) {
      expect(description, name).toMatch(/\w+ \w+/)
    }
  })
})

describe("the project", () => {
  test("commands and skills are listed, without secrets", async () => {
    await using scene = await opencodeScene({
      config: {
        command: { ship: { template: "Ship $1 to $ARGUMENTS with planted-key", description: "Ships it" } },
        provider: { mine: { npm: "@ai-sdk/openai-compatible", options: { apiKey: "planted-key" } } },
      },
      files: {
        ".stemma/skills/dance/SKILL.md": "---\nname: dance\ndescription: How to dance\n---\nStep left.\n",
      },
    })
    const { client, stemma, directory } = scene
    await stemma.trust({ directory })
    const ship = (await data(client.command.list())).find(({ name }) => name === "ship")
    expect(ship).toMatchObject({ description: "Ships it", source: "command", hints: ["$1", "$ARGUMENTS"] })
    expect(ship?.template).toMatch(/^Ship \$1 to \$ARGUMENTS with/)
    expect(ship?.template).not.toContain("planted-key")
    const { data: commands, location } = await data(client.v2.command.list())
    expect(commands.find(({ name }) => name === "ship")?.description).toBe("Ships it")
    expect(location).toMatchObject({ directory, project: { directory } })
    const skills = await data(client.app.skills())
    expect(skills).toMatchObject([{ name: "dance", description: "How to dance", content: "Step left." }])
    expect((await data(client.v2.skill.list())).data).toEqual(skills)
  })

  test("the project is listed with its directory, and no other project has one", async () => {
    await using scene = await repository()
    const { client, directory } = scene
    const current = await data(client.project.current())
    expect(await data(client.project.list())).toEqual([current])
    const directories = await data(client.project.directories({ projectID: current.id }))
    expect(directories).toEqual([{ directory }])
    expect((await client.project.directories({ projectID: "other" })).response.status).toBe(404)
  })

  test("features that Stemma does not have are empty", async () => {
    await using scene = await opencodeScene()
    const { client } = scene
    for (const call of [client.question.list(), client.lsp.status(), client.formatter.status()])
      expect(await data<unknown>(call)).toEqual([])
    expect(await data(client.mcp.status())).toEqual({})
    expect(await data(client.experimental.workspace.list())).toEqual([])
    expect(await data(client.experimental.resource.list())).toEqual({})
    expect(await data(client.experimental.capabilities.get())).toEqual({ backgroundSubagents: false })
    expect((await data(client.v2.integration.list())).data).toEqual([])
    expect((await data(client.global.health())).healthy).toBe(true)
  })

  test("files are found by name below /api, except secrets and files outside", async () => {
    await using scene = await opencodeScene({
      files: { "src/app.ts": "a", "src/.env": "KEY=1", "outside.md": "x" },
    })
    const { client, directory } = scene
    await symlink("/etc", join(directory, "src", "etc"))
    const find = async (query: string, type?: "file" | "directory") =>
      (await data(client.v2.fs.find({ query, ...(type && { type }) }))).data
    expect(await find("app")).toEqual([{ path: "src/app.ts", type: "file" }])
    expect(await find("src", "directory")).toEqual([{ path: "src/", type: "directory" }])
    expect(await find("env")).toEqual([])
    expect(await find("passwd")).toEqual([])
    const other = await client.v2.location.get({ location: { directory: "relative" } })
    expect(other.response.status).toBe(400)
  })
})

describe("git", () => {
  test("the branch is read, also detached, packed and without a commit", async () => {
    await using scene = await repository()
    const { client, directory } = scene
    expect(await data(client.vcs.get())).toEqual({ branch: "trunk" })
    await git(directory, "branch", "main")
    await git(directory, "pack-refs", "--all")
    expect(await data(client.vcs.get())).toEqual({ branch: "trunk", default_branch: "main" })
    await git(directory, "checkout", "-q", "--detach")
    expect(await data(client.vcs.get())).toEqual({ default_branch: "main" })
    await using empty = await opencodeScene({ git: true })
    expect((await data(empty.client.vcs.get())).branch).toMatch(/main|master/)
    expect(await data(empty.client.vcs.diff({ mode: "git" }))).toEqual([])
    await using none = await opencodeScene()
    expect(await data(none.client.vcs.get())).toEqual({})
    expect(await data(none.client.vcs.diff({ mode: "git" }))).toEqual([])
  })

  test("the diff shows what changed since the last commit, or since the branch began", async () => {
    await using scene = await repository({
      files: { "a.txt": "one\ntwo\n", "gone.txt": "x\n", "same.txt": "s\n" },
    })
    const { client, directory } = scene
    await git(directory, "branch", "main")
    await writeFile(join(directory, "branch.txt"), "committed\n")
    await git(directory, "add", ".")
    await git(directory, "commit", "-q", "-m", "second")
    await writeFile(join(directory, "a.txt"), "one\n2\n")
    await writeFile(join(directory, "new.txt"), "new\n")
    await rm(join(directory, "gone.txt"))
    const diff = async (mode: "git" | "branch") =>
      new Map((await data(client.vcs.diff({ mode }))).map((one) => [one.file, one]))
    const working = await diff("git")
    expect([...working.keys()].sort()).toEqual(["a.txt", "gone.txt", "new.txt"])
    expect(working.get("a.txt")).toMatchObject({ additions: 1, deletions: 1, status: "modified" })
    expect(working.get("a.txt")?.patch).toContain("-two\n+2\n")
    expect(working.get("new.txt")).toMatchObject({ additions: 1, deletions: 0, status: "added" })
    expect(working.get("gone.txt")).toMatchObject({ additions: 0, deletions: 1, status: "deleted" })
    expect([...(await diff("branch")).keys()].sort()).toEqual(["a.txt", "branch.txt", "gone.txt", "new.txt"])
  })

  test("the diff is bounded: a thousand files, and no patch of a file that is too large", async () => {
    await using scene = await repository({ files: { "a.txt": "a\n" } })
    const { client, directory } = scene
    await mkdir(join(directory, "many"))
    const names = Array.from({ length: 1100 }, (_, at) => `many/${String(at).padStart(4, "0")}.txt`)
    await Promise.all(names.map((name) => writeFile(join(directory, name), "x\n")))
    await writeFile(join(directory, "a.txt"), "long line\n".repeat(60_000))
    const diff = await data(client.vcs.diff({ mode: "git" }))
    expect(diff).toHaveLength(1000)
    expect(diff.find(({ file }) => file === "a.txt")).toMatchObject({ additions: 60_000, deletions: 1 })
    expect(diff.find(({ file }) => file === "a.txt")).not.toHaveProperty("patch")
    expect(diff.filter(({ patch }) => patch?.includes("+x\n"))).toHaveLength(999)
  })

  test("the diff shows no secret file, and masks keys", async () => {
    await using scene = await repository({
      files: { "a.txt": "a\n" },
      config: {
        provider: { mine: { npm: "@ai-sdk/openai-compatible", options: { apiKey: "planted-key-1" } } },
      },
    })
    await writeFile(join(scene.directory, ".env"), "SECRET=planted-value\n")
    await writeFile(join(scene.directory, "a.txt"), "key planted-key-1\n")
    const diff = await data(scene.client.vcs.diff({ mode: "git" }))
    expect(diff.map(({ file }) => file)).toEqual(["a.txt"])
    expect(JSON.stringify(diff)).not.toMatch(/planted/)
  })

  test("a hostile repository runs no program, and shows no file from outside", async () => {
    await using scene = await repository({
      files: { "a.txt": "a\n", ".gitattributes": "* filter=evil diff=evil\n" },
    })
    const { client, directory } = scene
    const ran = join(directory, "..", "ran")
    const evil = join(directory, "evil.sh")
    await writeFile(evil, `#!/bin/sh\ntouch ${ran}\ncat\n`)
    await chmod(evil, 0o755)
    for (const setting of [
      "filter.evil.clean",
      "filter.evil.process",
      "diff.evil.command",
      "diff.evil.textconv",
    ])
      await git(directory, "config", setting, evil)
    for (const setting of ["core.fsmonitor", "core.hooksPath", "diff.external", "core.sshCommand"])
      await git(directory, "config", setting, evil)
    await mkdir(join(directory, "node_modules", ".bin"), { recursive: true })
    await symlink(evil, join(directory, "node_modules", ".bin", "git"))
    await writeFile(join(directory, "a.txt"), "changed\n")
    await rm(ran, { force: true })
    expect((await data(client.vcs.diff({ mode: "git" }))).map(({ file }) => file)).toContain("a.txt")
    expect(await data(client.vcs.get())).toMatchObject({ branch: "trunk" })
    await expect(stat(ran)).rejects.toThrow()

    for (const head of [
      "ref: refs/heads/../../../secret",
      "ref: /etc/passwd",
      "ref: refs/heads/\u001b[2J",
      "x".repeat(9999),
    ]) {
      await writeFile(join(directory, ".git", "HEAD"), head)
      expect(await data(client.vcs.get()), head.slice(0, 40)).toEqual({})
      expect(await data(client.vcs.diff({ mode: "git" }))).toEqual([])
    }
    await rm(join(directory, ".git", "HEAD"))
    await symlink("/etc/passwd", join(directory, ".git", "HEAD"))
    expect(await data(client.vcs.get())).toEqual({})
  })
})

describe("events of all directories", () => {
  test("each event has its directory and project around the event of one directory", async () => {
    await using scene = await opencodeScene({ files: { "sub/a.txt": "a" }, script: () => ({ text: "Yes." }) })
    const { client, directory } = scene
    using all = await watchAll(scene)
    expect(all.events[0]).toMatchObject({ directory: "global", payload: { type: "server.connected" } })
    const below = join(directory, "sub")
    const { id, projectID } = await data(client.session.create({ directory: below }))
    using watched = await watch(client, { directory: below })
    await data(client.session.prompt({ sessionID: id, parts: text("Hello") }))
    await until("it is idle", () => all.find("session.idle") !== undefined)
    const own = all.events.filter(
      ({ payload }) => payload.type !== "server.connected" && !isAboutStream(payload),
    )
    for (const event of own) expect(event).toMatchObject({ directory: below, project: projectID })
    const types = (payloads: readonly { type: string }[]) =>
      payloads.map(({ type }) => type).filter((type) => type.startsWith("message."))
    await watched.next("session.idle")
    expect(types(own.map(({ payload }) => payload))).toEqual(types(watched.events))
    await data(client.session.delete({ sessionID: id }))
    await until("it is deleted", () => all.find("session.deleted") !== undefined)
    expect(all.find("session.deleted")).toMatchObject({ directory: below })
  })

  test("a client without the token, or a page of another origin, gets nothing", async () => {
    await using scene = await opencodeScene()
    const paths = [
      "/global/event",
      "/global/health",
      "/provider",
      "/vcs",
      "/vcs/diff?mode=git",
      "/command",
      "/skill",
    ]
    for (const path of [
      ...paths,
      "/project",
      "/api/location",
      "/api/fs/find?query=a",
      "/lsp",
      "/experimental/console",
    ]) {
      expect((await fetch(scene.url + path)).status, path).toBe(401)
      const headers = { ...bearer, origin: "https://evil.example" }
      expect((await fetch(scene.url + path, { headers })).status, path).toBe(403)
    }
  })
})

function isAboutStream(payload: { type: string }): boolean {
  return payload.type === "synced" || payload.type === "lagged"
}
