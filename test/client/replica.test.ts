import { describe, expect, it } from "vitest"
import { createClient, type Replica } from "../../src/client/index.ts"
import type { HistoryItem, Model, ModelEvent } from "../../src/index.ts"
import { createServer, type ServerOptions } from "../../src/server/index.ts"
import { crumblingFetch } from "../support/client/cutting-fetch.ts"
import { fakeServer, json, refuse, stream, synced } from "../support/client/fake-server.ts"
import { expectSame } from "../support/client/session-state.ts"
import { type RunSceneOptions, runScene, until } from "../support/run-scene.ts"

const reconnect = { firstMs: 2, maxMs: 20 }

async function scene({ server: options, ...run }: RunSceneOptions & { server?: ServerOptions } = {}) {
  const opened = await runScene(run)
  const server = createServer(opened.stemma, { drainMs: 50, ...options })
  const client = createClient({ fetch: server.app.fetch, reconnect })
  const { id } = await client.sessions.create()
  return {
    ...opened,
    server,
    client,
    id,
    session: client.session(id),
    async [Symbol.asyncDispose]() {
      await server.close()
      await opened[Symbol.asyncDispose]()
    },
  }
}

const textOf = ({ parts }: HistoryItem) =>
  parts.map((part) => (part.type === "text" ? part.text : "")).join("")

const texts = (replica: Replica) => replica.messages().map(textOf)

const answers = (count: number) => Array.from({ length: count }, (_, index) => ({ text: `answer ${index}` }))

/** Streams each delta when its gate opens, and ends when the last gate opens. */
function gatedModel(deltas: readonly string[], gates: readonly PromiseWithResolvers<void>[]): Model {
  return {
    ref: { providerID: "scripted", modelID: "m" },
    limit: { context: 0, output: 0 },
    async *stream(): AsyncGenerator<ModelEvent> {
      yield { type: "text-start", id: "1" }
      for (const [index, delta] of deltas.entries()) {
        await gates[index]!.promise
        yield { type: "text-delta", id: "1", text: delta }
      }
      await gates.at(-1)!.promise
      yield { type: "text-end", id: "1" }
      yield { type: "finish", reason: "stop" }
    },
  }
}

