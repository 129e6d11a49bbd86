import { describe, expect, test } from "vitest"
import { ChatEvent } from "../../src/server/panel/chat-event.ts"
import { until } from "../support/run-scene.ts"
import { expectShape } from "../support/server/expect-shape.ts"
import { type HttpScene, httpScene, type Message, messagesOf } from "../support/server/http-scene.ts"

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
)

async function chat(scene: HttpScene, body: unknown, agent = "build"): Promise<Message["data"][]> {
  const response = await scene.call(`/api/agents/${agent}/chat`, { json: body })
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  const events: Message["data"][] = []
  for await (const { data } of messagesOf(response)) {
    expectShape(ChatEvent, data, "an event of a chat")
    events.push(data)
  }
  return events
}

function textOf(events: Message["data"][]): string {
  return events.flatMap(({ type, text }) => (type === "text_delta" ? [text as string] : [])).join("")
}

interface Meta {
  id: string
  agentId: string
  title: string
  messageCount: number
  tokenEstimate: number
}

describe("a chat", () => {
  test("streams the events of the reply and ends with the session's id and its token count", async () => {
    await using scene = await httpScene({
      script: [
        {
          reasoning: "Let me look.",
          text: "I will read it.",
          calls: [{ tool: "read", input: { filePath: "a.txt" } }],
        },
        { text: "It says hello." },
      ],
      files: { "a.txt": "hello" },
    })
    const events = await chat(scene, { message: "What is in a.txt?" })
    const types = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1])
    expect(types).toEqual([
      "start",
      "thinking_delta",
      "text_delta",
      "tool_call",
      "tool_result",
      "text_delta",
      "done",
    ])
    expect(textOf(events)).toBe("I will read it.It says hello.")
    const call = events.find(({ type }) => type === "tool_call")
    expect(call).toMatchObject({ name: "read", input: { filePath: "a.txt" } })
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({ id: call!.id, isError: false })
    const done = events.at(-1)!
    expect(done.tokenEstimate).toBeGreaterThan(10)
    expect(done.sessionId).toBe(events[0]!.sessionId)
  })

  test("continues a session by its id: the server has the history", async () => {
    await using scene = await httpScene({ script: [{ text: "Noted." }, { text: "It was blue." }] })
    const first = await chat(scene, { message: "My colour is blue." })
    const sessionId = first.at(-1)!.sessionId
    const second = await chat(scene, { message: "Which colour?", sessionId })
    expect(second.at(-1)!.sessionId).toBe(sessionId)
    expect(JSON.stringify(scene.model.requests.at(-1)!.messages)).toContain("My colour is blue.")
  })

  test("refuses a history in the request", async () => {
    await using scene = await httpScene()
    const response = await scene.call("/api/agents/build/chat", { json: { message: "hi", history: [] } })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code: "invalid" })
  })

  test("finds or creates the session of an external channel, one for each agent and key", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    const message = { message: "hi", sessionKey: "telegram:group:-100123" }
    const together = await Promise.all([chat(scene, message), chat(scene, message), chat(scene, message)])
    const ids = new Set(together.map((events) => events.at(-1)!.sessionId))
    expect(ids.size).toBe(1)
    const other = await chat(scene, message, "plan")
    expect(ids.has(other.at(-1)!.sessionId)).toBe(false)
    const clash = { message: "hi", sessionKey: "another", sessionId: [...ids][0] }
    expect((await scene.call("/api/agents/build/chat", { json: clash })).status).toBe(400)
  })

  test("a channel name is plain, and not one that Stemma uses itself", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    await scene.json("/sessions/current", { json: { agent: "build", scope: "boss" } })
    for (const sessionKey of ["x\u0000y", "a\nb", "current:name:boss", "\ud800"]) {
      const response = await scene.call("/api/agents/build/chat", { json: { message: "hi", sessionKey } })
      expect([sessionKey, response.status]).toEqual([sessionKey, 400])
    }
    const path = `/api/agents/build/chat?sessionKey=${encodeURIComponent("current:name:boss")}`
    expect((await scene.call(path)).status).toBe(400)
  })

  test("an archived channel session is restored by a new message", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    const message = { message: "hi", sessionKey: "telegram:1" }
    const sessionId = (await chat(scene, message)).at(-1)!.sessionId as string
    await scene.stemma.sessions.archive(sessionId)
    expect((await chat(scene, message)).at(-1)!.sessionId).toBe(sessionId)
    expect((await scene.stemma.store.session(sessionId)).time.archived).toBeUndefined()
  })

  test("a session of another agent is not found", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    const sessionId = (await chat(scene, { message: "hi" })).at(-1)!.sessionId as string
    for (const [method, path, json] of [
      ["POST", "/api/agents/plan/chat", { message: "hi", sessionId }],
      ["GET", `/api/agents/plan/chat?sessionId=${sessionId}`, undefined],
      ["GET", `/api/agents/plan/sessions/${sessionId}`, undefined],
      ["PATCH", `/api/agents/plan/sessions/${sessionId}`, { title: "mine" }],
      ["DELETE", `/api/agents/plan/sessions/${sessionId}`, undefined],
      ["POST", "/api/agents/nobody/chat", { message: "hi" }],
      ["GET", "/api/agents/nobody/sessions", undefined],
    ] as const) {
      const response = await scene.call(path, { method, ...(json && { json }) })
      expect([path, response.status]).toEqual([path, 404])
    }
    expect((await scene.stemma.store.session(sessionId)).title).toBe("hi")
  })

  test("the context of a message is added to the system prompt of that message only", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    const first = await chat(scene, { message: "one", context: "The user is in Kyoto." })
    await chat(scene, { message: "two", sessionId: first.at(-1)!.sessionId })
    const systems = scene.model.requests.map(({ system }) => JSON.stringify(system))
    expect(systems[0]).toContain("The user is in Kyoto.")
    expect(systems[1]).not.toContain("Kyoto")
  })

  test("a message is not searched for commands or file references", async () => {
    await using scene = await httpScene({
      script: [{ text: "ok" }],
      files: { "secret.txt": "the password is swordfish" },
    })
    await chat(scene, { message: "Look at @secret.txt and !`touch made.txt`" })
    const sent = JSON.stringify(scene.model.requests[0]!.messages)
    expect(sent).toContain("!`touch made.txt`")
    expect(sent).not.toContain("swordfish")
    const { existsSync } = await import("node:fs")
    expect(existsSync(`${scene.directory}/made.txt`)).toBe(false)
  })

  test("a question in a channel chat is refused, and the answer continues", async () => {
    await using scene = await httpScene({
      config: { permission: { bash: "ask" } },
      script: [
        { calls: [{ tool: "bash", input: { command: "echo hi", description: "say hi" } }] },
        { text: "I may not." },
      ],
    })
    const events = await chat(scene, { message: "run it" })
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({ isError: true })
    expect(textOf(events)).toBe("I may not.")
  })

  test("a channel chat asks no person, even if a person is present in another client", async () => {
    await using scene = await httpScene({
      config: { permission: { bash: "ask" } },
      script: (_, n) =>
        n === 0
          ? { calls: [{ tool: "bash", input: { command: "echo hi", description: "say hi" } }] }
          : { text: "I may not." },
    })
    using _person = scene.stemma.permissions.listen()
    const events = await chat(scene, { message: "run it" })
    expect(events.find(({ type }) => type === "tool_result")).toMatchObject({ isError: true })
    expect(events.at(-1)!.type).toBe("done")
    expect(await scene.stemma.permissions.open()).toEqual([])
  })

  test("a failed model call is an event, and the chat ends", async () => {
    await using scene = await httpScene({
      script: [{ error: { kind: "refused", message: "no such model" } }],
    })
    const events = await chat(scene, { message: "hi" })
    expect(events.map(({ type }) => type)).toEqual(["start", "error", "done"])
    expect(events[1]!.message).toContain("no such model")
  })

  test("closing the request stops nothing, and the chat can be joined again from its beginning", async () => {
    const words = Array.from({ length: 60 }, (_, at) => `w${at} `)
    await using scene = await httpScene({ script: [{ text: words, deltaDelayMs: 10 }] })
    const leaving = new AbortController()
    const response = await scene.call("/api/agents/build/chat", {
      json: { message: "count" },
      signal: leaving.signal,
    })
    const sessionId = response.headers.get("x-session-id")!
    for await (const { data } of messagesOf(response)) if (data.type === "text_delta") break
    leaving.abort()
    const joined: Message["data"][] = []
    for await (const { data } of messagesOf(
      await scene.call(`/api/agents/build/chat?sessionId=${sessionId}`),
    ))
      joined.push(data)
    expect(textOf(joined)).toBe(words.join(""))
    expect(joined.at(-1)).toMatchObject({ type: "done", sessionId })
    let length = 0
    for (const { type, offset, text } of joined) {
      if (type !== "text_delta") continue
      expect(offset).toBe(length)
      length += (text as string).length
    }
  })

  test("joining a finished chat gives the last turn and ends", async () => {
    await using scene = await httpScene({ script: [{ text: "one" }, { text: "two" }] })
    const sessionId = (await chat(scene, { message: "first" })).at(-1)!.sessionId
    await chat(scene, { message: "second", sessionId })
    const joined: Message["data"][] = []
    for await (const { data } of messagesOf(
      await scene.call(`/api/agents/build/chat?sessionId=${sessionId}`),
    ))
      joined.push(data)
    expect(textOf(joined)).toBe("two")
    expect(joined.at(-1)!.type).toBe("done")
  })

  test("the text of a failed attempt is withdrawn by a `reset` event", async () => {
    await using scene = await httpScene({
      script: [
        { text: ["Hel", "lo ", "wor"], deltaDelayMs: 80, error: { kind: "server", afterDeltas: 3 } },
        { text: "Hello world" },
      ],
    })
    const events = await chat(scene, { message: "hi" })
    const said = new Map<string, string>()
    for (const { type, partId, text } of events) {
      if (type === "text_delta")
        said.set(partId as string, (said.get(partId as string) ?? "") + (text as string))
      if (type === "reset") said.delete(partId as string)
    }
    expect([...said.values()].join("")).toBe("Hello world")
  })
})

