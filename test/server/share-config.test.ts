import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { createServer } from "../../src/server/index.ts"
import { runScene, until } from "../support/run-scene.ts"
import { type HttpScene, httpScene } from "../support/server/http-scene.ts"
import { followShared, readShared, share, textsOf } from "../support/server/share-scene.ts"

describe('share: "auto"', () => {
  test("shares each new session, whichever route makes it, but no child session", async () => {
    await using scene = await httpScene({ config: { share: "auto" }, script: () => ({ text: "hi" }) })
    const made = await scene.json<Session>("/sessions", { json: { title: "Mine" } })
    expect(made.share!.url).toMatch(new RegExp(`^${scene.url}/share/[\\w-]{22,}$`))
    expect(made.share!.include).toEqual({ reasoning: false, tools: false })
    const current = await scene.json<Session>("/sessions/current", { json: {} })
    const opencode = await scene.json<{ share?: { url: string } }>("/session", { json: {} })
    const fork = await scene.json<Session>(`/sessions/${made.id}/fork`, { json: {} })
    const urls = [made, current, opencode, fork].map((session) => session.share!.url)
    expect(new Set(urls).size).toBe(4)
    for (const url of urls) expect((await fetch(url)).status).toBe(200)
    const child = await scene.json<Session>("/sessions", { json: { parentID: made.id } })
    expect(child.share).toBeUndefined()
  })

  test("does not share a session from before the server started, nor a session of a server without an address", async () => {
    await using scene = await runScene({ config: { share: "auto" } })
    const early = await scene.stemma.sessions.create()
    await using server = createServer(scene.stemma, {})
    const made = await server.app.fetch(new Request("http://local/sessions", { method: "POST" }))
    expect(((await made.json()) as Session).share).toBeUndefined()
    expect((await early.info()).share).toBeUndefined()
  })

  test("is ignored in the config of a project that is not trusted", async () => {
    await using scene = await httpScene()
    const directory = join(scene.directory, "theirs")
    await mkdir(join(directory, ".stemma"), { recursive: true })
    await writeFile(join(directory, "stemma.json"), JSON.stringify({ share: "auto" }))
    await writeFile(join(directory, ".stemma", "stemma.json"), JSON.stringify({ share: "auto" }))
    const made = await scene.json<Session>("/sessions", { json: { directory } })
    expect(made.share).toBeUndefined()
    const { notices } = await scene.json<{ notices: string[] }>(
      `/projects/current?directory=${encodeURIComponent(directory)}`,
    )
    expect(notices.join("\n")).toMatch(/share/)
  })
})

describe('share: "manual"', () => {
  test("shares only on request, and a fork of a shared session is not shared", async () => {
    await using scene = await httpScene({ config: { share: "manual" } })
    const made = await scene.json<Session>("/sessions", { json: {} })
    expect(made.share).toBeUndefined()
    await share(scene, made.id)
    const fork = await scene.json<Session>(`/sessions/${made.id}/fork`, { json: {} })
    expect(fork.share).toBeUndefined()
  })
})

describe('share: "disabled"', () => {
  test("refuses to share, and does not show sessions that were shared before", async () => {
    await using scene = await httpScene()
    const made = await scene.json<Session>("/sessions", { json: { title: "Before" } })
    const path = await share(scene, made.id)
    using reader = await followShared(scene, path)
    await until("it is followed", () => reader.isSynced)
    const strict = await scene.again({ config: { share: "disabled" } })
    await using server = createServer(strict, { publicUrl: "https://stemma.example.org" })
    const at = (path: string, method = "GET") =>
      server.app.fetch(new Request(`http://local${path}`, { method }))
    expect((await at(path)).status).toBe(404)
    const refused = await at(`/sessions/${made.id}/share`, "POST")
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({
      code: "denied",
      message: expect.stringContaining("disabled"),
    })
    expect((await readShared(scene, path)).session.title).toBe("Before")
  })
})

