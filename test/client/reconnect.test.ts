import { describe, expect, it } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { StemmaError, type StemmaEvent } from "../../src/index.ts"
import { createServer } from "../../src/server/index.ts"
import { fakeServer, refuse, stream, synced } from "../support/client/fake-server.ts"
import { runScene, until } from "../support/run-scene.ts"

const id = "ses_01k00000000000000000000000"
const reconnect = { firstMs: 4, maxMs: 20, silenceMs: 5000 }
const idle = (cursor?: string, sessionID = id) => ({
  ...(cursor !== undefined && { id: cursor }),
  value: { type: "session.idle", properties: { sessionID } },
})

async function take(events: AsyncIterable<StemmaEvent>, count: number): Promise<StemmaEvent[]> {
  const taken: StemmaEvent[] = []
  for await (const event of events) if (taken.push(event) === count) break
  return taken
}

describe("an event stream", () => {
  it("continues from the last cursor after a disconnect, also in the middle of a frame", async () => {
    await using server = await fakeServer([
      stream([synced("c1"), idle("c2"), idle()], "mid-frame"),
      stream([idle("c3"), synced("c3")], "cut"),
      stream([synced("c4"), idle("c5")]),
    ])
    const client = createClient({ baseUrl: server.url, reconnect })
    const events = client.session(id).events()
    expect(await take(events, 4)).toHaveLength(4)
    expect(server.asked.map(({ query }) => query.since)).toEqual([undefined, "c2", "c3"])
    expect(server.asked[0]).toMatchObject({ path: `/sessions/${id}/event`, query: { format: "events" } })
    expect(events.cursor).toBe("c5")
    await until("the connection is closed", () => server.open() === 0)
  })

  it("reconnects to a server that is gone, busy or broken, and respects Retry-After", async () => {
    await using server = await fakeServer([
      refuse(503, { code: "unavailable", message: "Later." }, { "retry-after": "1" }),
      refuse(500, { code: "internal", message: "Broken." }),
      (response) => response.destroy(),
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      stream([synced("c1"), { value: { type: "error", properties: { code: "internal", message: "No." } } }]),
      stream([synced("c1"), { value: { type: "lagged", properties: { cursor: "c1" } }, id: "c1" }]),
      stream([synced("c1"), { value: "no object" }]),
      stream([synced("c1"), idle("c2")]),
    ])
    const client = createClient({ baseUrl: server.url, reconnect })
    await take(client.session(id).events({ since: "c0" }), 1)
    expect(server.asked).toHaveLength(8)
    expect(server.asked[1]!.atMs - server.asked[0]!.atMs).toBeGreaterThan(900)
    expect(server.asked.map(({ query }) => query.since)).toEqual([...Array(5).fill("c0"), "c1", "c1", "c1"])
  })

  it("waits longer after each failed attempt", async () => {
    await using server = await fakeServer([refuse(503, { code: "unavailable", message: "Later." })])
    const client = createClient({ baseUrl: server.url, reconnect: { firstMs: 20, maxMs: 200 } })
    using events = client.session(id).events()
    await until("it was asked five times", () => server.asked.length >= 5)
    events.close()
    const waits = server.asked.slice(1).map(({ atMs }, index) => atMs - server.asked[index]!.atMs)
    // Timers may be late, never early: the minimum is half of 20, 40, 80 and 160 ms.
    for (const [index, wait] of waits.slice(0, 4).entries()) {
      expect(wait).toBeGreaterThanOrEqual(10 * 2 ** index - 2)
    }
  })

  it("without data is dropped after the silence timeout; a stream with heartbeats is not", async () => {
    // Client and server share a thread: it must not be held up for as long as this.
    const silenceMs = 1000
    await using server = await fakeServer([
      stream([synced("c1")]),
      (response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        const timer = setInterval(() => response.write(":\n\n"), 50)
        setTimeout(
          () => response.write("id: c2\ndata: {}\n\n".replace("{}", JSON.stringify(idle().value))),
          1.5 * silenceMs,
        )
        response.on("close", () => clearInterval(timer))
      },
    ])
    const client = createClient({ baseUrl: server.url, reconnect: { ...reconnect, silenceMs } })
    expect(await take(client.session(id).events(), 1)).toHaveLength(1)
    expect(server.asked).toHaveLength(2)
    await until("both connections are closed", () => server.open() === 0)
  })

  it.each([
    [401, "denied"],
    [403, "denied"],
    [404, "not_found"],
    [400, "invalid"],
  ])("ends with the error when a retry cannot help: %i", async (status, code) => {
    await using server = await fakeServer([
      stream([synced("c1"), idle("c1")], "cut"),
      refuse(status, { code, message: "No." }),
    ])
    const client = createClient({ baseUrl: server.url, reconnect })
    const events = client.session(id).events()
    const seen: StemmaEvent[] = []
    const ending = (async () => {
      for await (const event of events) seen.push(event)
    })()
    await expect(ending).rejects.toMatchObject({ code, message: "No.", details: { status } })
    expect(seen).toHaveLength(1)
    expect(server.asked).toHaveLength(2)
  })

  it("is ready only when it will deliver every later event", async () => {
    await using scene = await runScene({ script: [{ text: "hello" }] })
    await using server = createServer(scene.stemma, { drainMs: 50 })
    const client = createClient({ fetch: server.app.fetch, reconnect })
    const { id: sessionID } = await client.sessions.create()
    using events = client.session(sessionID).events()
    await events.ready
    await client.session(sessionID).ask({ text: "hi" })
    const types = new Set<string>()
    for await (const { type } of events) {
      types.add(type)
      if (type === "session.idle") break
    }
    expect(events.isLive).toBe(false)
    expect([...types]).toEqual(
      expect.arrayContaining(["message.updated", "message.part.updated", "session.status", "session.idle"]),
    )
    const gone = client.session("ses_01k00000000000000000000000").events()
    await expect(gone.ready).rejects.toMatchObject({ code: "not_found" })
  })

  it("ends without an error when its reader leaves or its signal aborts, at any moment", async () => {
    await using server = await fakeServer([stream([synced("c1")])])
    const client = createClient({ baseUrl: server.url, reconnect })
    const controller = new AbortController()
    const events = client.session(id).events({ signal: controller.signal })
    const ending = take(events, 1)
    await events.ready
    controller.abort()
    expect(await ending).toEqual([])
    const left = client.session(id).events()
    const next = left.next()
    await left.ready
    await left.return()
    expect(await next).toEqual({ done: true, value: undefined })
    const never = client.session(id).events({ signal: AbortSignal.abort() })
    expect(await take(never, 1)).toEqual([])
    await expect(never.ready).rejects.toMatchObject({ code: "unavailable" })
    const early = client.session(id).events()
    early.close()
    await expect(early.ready).rejects.toMatchObject({ code: "unavailable" })
    const unread = client.session(id).events()
    await unread.ready
    unread.close()
    await until("all connections are closed", () => server.open() === 0)
  })

  it("of a directory names the directory in its request", async () => {
    await using server = await fakeServer([stream([synced("c1"), idle("c2")])])
    const client = createClient({ baseUrl: server.url, reconnect, directory: "/here" })
    await take(client.events({ since: "c0" }), 1)
    await take(client.events({ directory: "/there" }), 1)
    expect(server.asked).toMatchObject([
      { path: "/event", query: { format: "events", directory: "/here", since: "c0" } },
      { path: "/event", query: { directory: "/there" } },
    ])
  })

  it("with a tree contains events of children", async () => {
    await using scene = await runScene({ script: [{ text: "hello" }] })
    await using server = createServer(scene.stemma, { drainMs: 50 })
    const client = createClient({ fetch: server.app.fetch, reconnect })
    const parent = await client.sessions.create()
    using events = client.session(parent.id).events({ tree: true })
    await events.ready
    const child = await client.sessions.create({ parentID: parent.id })
    await client.session(child.id).update({ title: "Told" })
    for await (const event of events) {
      if (event.type === "session.updated" && event.properties.info.id === child.id) break
    }
    expect(StemmaError.is(await events.return())).toBe(false)
  })
})
