import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { createServer } from "../../src/server/index.ts"
import { runScene, until } from "../support/run-scene.ts"
import { httpScene } from "../support/server/http-scene.ts"
import { followShared, readShared, share } from "../support/server/share-scene.ts"

describe('share: "auto"', () => {
  test("shares each new session, by whichever route it is made, but none that works for another", async () => {
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

  test("leaves a session alone that was there before, and one that nobody could come to", async () => {
    await using scene = await runScene({ config: { share: "auto" } })
    const early = await scene.stemma.sessions.create()
    await using server = createServer(scene.stemma, {})
    const made = await server.app.fetch(new Request("http://local/sessions", { method: "POST" }))
    expect(((await made.json()) as Session).share).toBeUndefined()
    expect((await early.info()).share).toBeUndefined()
  })

  test("is not for a project to say that nobody trusts", async () => {
    await using scene = await httpScene()
    const directory = join(scene.directory, "theirs")
    await mkdir(join(directory, ".stemma"), { recursive: true })
    await writeFile(join(directory, "stemma.json"), JSON.stringify({ share: "auto" }))
    await writeFile(join(directory, ".stemma", "stemma.json"), JSON.stringify({ share: "auto" }))
    const made = await scene.json<Session>("/sessions", { json: { directory } })
    expect(made.share).toBeUndefined()
    const { notices } = await scene.json<{ notices: string[] }>(
      `/project?directory=${encodeURIComponent(directory)}`,
    )
    expect(notices.join("\n")).toMatch(/share/)
  })
})

describe('share: "manual"', () => {
  test("shares what is asked for, and a fork of it is not shared", async () => {
    await using scene = await httpScene({ config: { share: "manual" } })
    const made = await scene.json<Session>("/sessions", { json: {} })
    expect(made.share).toBeUndefined()
    await share(scene, made.id)
    const fork = await scene.json<Session>(`/sessions/${made.id}/fork`, { json: {} })
    expect(fork.share).toBeUndefined()
  })
})

describe('share: "disabled"', () => {
  test("refuses to share, and shows nothing that was shared before", async () => {
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