describe("a project's config", () => {
  const key = "swordfishswordfishes"

  async function sharedIn(scene: HttpScene, config: object) {
    const directory = join(scene.directory, "own")
    const write = (next: object) => writeFile(join(directory, "stemma.json"), JSON.stringify(next))
    await mkdir(directory)
    await write(config)
    await scene.stemma.trust({ directory })
    const { id } = await scene.json<Session>("/sessions", { json: { directory, title: "Mine" } })
    await scene.json(`/sessions/${id}/append`, {
      json: { role: "user", parts: [{ type: "text", text: `the endpoint takes ${key}` }] },
    })
    return { id, directory, write }
  }

  const settled = (scene: HttpScene, directory: string) =>
    until("the change was read", async () => {
      const { loaded } = await (await scene.stemma.project(directory)).setup()
      return loaded.project.trusted === false
    })

  test("still masks its keys after its trust ended", async () => {
    await using scene = await httpScene()
    const provider = { local: { options: { apiKey: key } } }
    const { id, directory, write } = await sharedIn(scene, { provider })
    const path = await share(scene, id)
    const shown = async () => textsOf((await readShared(scene, path)).messages).join()
    expect(await shown()).toBe("the endpoint takes [redacted]")
    await write({ provider, title: false })
    await settled(scene, directory)
    expect(await shown()).toBe("the endpoint takes [redacted]")
    // A key that was removed from the file is still a secret.
    await write({ title: false })
    await settled(scene, directory)
    expect(await shown()).toBe("the endpoint takes [redacted]")
  })

  test("affects new readers immediately after a change, even while other readers follow", async () => {
    await using scene = await httpScene()
    const { id, write } = await sharedIn(scene, {})
    const path = await share(scene, id)
    using early = await followShared(scene, path)
    await until("it is followed", () => early.isSynced)
    expect(early.raw).toContain(key)
    await write({ provider: { local: { options: { apiKey: key } } } })
    await until("it is read", async () => !JSON.stringify(await readShared(scene, path)).includes(key))
    using late = await followShared(scene, path)
    await until("it is followed", () => late.isSynced)
    expect(late.raw).not.toContain(key)
    expect(late.raw).toContain("[redacted]")
  })

  test("masks keys that were replaced before the first reader opened the page", async () => {
    await using scene = await httpScene()
    const { id, directory, write } = await sharedIn(scene, {
      provider: { local: { options: { apiKey: key } } },
    })
    const path = await share(scene, id)
    await (await scene.stemma.project(directory)).setup()
    await write({ provider: { local: { options: { apiKey: "anotherkeyaltogether" } } } })
    await settled(scene, directory)
    expect(textsOf((await readShared(scene, path)).messages).join()).toBe("the endpoint takes [redacted]")
  })

  test("with a temporary syntax error does not end the shared page", async () => {
    await using scene = await httpScene()
    const { id, directory, write } = await sharedIn(scene, {})
    const path = await share(scene, id)
    using reader = await followShared(scene, path)
    await until("it is followed", () => reader.isSynced)
    const say = (text: string) =>
      scene.json(`/sessions/${id}/append`, { json: { role: "user", parts: [{ type: "text", text }] } })
    await writeFile(join(directory, "stemma.json"), '{ "share": ')
    await until("it is hidden", async () => (await fetch(`${scene.url}${path}/data`)).status === 404)
    await say("said while it was broken")
    await write({})
    await until("it is received", () => reader.raw.includes("said while it was broken"))
    expect(reader.types).not.toContain("ended")
  })

  test('with share "disabled" is respected even if it is not trusted, invalid, or gone with its directory', async () => {
    await using scene = await httpScene()
    const { id, directory, write } = await sharedIn(scene, {})
    const path = await share(scene, id)
    const status = async () => (await fetch(`${scene.url}${path}/data`)).status
    expect(await status()).toBe(200)
    await write({ share: "disabled", title: false })
    await until("it is read", async () => (await status()) === 404)
    await writeFile(join(directory, "stemma.json"), '{ "share": "disabled", ')
    await settled(scene, directory)
    expect(await status()).toBe(404)
    await write({})
    await until("it is shared again", async () => (await status()) === 200)
    await rename(directory, `${directory}-elsewhere`)
    await until("it is gone", async () => (await status()) === 404)
    await rename(`${directory}-elsewhere`, directory)
    await until("it is back", async () => (await status()) === 200)
  })
})
