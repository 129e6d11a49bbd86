import { describe, expect, test } from "vitest"
import type { Session } from "../../src/protocol/index.ts"
import { until } from "../support/run-scene.ts"
import { type HttpScene, httpScene, type Message, messagesOf } from "../support/server/http-scene.ts"

interface Reader extends Disposable {
  response: Response
  messages: Message[]
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>
}

async function read(scene: HttpScene, path: string, headers: Record<string, string> = {}): Promise<Reader> {
  const leaving = new AbortController()
  const response = await scene.call(path, { headers, signal: leaving.signal })
  const messages: Message[] = []
  const ended = (async () => {
    for await (const message of messagesOf(response)) messages.push(message)
  })()
  return { response, messages, ended, [Symbol.dispose]: () => leaving.abort() }
}

const isSynced = ({ data }: Message) => data.type === "synced"

/** The last status of a session that a reader received. */
function statusOf({ messages }: Pick<Reader, "messages">, id: string): string | undefined {
  const statuses = messages.flatMap(({ data }) =>
    data.type === "session.status"
      ? [data.properties as { sessionID: string; status: { type: string } }]
      : [],
  )
  return statuses.findLast(({ sessionID }) => sessionID === id)?.status.type
}

async function newSession(scene: HttpScene): Promise<string> {
  return (await scene.json<Session>("/sessions", { json: {} })).id
}

