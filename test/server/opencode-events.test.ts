import type { Event, Part } from "@opencode-ai/sdk/v2"
import { expect, test } from "vitest"
import { until } from "../support/run-scene.ts"
import { bearer, data, opencodeScene, watch } from "../support/server/opencode-scene.ts"

const text = (words: string) => [{ type: "text" as const, text: words }]

/** The parts of a session as a client knows them that follows the events. */
function partsKnown(events: readonly Event[]): Map<string, Part> {
  const parts = new Map<string, Part>()
  for (const event of events) {
    if (event.type === "message.part.updated") {
      parts.set(event.properties.part.id, structuredClone(event.properties.part))
    }
    if (event.type === "message.part.removed") parts.delete(event.properties.partID)
    if (event.type !== "message.part.delta") continue
    const part = parts.get(event.properties.partID)
    if (part?.type === "text" || part?.type === "reasoning") part.text += event.properties.delta
  }
  return parts
}

test("a disconnected client continues with Last-Event-ID and misses nothing", async () => {
  await using scene = await opencodeScene({
    script: [
      { text: ["One", ",", " slowly", "."], deltaDelayMs: 40 },
      { text: "Two, while nobody listened." },
      { text: ["Three", ",", " live", " again", "."], deltaDelayMs: 40 },
    ],
  })
  const { directory, url } = scene
  let connections = 0
  const resumed: string[] = []
  let cut = () => {}
  let isDown = false
  const cuttable = (async (request: Request) => {
    if (!request.url.includes("/event")) return fetch(request)
    if (isDown) throw new TypeError("the network is down")
    connections++
    resumed.push(request.headers.get("last-event-id") ?? "")
    const over = new AbortController()
    cut = () => over.abort(new TypeError("cut off"))
    return fetch(new Request(request, { signal: AbortSignal.any([request.signal, over.signal]) }))
  }) as typeof fetch
  const client = scene.connect({ fetch: cuttable })
  const lastID = { value: "" }
  using watched = await watch(client, { directory }, { onEventID: (id) => (lastID.value = id) })
  const { id: sessionID } = await data(scene.client.session.create({ directory }))
  await data(scene.client.session.prompt({ sessionID, parts: text("First") }))
  await watched.next("session.idle")

  isDown = true
  cut()
  const known = lastID.value
  await data(scene.client.session.prompt({ sessionID, parts: text("Second") }))
  isDown = false
  await until("it is back", () => connections === 2)
  expect(resumed[1]).toBe(known)
  await until(
    "it has caught up",
    () => watched.events.filter(({ type }) => (type as string) === "synced").length === 2,
  )
  await data(scene.client.session.prompt({ sessionID, parts: text("Third") }))
  const history = await data(scene.client.session.messages({ sessionID }))
  const received = new Map(history.flatMap(({ parts }) => parts).map((part) => [part.id, part]))
  await until("it knows everything", () => partsKnown(watched.events).size === received.size)
  await watched.next("message.updated", ({ properties: { info } }) => {
    return info.id === history.at(-1)!.info.id && info.role === "assistant" && info.finish === "stop"
  })
  expect(partsKnown(watched.events)).toEqual(received)

  const since = await fetch(`${url}/event?directory=${encodeURIComponent(directory)}&since=nonsense`, {
    headers: bearer,
  })
  expect(since.status).toBe(400)
  expect(await since.json()).toMatchObject({ name: "BadRequest" })
})

test("a stream of a directory contains only its own sessions, and begins with the status of running sessions", async () => {
  await using scene = await opencodeScene({
    files: { "one/a": "", "two/b": "" },
    script: [{ text: "Never.", delayMs: Number.POSITIVE_INFINITY }],
  })
  const one = `${scene.directory}/one`
  const two = `${scene.directory}/two`
  const { id: sessionID } = await data(scene.client.session.create({ directory: one }))
  await data(scene.client.session.promptAsync({ sessionID, parts: text("Go") }))
  await until("it runs", () => scene.model.requests.length === 1)
  using first = await watch(scene.client, { directory: one })
  using second = await watch(scene.client, { directory: two })
  const busy = await first.next("session.status")
  expect(busy.properties).toEqual({ sessionID, status: { type: "busy" } })
  expect(await data(scene.client.session.status({ directory: two }))).toEqual({})
  await data(scene.client.session.abort({ sessionID }))
  await first.next("session.error", ({ properties }) => properties.error?.name === "MessageAbortedError")
  const { id: other } = await data(scene.client.session.create({ directory: two }))
  await second.next("session.created", ({ properties }) => properties.sessionID === other)
  expect(JSON.stringify(second.events)).not.toContain(sessionID)
})

test("the stream sends Stemma's own frames if the client asks for them", async () => {
  await using scene = await opencodeScene({ script: [{ text: "Hi." }] })
  const { id: sessionID } = await data(scene.client.session.create({ directory: scene.directory }))
  for (const [format, sign] of [
    ["events", '"type":"session.updated","properties":{"info":{'],
    ["rows", '"type":"session","version":'],
  ] as const) {
    const over = new AbortController()
    const response = await fetch(`${scene.url}/event?format=${format}`, {
      headers: bearer,
      signal: over.signal,
    })
    let received = ""
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) received += chunk
    })().catch(() => {})
    await until("it is synced", () => received.includes('"type":"synced"'))
    expect(received).not.toContain("server.connected")
    await scene.stemma.sessions.update(sessionID, { title: `for ${format}` })
    await until("the change is received", () => received.includes(`for ${format}`))
    expect(received).toContain(sign)
    over.abort()
    await reading
  }
})

test("a question is refused if no client is connected", async () => {
  await using scene = await opencodeScene({
    config: { permission: { edit: "ask" } },
    script: [
      { calls: [{ tool: "write", input: { filePath: "a.txt", content: "a" } }] },
      { text: "Not allowed." },
    ],
  })
  const { id: sessionID } = await data(scene.client.session.create({ directory: scene.directory }))
  await data(scene.client.session.prompt({ sessionID, parts: text("Write") }))
  const history = await data(scene.client.session.messages({ sessionID }))
  const call = history.flatMap(({ parts }) => parts).find((part) => part.type === "tool")
  expect(call).toMatchObject({ tool: "write", state: { status: "error" } })
})