describe("images", () => {
  const webp = Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WEBPVP8 ")])
  test.each([
    ["png as a data url", `data:image/png;base64,${png.toString("base64")}`, "image/png"],
    ["png as base64", png.toString("base64"), "image/png"],
    ["png with the media type of text", `data:text/plain;base64,${png.toString("base64")}`, "image/png"],
    ["gif", Buffer.from("GIF89a....").toString("base64"), "image/gif"],
    ["jpeg", Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 0]).toString("base64"), "image/jpeg"],
    ["webp", webp.toString("base64"), "image/webp"],
    ["pdf", Buffer.from("%PDF-1.7\n").toString("base64"), "application/pdf"],
  ])("%s is accepted", async (_, image, mime) => {
    await using scene = await httpScene({ script: [{ text: "ok" }] })
    const sessionId = (await chat(scene, { message: "look", images: [image] })).at(-1)!.sessionId as string
    const [prompt] = await (await scene.stemma.sessions.get(sessionId)).messages()
    expect(prompt!.parts.find(({ type }) => type === "file")).toMatchObject({
      mime,
      url: expect.stringMatching(/^blob:/),
    })
  })

  test.each([
    ["an HTML page", Buffer.from("<script>alert(1)</script>").toString("base64")],
    ["an svg", `data:image/svg+xml;base64,${Buffer.from("<svg/>").toString("base64")}`],
    ["an elf", Buffer.from([0x7f, 0x45, 0x4c, 0x46]).toString("base64")],
    ["no base64", "data:image/png;base64,***"],
    ["a data URL without base64", "data:image/png,abc"],
    ["a file URL", "file:///etc/passwd"],
    [
      "an image of more than 10 MB",
      Buffer.concat([png, Buffer.alloc(10_000_001 - png.length)]).toString("base64"),
    ],
  ])("%s is refused and no session is created", async (_, image) => {
    await using scene = await httpScene()
    const response = await scene.call("/api/agents/build/chat", {
      json: { message: "look", images: [image] },
    })
    expect(response.status).toBe(400)
    expect((await scene.stemma.sessions.list()).items).toEqual([])
  })

  test("an image of exactly 10 MB is accepted", async () => {
    await using scene = await httpScene({ script: [{ text: "ok" }] })
    const image = Buffer.concat([png, Buffer.alloc(10_000_000 - png.length)]).toString("base64")
    expect((await chat(scene, { message: "look", images: [image] })).at(-1)!.type).toBe("done")
  })
})