describe("a stream", () => {
  test("begins with `synced` and the session's status, then sends events", async () => {
    await using scene = await httpScene({ script: [{ text: "hello there" }] })
    const id = await newSession(scene)
    using reader = await read(scene, `/session/${id}/event`)
    expect(reader.response.headers.get("content-type")).toContain("text/event-stream")
    await until("it is synced", () => reader.messages.length >= 2)
    expect(reader.messages.slice(0, 2).map(({ data }) => data)).toEqual([
      { type: "synced", properties: { cursor: reader.messages[0]!.id } },
      { type: "session.status", properties: { sessionID: id, status: { type: "idle" } } },
    ])
    await scene.json(`/sessions/${id}/ask`, { json: { text: "hi" } })
    await until("it is idle", () => reader.messages.some(({ data }) => data.type === "session.idle"))
    const types = reader.messages.map(({ data }) => data.type)
    expect(types).toContain("message.part.updated")
    expect(types.at(-1)).toBe("session.idle")
  })

  test.each(["since", "Last-Event-ID"])("continues from a cursor given by %s", async (way) => {
    await using scene = await httpScene({ script: () => ({ text: "hello" }) })
    const id = await newSession(scene)
    let cursor = ""
    {
      using first = await read(scene, `/session/${id}/event`)
      await until("it is synced", () => first.messages.some(isSynced))
      await scene.json(`/sessions/${id}/ask`, { json: { text: "one" } })
      await until("it is statuses", () => first.messages.some(({ data }) => data.type === "session.idle"))
      cursor = first.messages.findLast((message) => message.id !== undefined)!.id!
    }
    await scene.json(`/sessions/${id}/ask`, { json: { text: "two" } })
    const path = `/session/${id}/event`
    using second =
      way === "since"
        ? await read(scene, `${path}?since=${cursor}`)
        : await read(scene, path, { "last-event-id": cursor })
    await until("it is synced", () => second.messages.some(isSynced))
    const missed = JSON.stringify(second.messages)
    expect(missed).toContain('"text":"two"')
    expect(missed).not.toContain('"text":"one"')
  })

  test("with a cursor of another store is refused before it begins", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    const response = await scene.call(`/session/${id}/event?since=abc.12`)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: "invalid" })
    expect((await scene.call("/session/ses_01m7hs74p92jm4nc0h9276zvya/event")).status).toBe(404)
  })

  test("of a tree contains the sessions below; a stream of a session does not", async () => {
    await using scene = await httpScene({ script: () => ({ text: "hello" }) })
    const id = await newSession(scene)
    const child = (await scene.json<Session>("/sessions", { json: { parentID: id } })).id
    using own = await read(scene, `/session/${id}/event`)
    using tree = await read(scene, `/session/${id}/event?tree=1`)
    await until("both are synced", () => own.messages.some(isSynced) && tree.messages.some(isSynced))
    await scene.json(`/sessions/${child}/ask`, { json: { text: "hi" } })
    await until("it is statuses", () => tree.messages.some(({ data }) => data.type === "session.idle"))
    expect(JSON.stringify(own.messages)).not.toContain(child)
  })

  test.each(["/event", "/event?format=events", "/event?format=rows"])(
    "%s sends a reader that reconnects the status of sessions that became idle in between",
    async (path) => {
      const held = Promise.withResolvers<void>()
      await using scene = await httpScene({
        script: async () => {
          await held.promise
          return { text: "hello" }
        },
      })
      const id = await newSession(scene)
      const quiet = await newSession(scene)
      let cursor = ""
      {
        using first = await read(scene, path)
        await until("it is synced", () => first.messages.some(isSynced))
        // A reader without a cursor gets no status of idle sessions.
        await scene.json(`/sessions/${id}/prompt`, { json: { text: "go" } })
        await until("it is busy", () => statusOf(first, id) === "busy")
        expect(statusOf(first, quiet)).toBeUndefined()
        cursor = first.messages.findLast((message) => message.id !== undefined)!.id!
      }
      held.resolve()
      await until("it is idle", () => scene.stemma.status(id).type === "idle")
      // The status is sent even if the reader has all rows and missed only the change to idle.
      for (const since of [cursor, await scene.stemma.store.cursor()]) {
        using second = await read(scene, path, { "last-event-id": since })
        await until("it is statuses", () => statusOf(second, id) === "idle")
        const at = second.messages.findIndex(isSynced)
        expect(second.messages[at + 1]?.data.type).toBe("session.status")
      }
    },
  )

  test.each(["/event", "/event?format=rows", "tree"])(
    "%s reports a run that began while its reader was still catching up",
    async (path) => {
      await using scene = await httpScene({ script: [{ text: "Never.", delayMs: Number.POSITIVE_INFINITY }] })
      const session = await scene.stemma.sessions.create()
      const other = await newSession(scene)
      const since = await scene.stemma.store.cursor()
      // More than one page of the store, and more than the buffer of an unread stream.
      const parts = Array.from({ length: 300 }, (_, at) => ({
        type: "text" as const,
        text: `${at} `.repeat(50),
      }))
      for (let at = 0; at < 4; at++) await session.append({ role: "user", parts })
      const asked = path === "tree" ? `/sessions/${session.id}/event?tree=1` : path
      const request = new Request(`http://x${asked}`, { headers: { "last-event-id": since } })
      const response = await scene.server.app.fetch(request)
      const target =
        path === "tree" ? (await scene.stemma.sessions.create({ parentID: session.id })).id : other
      await scene.json(`/sessions/${target}/prompt`, { json: { text: "go" } })
      await until("it runs", () => scene.stemma.status(target).type === "busy")
      const reader = { messages: [] as Message[] }
      const reading = (async () => {
        for await (const message of messagesOf(response)) reader.messages.push(message)
      })()
      await until(
        "it is statuses",
        () => reader.messages.some(isSynced) && statusOf(reader, target) === "busy",
      )
      await scene.server.close()
      await reading
    },
  )

  test("of rows contains rows and live text, each row with a cursor", async () => {
    const words = Array.from({ length: 30 }, (_, at) => `w${at} `)
    await using scene = await httpScene({ script: [{ text: words, deltaDelayMs: 10 }] })
    const id = await newSession(scene)
    using reader = await read(scene, `/sessions/${id}/event?format=rows`)
    await until("it is synced", () => reader.messages.some(isSynced))
    await scene.json(`/sessions/${id}/ask`, { json: { text: "count" } })
    await until("it is idle", () => reader.messages.some(({ data }) => data.type === "session.idle"))
    const rows = reader.messages.filter(({ data }) => "version" in data)
    expect(new Set(rows.map(({ data }) => data.type))).toEqual(
      new Set(["session", "inbox", "message", "part", "piece"]),
    )
    expect(rows.every((row) => row.id !== undefined)).toBe(true)
    const deltas = reader.messages.filter(({ data }) => data.type === "message.part.delta")
    expect(deltas.length).toBeGreaterThan(20)
    expect(deltas.every((delta) => delta.id === undefined)).toBe(true)
  })

  test("sends a heartbeat when nothing happens", async () => {
    await using scene = await httpScene({ server: { heartbeatMs: 40 } })
    const id = await newSession(scene)
    const response = await scene.call(`/session/${id}/event`)
    let text = ""
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk
      if (text.split("\n").filter((line) => line === ":").length >= 3) break
    }
    expect(text).toMatch(/^retry: \d+\n\n/)
  })

  test("ends when the server closes, so that readers reconnect", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    using reader = await read(scene, `/session/${id}/event`)
    await until("it is synced", () => reader.messages.some(isSynced))
    await scene.server.close()
    await reader.ended
  })

  test("that its reader has left does not delay the end of the server", async () => {
    // Three tries, because a busy machine may stop this process for longer than the wait that must not be there.
    for (let attempt = 1; ; attempt++) {
      await using scene = await httpScene()
      const id = await newSession(scene)
      const response = await scene.server.app.fetch(new Request(`http://x/sessions/${id}/event`))
      await response.body!.cancel()
      const start = performance.now()
      await scene.server.close()
      const ms = performance.now() - start
      if (ms < 150) return
      if (attempt === 3) expect(ms).toBeLessThan(150)
    }
  })

  test("that its reader closed is unsubscribed", async () => {
    await using scene = await httpScene()
    const id = await newSession(scene)
    for (let at = 0; at < 20; at++) {
      using reader = await read(scene, `/session/${id}/event`)
      await until("it is synced", () => reader.messages.some(isSynced))
    }
    const text = async () => (await scene.call("/metrics")).text()
    await until("none is left", async () => /^stemma_event_subscribers 0$/m.test(await text()))
  })

  test("works in process as it does over the network", async () => {
    await using scene = await httpScene({ script: [{ text: "hello" }] })
    const id = await newSession(scene)
    const response = await scene.server.app.fetch(new Request(`http://x/session/${id}/event`))
    const seen: string[] = []
    const reading = (async () => {
      for await (const { data } of messagesOf(response)) {
        seen.push(data.type)
        if (data.type === "session.idle") break
      }
    })()
    await until("it is synced", () => seen.includes("synced"))
    await scene.json(`/sessions/${id}/ask`, { json: { text: "hi" } })
    await reading
  })
})

