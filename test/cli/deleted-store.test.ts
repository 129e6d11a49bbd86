import { existsSync } from "node:fs"
import { copyFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { expect, it } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { openStemma } from "../../src/index.ts"
import { createServer } from "../../src/server/index.ts"
import { until } from "../support/run-scene.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { home } from "./program-process.ts"

/** Time to notice, and time for a busy machine. */
const noticeMs = 1000 + 2000

const file = { type: "file" as const, mime: "text/plain", url: "data:text/plain;base64,aGVsbG8=" }

const losses: { what: string; lose: (database: string) => Promise<unknown>; names: RegExp }[] = [
  {
    what: "deleted",
    lose: (database) => Promise.all(["", "-wal", "-shm"].map((end) => rm(database + end))),
    names: /stemma\.db was deleted, moved or replaced/,
  },
  {
    what: "replaced by a copy",
    lose: async (database) => {
      await copyFile(database, `${database}.copy`)
      await rename(`${database}.copy`, database)
    },
    names: /stemma\.db was deleted, moved or replaced/,
  },
  {
    what: "left without its write-ahead log",
    lose: (database) => rm(`${database}-wal`),
    names: /stemma\.db-wal was deleted, moved or replaced/,
  },
  {
    what: "left without its blobs",
    lose: (database) => rm(`${database}-blobs`, { recursive: true }),
    names: /stemma\.db-blobs was deleted, moved or replaced/,
  },
]

it.each(losses)(
  "a server whose database is $what refuses prompts within a second and is not ready",
  async ({ lose, names }) => {
    await using directory = await home()
    const server = await directory.serve()
    const client = createClient({ baseUrl: server.url, token: server.token })
    const session = client.session((await client.sessions.create()).id)
    await session.ask({ parts: [{ type: "text", text: "hi" }, file] })
    expect((await server.fetch("/readyz")).status).toBe(200)
    await lose(join(directory.data, "stemma.db"))
    const lostMs = performance.now()
    await until("the server is not ready", async () => (await server.fetch("/readyz")).status === 503)
    expect(performance.now() - lostMs).toBeLessThan(noticeMs)
    expect(await (await fetch(`${server.url}readyz`)).text()).not.toContain(directory.path)
    await expect(session.prompt({ text: "again" })).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(names),
    })
    await expect(client.sessions.create()).rejects.toMatchObject({ code: "unavailable" })
    expect((await server.fetch("/healthz")).status).toBe(200)
  },
)

it("a server whose database was moved away and back accepts prompts again", async () => {
  await using directory = await home()
  const server = await directory.serve()
  const client = createClient({ baseUrl: server.url, token: server.token })
  const { id } = await client.sessions.create()
  const database = join(directory.data, "stemma.db")
  const status = async () => (await server.fetch("/readyz")).status
  await rename(database, `${database}.away`)
  await until("the server is not ready", async () => (await status()) === 503)
  await rename(`${database}.away`, database)
  await until("the server is ready", async () => (await status()) === 200)
  await client.session(id).ask({ text: "hi" })
  expect((await client.session(id).history()).items.length).toBeGreaterThan(1)
})

it("a server whose directory of JSON lines is deleted or replaced refuses prompts and is not ready", async () => {
  for (const lose of [rm, rename]) {
    await using directory = await temporaryDirectory()
    const sessions = join(directory.path, "sessions")
    await using stemma = await openStemma({
      directory: directory.path,
      data: join(directory.path, "data"),
      store: { driver: "jsonl", directory: sessions },
      config: { model: "demo/guide", title: false },
      env: {},
    })
    const token = "a-token-of-this-test"
    const server = createServer(stemma, { token })
    await using _closing = { [Symbol.asyncDispose]: () => server.close() }
    const { port } = await server.listen({ port: 0 })
    const call = (path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      })
    const session = await stemma.sessions.create()
    await session.prompt("hi")
    expect((await call("/readyz")).status).toBe(200)
    if (lose === rm) await rm(sessions, { recursive: true })
    else await rename(sessions, `${sessions}.away`)
    await until("the server is not ready", async () => (await call("/readyz")).status === 503)
    const prompt = () =>
      call(`/sessions/${session.id}/prompt`, { method: "POST", body: JSON.stringify({ text: "again" }) })
    expect((await prompt()).status).toBe(503)
    await until("the error says why", async () =>
      (await (await prompt()).text()).includes("was deleted, moved or replaced"),
    )
    const parts = [
      file,
      { type: "text" as const, text: "An attachment does not create the directory again." },
    ]
    await expect(session.prompt(parts)).rejects.toMatchObject({ code: "unavailable" })
    expect(existsSync(sessions)).toBe(false)
  }
})