describe("the sessions of an agent", () => {
  test("are listed with the fields of a list, newest first, in pages", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    for (const message of ["one", "two", "three"]) await chat(scene, { message })
    await chat(scene, { message: "another's" }, "plan")
    const page = await scene.json<{ sessions: Meta[]; next: string }>("/api/agents/build/sessions?limit=2")
    expect(page.sessions.map(({ title }) => title)).toEqual(["three", "two"])
    expect(page.sessions[0]).toMatchObject({ agentId: "build", messageCount: 2 })
    expect(page.sessions[0]!.tokenEstimate).toBeGreaterThan(0)
    const rest = await scene.json<{ sessions: Meta[] }>(
      `/api/agents/build/sessions?cursor=${encodeURIComponent(page.next)}`,
    )
    expect(rest.sessions.map(({ title }) => title)).toEqual(["one"])
  })

  test("are read with their whole history, in pages", async () => {
    await using scene = await httpScene({
      script: [
        { calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
        { text: "hello" },
        { text: "bye" },
      ],
      files: { "a.txt": "hello" },
    })
    const sessionId = (await chat(scene, { message: "read" })).at(-1)!.sessionId
    await chat(scene, { message: "bye", sessionId })
    const whole = await scene.json<{ messages: { role: string }[]; before?: number }>(
      `/api/agents/build/sessions/${sessionId}`,
    )
    expect(whole.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "assistant",
      "user",
      "assistant",
    ])
    expect(whole.before).toBeUndefined()
    const end = await scene.json<{ messages: { role: string }[]; before: number }>(
      `/api/agents/build/sessions/${sessionId}?limit=2`,
    )
    expect(end.messages.map(({ role }) => role)).toEqual(["user", "assistant"])
    const start = await scene.json<{ messages: { role: string }[] }>(
      `/api/agents/build/sessions/${sessionId}?before=${end.before}`,
    )
    expect([...start.messages, ...end.messages]).toEqual(whole.messages)
  })

  test("are renamed, archived and deleted", async () => {
    await using scene = await httpScene({ script: () => ({ text: "ok" }) })
    const sessionId = (await chat(scene, { message: "hi" })).at(-1)!.sessionId as string
    const path = `/api/agents/build/sessions/${sessionId}`
    expect(await scene.json(path, { method: "PATCH", json: { title: "Payments" } })).toMatchObject({
      title: "Payments",
    })
    await scene.json(path, { method: "PATCH", json: { archived: true } })
    expect((await scene.json<{ sessions: Meta[] }>("/api/agents/build/sessions")).sessions).toEqual([])
    expect(
      (await scene.json<{ sessions: Meta[] }>("/api/agents/build/sessions?archived=true")).sessions,
    ).toHaveLength(1)
    expect((await scene.call(path, { method: "DELETE" })).status).toBe(204)
    expect((await scene.call(path)).status).toBe(404)
  })
})