describe("a replica", () => {
  it("has the session, its messages and its status, live", async () => {
    const deltas = ["Hel", "lo ", "there"]
    const gates = [...deltas, "end"].map(() => Promise.withResolvers<void>())
    await using server = await scene({ models: { scripted: () => gatedModel(deltas, gates) } })
    using replica = server.session.replica()
    expect(replica).toMatchObject({ isLive: false, session: undefined, status: { type: "idle" } })
    await replica.ready
    expect(replica).toMatchObject({ isLive: true, session: { id: server.id }, error: undefined })
    let calls = 0
    replica.subscribe(() => calls++)
    const asked = server.session.ask({ text: "hi" })
    for (const index of deltas.keys()) {
      gates[index]!.resolve()
      const soFar = deltas.slice(0, index + 1).join("")
      await until("the text is shown", () => texts(replica)[1] === soFar)
      expect(replica.status).toEqual({ type: "busy" })
    }
    gates.at(-1)!.resolve()
    await asked
    await until("it is idle again", () => replica.status.type === "idle")
    expect(texts(replica)).toEqual(["hi", "Hello there"])
    expect(calls).toBeGreaterThan(deltas.length)
    await expectSame(server.stemma.store, server.id, { replica })
  })

  it("calls its subscribers once for each batch, and returns the same array while nothing changes", async () => {
    await using server = await scene({ script: answers(1) })
    using replica = server.session.replica()
    await replica.ready
    let calls = 0
    const end = replica.subscribe(() => calls++)
    await server.session.append({ role: "user", text: "one" })
    await until("it is received", () => replica.messages().length === 1)
    // A commit of a message, its part and the session is one batch.
    expect(calls).toBe(1)
    expect(replica.messages()).toBe(replica.messages())
    const before = replica.messages()
    end()
    await server.session.update({ title: "Other" })
    await until("the title is there", () => replica.session?.title === "Other")
    expect(calls).toBe(1)
    expect(replica.messages()[0]).toBe(before[0])
  })

  it("begins with the last messages, and loads older ones on request", async () => {
    await using server = await scene()
    for (let number = 0; number < 12; number++) {
      await server.session.append({ role: "user", text: `message ${number}` })
    }
    using replica = server.session.replica({ last: 3 })
    await replica.ready
    expect(texts(replica)).toEqual(["message 9", "message 10", "message 11"])
    expect(replica.older).toBe(9)
    await replica.loadOlder(4)
    expect(texts(replica)[0]).toBe("message 5")
    expect(replica.messages()).toHaveLength(7)
    await server.session.append({ role: "user", text: "message 12" })
    await until("the new one is there", () => replica.messages().length === 8)
    await replica.loadOlder(1000)
    expect(replica.older).toBe(0)
    expect(texts(replica)).toEqual(Array.from({ length: 13 }, (_, number) => `message ${number}`))
    await expectSame(server.stemma.store, server.id, { replica })
  })

  it("does not show a changed older message that was not loaded", async () => {
    await using server = await scene()
    for (const text of ["zero", "one", "two", "three"]) await server.session.append({ role: "user", text })
    using replica = server.session.replica({ last: 2 })
    await replica.ready
    const { items } = await server.session.history({ from: 0, to: 1, take: "start" })
    await server.session.redact({ messageID: items[0]!.message.id })
    await server.session.update({ title: "After it" })
    await until("it is received", () => replica.session?.title === "After it")
    expect(texts(replica)).toEqual(["two", "three"])
  })

  it("hides messages of a revert, and shows them again after an unrevert", async () => {
    await using server = await scene({ script: answers(3) })
    using replica = server.session.replica()
    await replica.ready
    for (const text of ["one", "two", "three"]) await server.session.ask({ text })
    await until("all is there", () => replica.messages().length === 6)
    const second = replica.messages()[2]!.message.id
    await server.session.revert({ messageID: second })
    await until("the mark is there", () => replica.session?.revert !== undefined)
    expect(replica.visibleMessages().map(textOf)).toEqual(["one", "answer 0"])
    expect(replica.messages()).toHaveLength(6)
    using short = server.session.replica({ last: 2 })
    await short.ready
    expect(short.visibleMessages()).toEqual([])
    await server.session.unrevert()
    await until("it is gone", () => replica.session?.revert === undefined)
    expect(replica.visibleMessages()).toHaveLength(6)
    const part = replica.messages()[3]!.parts.find(({ type }) => type === "text")!
    await server.session.revert({ messageID: replica.messages()[3]!.message.id, partID: part.id })
    await until("the mark is there", () => replica.session?.revert !== undefined)
    expect(replica.visibleMessages().map(textOf)).toEqual(["one", "answer 0", "two", ""])
    await server.session.append({ role: "user", text: "another way" })
    await until("it is real", () => texts(replica).at(-1) === "another way")
    await short.loadOlder(100)
    await expectSame(server.stemma.store, server.id, { replica, short })
  })

  it("shows only whole commits, however slowly they arrive", async () => {
    await using server = await scene({ script: answers(3) })
    const fetch = crumblingFetch(server.server.app.fetch, { bytes: 100 })
    const slow = createClient({ fetch, reconnect })
    using replica = slow.session(server.id).replica()
    await replica.ready
    const other = await server.client.sessions.create()
    const problems: string[] = []
    let looks = 0
    replica.subscribe(() => {
      looks++
      for (const { message, parts, sealed } of replica.messages()) {
        const isEnded = parts.some(({ type }) => type === "step-finish")
        if (message.role === "user" && parts.length === 0) problems.push("a prompt without its text")
        if (message.role === "assistant" && sealed && !isEnded) problems.push("an answer without its end")
      }
    })
    for (const text of ["one", "two", "three"]) {
      await server.session.ask({ text })
      await server.client.session(other.id).append({ role: "user", text: "beside it" })
    }
    await until("all is there", () => replica.messages().length === 6 && replica.status.type === "idle")
    expect(problems).toEqual([])
    expect(looks).toBeGreaterThan(6)
    await expectSame(server.stemma.store, server.id, { replica })
  })

  it("reports that its session was removed", async () => {
    await using server = await scene()
    await server.session.append({ role: "user", text: "one" })
    using live = server.session.replica()
    await live.ready
    await server.session.remove()
    await until("it is received", () => live.view.removed)
    expect(live).toMatchObject({ session: undefined })
    expect(live.messages()).toEqual([])
    using late = server.session.replica()
    await expect(late.ready).rejects.toMatchObject({ code: "not_found" })
    expect(late).toMatchObject({ isLive: false, error: { code: "not_found" } })
  })

  it("continues when a subscriber throws, and does not call a subscriber after it unsubscribed", async () => {
    await using server = await scene()
    using replica = server.session.replica()
    await replica.ready
    const thrown: unknown[] = []
    const catcher = (error: unknown) => thrown.push(error)
    const others = process.listeners("uncaughtException")
    process.removeAllListeners("uncaughtException")
    process.on("uncaughtException", catcher)
    try {
      const end = replica.subscribe(() => {
        throw new Error("my own fault")
      })
      let calls = 0
      replica.subscribe(() => calls++)
      await server.session.update({ title: "Other" })
      await until("the other one was called", () => calls > 0 && thrown.length > 0)
      end()
    } finally {
      process.off("uncaughtException", catcher)
      for (const other of others) process.on("uncaughtException", other)
    }
    expect(thrown).toMatchObject([{ message: "my own fault" }])
  })

  it("does not change after close, and keeps its messages", async () => {
    await using server = await scene()
    await server.session.append({ role: "user", text: "one" })
    const controller = new AbortController()
    const replica = server.session.replica({ signal: controller.signal })
    await replica.ready
    controller.abort()
    await until("it is not live", () => !replica.isLive)
    await server.session.append({ role: "user", text: "two" })
    expect(texts(replica)).toEqual(["one"])
    expect(replica.error).toBeUndefined()
    await expect(replica.loadOlder(1)).rejects.toBeDefined()
    const never = server.session.replica()
    never.close()
    await expect(never.ready).rejects.toMatchObject({ code: "unavailable" })
  })

  it("calls no subscriber after its owner closed it, at any moment", async () => {
    await using server = await fakeServer([snapshot("s.1", "x"), stream([synced("s.1")])])
    const client = createClient({ baseUrl: server.url, reconnect })
    let calls = 0
    const count = () => {
      calls++
    }
    const early = client.session(id).replica()
    early.subscribe(count)
    early.close()
    await expect(early.ready).rejects.toMatchObject({ code: "unavailable" })
    expect(calls).toBe(0)
    const controller = new AbortController()
    for (const close of [(replica: Replica) => replica.close(), () => controller.abort()]) {
      await using other = await fakeServer([snapshot("s.1", "x"), stream([synced("s.1")])])
      const live = createClient({ baseUrl: other.url, reconnect }).session(id)
      const replica = live.replica({ signal: controller.signal })
      await replica.ready
      replica.subscribe(count)
      close(replica)
      expect(replica.isLive).toBe(false)
      await until("the connection is closed", () => other.open() === 0)
      expect(calls).toBe(0)
    }
    await using third = await fakeServer([snapshot("s.1", "x"), stream([synced("s.1")])])
    const replica = createClient({ baseUrl: third.url, reconnect }).session(id).replica()
    const { promise: closed, resolve } = Promise.withResolvers<void>()
    replica.subscribe(() => {
      replica.close()
      resolve()
    })
    replica.subscribe(count)
    await closed
    await expect(replica.ready).rejects.toMatchObject({ code: "unavailable" })
    expect(calls).toBe(0)
  })
})