describe("the presence of a person", () => {
  const script = [
    { calls: [{ tool: "bash", input: { command: "echo hi", description: "say hi" } }] },
    { text: "done" },
  ]
  const config = { permission: { bash: "ask" as const } }

  test("lasts while a reader follows the session", async () => {
    await using scene = await httpScene({ script, config })
    const id = await newSession(scene)
    using reader = await read(scene, `/session/${id}/event`)
    await until("it is synced", () => reader.messages.some(isSynced))
    await scene.json(`/sessions/${id}/prompt`, { json: { text: "run it" } })
    await until("it asks", () => reader.messages.some(({ data }) => data.type === "permission.asked"))
    const asked = reader.messages.find(({ data }) => data.type === "permission.asked")!
    const { request } = asked.data.properties as { request: { id: string } }
    await scene.call(`/sessions/${id}/questions/${request.id}`, { json: { reply: "once" } })
    await until("it is done", () => JSON.stringify(reader.messages).includes('"text":"done"'))
  })

  test("is necessary for a question: without it the question is refused immediately", async () => {
    await using scene = await httpScene({ script, config })
    const id = await newSession(scene)
    const reply = await scene.json<{ text: string }>(`/sessions/${id}/ask`, { json: { text: "run it" } })
    expect(reply.text).toBe("done")
    expect(JSON.stringify(await scene.json(`/sessions/${id}/history`))).toContain("no person is there to ask")
  })
})

test("a slow answer keeps its connection alive with white space", async () => {
  await using scene = await httpScene({
    script: [{ text: "after a while", delayMs: 300 }],
    server: { heartbeatMs: 30 },
  })
  const id = await newSession(scene)
  const response = await scene.call(`/sessions/${id}/ask`, { json: { text: "hi" } })
  const text = await response.text()
  expect(text).toMatch(/^ {3,}\{/)
  expect(JSON.parse(text)).toMatchObject({ text: "after a while" })
})
