import { expect, test } from "vitest"
import { type RunSceneOptions, until } from "../support/run-scene.ts"
import { httpScene } from "../support/server/http-scene.ts"

interface Told {
  type: string
  properties: Record<string, unknown>
}

/** What a reader had been given when it looked. A reader in this process sees each byte as soon as it is written. */
async function tellingScene(options: RunSceneOptions = {}) {
  const scene = await httpScene(options)
  const { app } = scene.server
  const url = "http://localhost"
  const send = (path: string, json: object) =>
    app.fetch(
      new Request(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(json),
      }),
    )
  const listen = async (path: string) => {
    const reader = (await app.fetch(new Request(url + path))).body!.getReader()
    let text = ""
    let isOver = false
    const pending = (async () => {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += Buffer.from(next.value).toString()
      }
    })()
    pending.catch(() => {}).finally(() => (isOver = true))
    const events = () =>
      text.split("\n\n").flatMap((block): Told[] => {
        const line = block.split("\n").find((one) => one.startsWith("data: "))
        if (!line) return []
        const data = JSON.parse(line.slice("data: ".length)) as Told | { payload: Told }
        return ["payload" in data ? data.payload : data]
      })
    await until("the stream is live", () => isOver || events().some(({ type }) => type === "synced"))
    const leave = () => reader.cancel()
    return { events, leave }
  }
  return { scene, send, listen, [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose]() }
}

const streams = (id: string) => ["/event", "/global/event", `/sessions/${id}/event`]
const parts = [{ type: "text", text: "Hello" }]

/** The calls that wait for what they cause, and the type of the last event of each. */
const calls: { name: string; path: string; body: object; last: string }[] = [
  { name: "the prompt of OpenCode", path: "/session/ID/message", body: { parts }, last: "session.idle" },
  {
    name: "a prompt without reply",
    path: "/session/ID/message",
    body: { noReply: true, parts },
    last: "message.part.updated",
  },
  {
    name: "the command of OpenCode",
    path: "/session/ID/command",
    body: { command: "say", arguments: "this" },
    last: "session.idle",
  },
  {
    name: "the shell of OpenCode",
    path: "/session/ID/shell",
    body: { command: "true" },
    last: "session.idle",
  },
  { name: "the summary of OpenCode", path: "/session/ID/summarize", body: {}, last: "session.idle" },
  { name: "init of OpenCode", path: "/session/ID/init", body: {}, last: "session.idle" },
  { name: "ask", path: "/sessions/ID/ask", body: { text: "Hello" }, last: "session.idle" },
  { name: "shell", path: "/sessions/ID/shell", body: { command: "true" }, last: "session.idle" },
]

test.for(calls)("$name answers after every stream was given the last event", async ({ path, body, last }) => {
  const config = { command: { say: { template: "Say $1" } } }
  await using telling = await tellingScene({ config, script: () => ({ text: ["One", " two", " three."] }) })
  const { id } = await telling.scene.stemma.sessions.create()
  for (let round = 0; round < 5; round++) {
    const readers = await Promise.all(streams(id).map((one) => telling.listen(one)))
    const answer = await telling.send(path.replace("ID", id), body)
    await answer.json()
    for (const [at, reader] of readers.entries()) {
      const types = reader.events().map(({ type }) => type)
      expect(types, `${streams(id)[at]}, round ${round}`).toContain(last)
    }
    await Promise.all(readers.map((reader) => reader.leave()))
  }
})

test("a revert and its undoing answer after every stream was given the changed session", async () => {
  await using telling = await tellingScene({ script: () => ({ text: "One." }) })
  const session = await telling.scene.stemma.sessions.create()
  await session.prompt("Hello")
  const messageID = (await session.messages())[0]!.message.id
  for (const root of ["session", "sessions"]) {
    for (const path of ["revert", "unrevert"]) {
      const readers = await Promise.all(streams(session.id).map((one) => telling.listen(one)))
      const answer = await telling.send(
        `/${root}/${session.id}/${path}`,
        path === "revert" ? { messageID } : {},
      )
      expect(answer.status).toBe(200)
      await answer.json()
      for (const reader of readers) {
        const updated = reader.events().findLast(({ type }) => type === "session.updated")
        const info = updated?.properties.info as { revert?: unknown } | undefined
        expect(info?.revert !== undefined, `${path} by ${root}`).toBe(path === "revert")
      }
      await Promise.all(readers.map((reader) => reader.leave()))
    }
  }
})

test("a reader that does not read delays no answer", async () => {
  await using telling = await tellingScene({ script: () => ({ text: "x".repeat(100_000) }) })
  const { id } = await telling.scene.stemma.sessions.create()
  const stalled = await telling.scene.server.app.fetch(new Request("http://localhost/event"))
  await (await telling.send(`/session/${id}/message`, { parts })).json()
  await new Promise((resolve) => setTimeout(resolve, 300))
  // A busy machine may delay one of the prompts by more than the second that a stalled reader would cost.
  const timesMs: number[] = []
  for (let round = 0; round < 3; round++) {
    const startMs = performance.now()
    await (await telling.send(`/session/${id}/message`, { parts })).json()
    timesMs.push(performance.now() - startMs)
  }
  expect(Math.min(...timesMs)).toBeLessThan(900)
  await stalled.body!.cancel()
})