const id = "ses_01k00000000000000000000000"
const session = (title: string) => ({
  id,
  projectID: "one",
  directory: "/project",
  title,
  version: "0",
  cost: 0,
  tokens: { input: 0, output: 0, reasoning: 0, cache: { read: 0, write: 0 } },
  time: { created: 1, updated: 1 },
  history: { segment: "seg_1", count: 0, epoch: 0, left: [] },
  seq: 1,
})
const snapshot = (cursor: string, title: string) =>
  json({
    cursor,
    rows: [{ type: "session", version: 5, sessionID: id, session: session(title) }],
    page: { items: [], count: 0, epoch: 0, more: false },
  })

describe("a replica that loses its server", () => {
  it("is not live and has an error, and is live again when the server is back", async () => {
    await using server = await fakeServer([
      refuse(503, { code: "unavailable", message: "Later." }),
      snapshot("s.1", "before"),
      stream([synced("s.1")], "cut"),
      refuse(503, { code: "unavailable", message: "Later." }),
      stream([
        { id: "s.2", value: { type: "session", version: 7, sessionID: id, session: session("after") } },
        synced("s.2"),
      ]),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    const states: unknown[] = []
    replica.subscribe(() => states.push([replica.isLive, replica.error?.message, replica.session?.title]))
    await until("it is there", () => replica.isLive && replica.session?.title === "after")
    expect(states).toContainEqual([false, "Later.", undefined])
    expect(states).toContainEqual([true, undefined, "before"])
    expect(states).toContainEqual([false, "Later.", "before"])
    expect(server.asked.map(({ query }) => query.since)).toEqual([undefined, undefined, "s.1", "s.1", "s.1"])
  })

  it("starts again when its cursor is from another store, or from a restored store", async () => {
    await using server = await fakeServer([
      snapshot("s.9", "before"),
      stream([synced("s.9")], "cut"),
      refuse(400, { code: "invalid", message: "That cursor is newer than the store." }),
      snapshot("s.3", "restored"),
      stream([synced("s.3")]),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    await replica.ready
    const before = replica.view.revision
    await until("it has begun anew", () => replica.isLive && replica.session?.title === "restored")
    expect(replica.view.revision).toBeGreaterThan(before)
  })

  it("ends when its access is denied", async () => {
    await using server = await fakeServer([
      snapshot("s.9", "before"),
      stream([synced("s.9")], "cut"),
      refuse(401, { code: "denied", message: "The token is wrong." }),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    await until("it is received", () => replica.error?.code === "denied")
    expect(replica).toMatchObject({ isLive: false, session: { title: "before" } })
    expect(server.asked).toHaveLength(3)
  })

  it("reports after a reconnect that its session was removed", async () => {
    await using server = await fakeServer([
      snapshot("s.9", "before"),
      stream([synced("s.9")], "cut"),
      refuse(404, { code: "not_found", message: "There is no session." }),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    await until("it is received", () => replica.view.removed)
    expect(replica).toMatchObject({ isLive: false, session: undefined, error: { code: "not_found" } })
  })

  it("ignores unknown frames of a newer server, and applies the others", async () => {
    const row = { version: 7, sessionID: id }
    await using server = await fakeServer([
      json({
        cursor: "s.5",
        rows: [
          { type: "session", version: 5, sessionID: id, session: session("before") },
          { type: "novelty", version: 5, sessionID: id },
        ],
        page: { items: [], count: 0, epoch: 0, more: false },
      }),
      stream([
        synced("s.5"),
        { value: { type: "newthing", properties: {} } },
        { value: { type: "new.thing", properties: {} } },
        { id: "s.5", value: { type: "session", more: true, ...row, session: session("after") } },
        { value: { type: "newthing", properties: {} } },
        { id: "s.7", value: { type: "novelty", ...row, sessionID: "ses_other" } },
      ]),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    await until("it is received", () => replica.error !== undefined || replica.session?.title === "after")
    expect(replica).toMatchObject({ isLive: true, error: undefined })
    expect(server.asked).toHaveLength(2)
  })

  it("drops live text that was never committed when the session becomes idle", async () => {
    const message = {
      id: "msg_1",
      sessionID: id,
      role: "assistant",
      parentID: "msg_0",
      agent: "build",
      model: { providerID: "p", modelID: "m" },
      time: { created: 1 },
    }
    const part = { type: "text", id: "prt_1", sessionID: id, messageID: "msg_1", text: "" }
    const delta = { sessionID: id, messageID: "msg_1", partID: "prt_1", field: "text" }
    const status = (type: string) => ({
      value: { type: "session.status", properties: { sessionID: id, status: { type } } },
    })
    const row = { version: 7, sessionID: id, position: 0 }
    await using server = await fakeServer([
      snapshot("s.5", "x"),
      stream(
        [
          synced("s.5"),
          status("busy"),
          { id: "s.5", value: { type: "message", more: true, ...row, sealed: false, parts: 1, message } },
          { id: "s.7", value: { type: "part", ...row, index: 0, part } },
          { value: { type: "message.part.delta", properties: { ...delta, offset: 0, delta: "said, " } } },
          { value: { type: "message.part.delta", properties: { ...delta, offset: 0, delta: "said, " } } },
          { value: { type: "message.part.delta", properties: { ...delta, offset: 20, delta: "too early" } } },
          { value: { type: "message.part.delta", properties: { ...delta, offset: 4, delta: ", not kept" } } },
        ],
        "cut",
      ),
      stream([synced("s.7"), status("idle")]),
    ])
    using replica = createClient({ baseUrl: server.url, reconnect }).session(id).replica()
    const shown: string[] = []
    replica.subscribe(() => shown.push(texts(replica)[0] ?? ""))
    await until(
      "it is back",
      () => server.asked.length === 3 && replica.isLive && replica.status.type === "idle",
    )
    expect(shown).toContain("said, not kept")
    expect(texts(replica)).toEqual([""])
  })
})