test("a compaction during a chat is an event of the chat", async () => {
  await using scene = await httpScene({
    script: (_, n) => ({ text: `answer ${n} ${"word ".repeat(3000)}` }),
    config: { compaction: { threshold: 9000, keepTurns: 1 } },
    limit: { context: 200_000, output: 1000 },
  })
  let sessionId: unknown
  const types = new Set<string>()
  for (let turn = 0; turn < 6; turn++) {
    const events = await chat(scene, {
      message: `turn ${turn} ${"more ".repeat(300)}`,
      ...(sessionId !== undefined && { sessionId }),
    })
    sessionId = events.at(-1)!.sessionId
    expect(events.at(-1)!.type).toBe("done")
    for (const { type } of events) types.add(type)
  }
  expect(types).toContain("compaction_start")
  expect(types).toContain("compaction_end")
})

test("a closing server refuses new messages with 503", async () => {
  await using scene = await httpScene({
    script: [{ text: "slow answer", deltaDelayMs: 300 }],
    server: { drainMs: 3000 },
  })
  const first = scene.call("/api/agents/build/chat", { json: { message: "hi" } })
  await until("it runs", () => scene.stemma.statuses().size === 1)
  const connection = await first
  const closing = scene.server.close()
  const { status } = await scene.server.app.fetch(
    new Request("http://x/api/agents/build/chat", {
      method: "POST",
      body: JSON.stringify({ message: "more" }),
      headers: { "content-type": "application/json" },
    }),
  )
  expect(status).toBe(503)
  const events: string[] = []
  for await (const { data } of messagesOf(connection)) events.push(data.type)
  expect(events.at(-1)).toBe("done")
  await closing
})
