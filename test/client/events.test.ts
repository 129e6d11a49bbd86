import { expect, test } from "vitest"
import { createClient } from "../../src/client/index.ts"
import { until } from "../support/run-scene.ts"
import { httpScene, token } from "../support/server/http-scene.ts"

test("events of all sessions of a directory arrive over HTTP, and a stream continues from a cursor", async () => {
  await using scene = await httpScene({ script: () => ({ text: "hello" }) })
  const client = createClient({ baseUrl: scene.url, token, directory: scene.directory })
  const received: string[] = []
  const stream = client.events()
  const listening = (async () => {
    for await (const event of stream) {
      received.push(event.type)
      if (event.type === "session.idle") return
    }
  })()
  await stream.ready
  const { id } = await client.sessions.create()
  expect((await client.session(id).ask({ text: "hi" })).text).toBe("hello")
  await listening
  expect(received).toContain("session.created")
  expect(received).toContain("message.part.updated")
  const { cursor } = stream
  await client.session(id).ask({ text: "again" })
  const missed: string[] = []
  using later = client.events({ since: cursor! })
  const catching = (async () => {
    for await (const event of later) missed.push(JSON.stringify(event))
  })()
  await until("it is received", () => missed.some((event) => event.includes('"text":"again"')))
  later.close()
  await catching
  expect(missed.join("")).not.toContain('"text":"hi"')
})

test("events of other directories do not arrive", async () => {
  await using scene = await httpScene({ script: () => ({ text: "hello" }), files: { "below/a.txt": "" } })
  const client = createClient({ baseUrl: scene.url, token })
  using stream = client.events({ directory: `${scene.directory}/below` })
  const received: string[] = []
  const listening = (async () => {
    for await (const event of stream) received.push(event.type)
  })()
  await stream.ready
  const other = await client.sessions.create({ directory: scene.directory })
  const own = await client.sessions.create({ directory: `${scene.directory}/below` })
  await until("its own is received", () => received.includes("session.created"))
  expect(received.filter((type) => type === "session.created")).toHaveLength(1)
  expect(own.directory).not.toBe(other.directory)
  stream.close()
  await listening
})
