import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { createClient, type Fetch, type Replica } from "../../src/client/index.ts"
import type { StemmaEvent } from "../../src/index.ts"
import { type HttpProxy, httpProxy, type Meddle, once, page } from "../support/client/http-proxy.ts"
import { until } from "../support/run-scene.ts"
import { type HttpScene, httpScene, token } from "../support/server/http-scene.ts"

const reconnect = { firstMs: 2, maxMs: 20, silenceMs: 250 }

let scene: HttpScene
let proxy: HttpProxy
beforeAll(async () => {
  scene = await httpScene()
  proxy = await httpProxy(scene.url)
})
afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await scene[Symbol.asyncDispose]()
})

/** A session with six messages, reached without the proxy. */
async function sixMessages() {
  const direct = createClient({ baseUrl: scene.url, token })
  const { id } = await direct.sessions.create()
  const session = direct.session(id)
  for (let number = 0; number < 6; number++) await session.append({ role: "user", text: `message ${number}` })
  return session
}

/** The same session, reached through the proxy. */
function behind(id: string, meddle: Meddle, options = reconnect) {
  proxy.meddle = meddle
  return createClient({ baseUrl: proxy.url, token, reconnect: options }).session(id)
}

const count = (replica: Replica) => replica.messages().length

const swallow: Meddle = () => true
const stall: Meddle = (_, response) => {
  response.writeHead(200, { "content-type": "application/json" }).write('{"rows": [')
  return true
}
/** An error answer of the server that never ends. */
const stallRefusal: Meddle = (_, response) => {
  response.writeHead(404, { "content-type": "application/json" }).write('{"code": "not_f')
  return true
}

describe("a request of a replica that gets no further bytes", { timeout: 20_000 }, () => {
  it.each([
    ["whose request was lost", swallow],
    ["whose answer stops in the middle", stall],
    ["whose refusal stops in the middle", stallRefusal],
  ])("%s is retried", async (_, meddle) => {
    const { id } = await sixMessages()
    using replica = behind(id, once(/\/snapshot/, meddle)).replica({ last: 2 })
    const errors: (string | undefined)[] = []
    replica.subscribe(() => errors.push(replica.error?.code))
    await replica.ready
    expect(errors[0]).toBe("unavailable")
    expect(count(replica)).toBe(2)
    proxy.meddle = once(/\/history/, meddle)
    await replica.loadOlder(3)
    expect(count(replica)).toBe(5)
    proxy.meddle = () => false
    await replica.loadOlder(3)
    expect(count(replica)).toBe(6)
  })

  it("is retried even if `fetch` ignores abort signals", async () => {
    const { id } = await sixMessages()
    let cancelled = 0
    const dead = () =>
      new Response(
        new ReadableStream({
          cancel() {
            cancelled++
          },
        }),
      )
    const lost = [() => new Promise<Response>(() => {}), async () => dead()]
    const fetch: Fetch = (request) =>
      (request.url.includes("/snapshot") ? lost.shift() : undefined)?.() ?? scene.server.app.fetch(request)
    using replica = createClient({ fetch, reconnect }).session(id).replica()
    await replica.ready
    expect(count(replica)).toBe(6)
    expect(cancelled).toBe(1)
  })

  it("is not retried while bytes of the answer keep arriving", async () => {
    const session = await sixMessages()
    const body = Buffer.from(JSON.stringify(await session.snapshot({ last: 100 })))
    const pieces = 12
    const piece = Math.ceil(body.length / pieces)
    const slowly: Meddle = (request, response) => {
      if (!/\/snapshot/.test(request.url!)) return false
      response.writeHead(200, { "content-type": "application/json" })
      let at = 0
      const timer = setInterval(() => {
        response.write(body.subarray(at, at + piece))
        at += piece
        if (at >= body.length) response.end()
      }, 50)
      response.on("close", () => clearInterval(timer))
      return true
    }
    // The whole answer takes twice as long as the silence timeout.
    using replica = behind(session.id, slowly, { ...reconnect, silenceMs: 300 }).replica()
    await replica.ready
    expect(count(replica)).toBe(6)
  })

  it("has a timeout only in a replica: a call of the caller has none", async () => {
    const { id } = await sixMessages()
    let passed = 0
    const late: Fetch = async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 60))
      passed++
      return scene.server.app.fetch(request)
    }
    const client = createClient({ fetch: late, reconnect: { ...reconnect, silenceMs: 5 } })
    expect((await client.session(id).history()).items).toHaveLength(6)
    expect(passed).toBe(1)
  })
})

describe("an answer from a proxy instead of the server", () => {
  it.each([400, 401, 403, 404, 409, 426, 500])(
    "with %i and no Stemma error neither ends a stream nor drops data",
    async (status) => {
      const session = await sixMessages()
      const client = behind(session.id, () => false, { ...reconnect, silenceMs: 20_000 })
      using replica = client.replica()
      using events = client.events()
      const received: StemmaEvent[] = []
      const listening = (async () => {
        for await (const event of events) received.push(event)
      })()
      await Promise.all([replica.ready, events.ready])
      let asked = 0
      proxy.meddle = (request, response) => {
        asked++
        return page(status)(request, response)
      }
      proxy.cut()
      await until("both have come back to it", () => asked > 4 && replica.error?.details?.status === status)
      expect(replica).toMatchObject({ isLive: false, error: { code: "unavailable" } })
      expect(replica.view.removed).toBe(false)
      expect(count(replica)).toBe(6)
      await session.update({ title: "Meanwhile" })
      proxy.meddle = () => false
      await until("the replica is back", () => replica.isLive && replica.session?.title === "Meanwhile")
      await until("the events are back", () => JSON.stringify(received).includes("Meanwhile"))
      events.close()
      await listening
    },
  )

  it.each([400, 401, 404])(
    "with %i prevents neither the start nor loading older messages",
    async (status) => {
      const { id } = await sixMessages()
      using replica = behind(id, once(/\/snapshot/, page(status))).replica({ last: 2 })
      await replica.ready
      proxy.meddle = once(/\/history/, page(status))
      await replica.loadOlder(4)
      expect(count(replica)).toBe(6)
    },
  )
})
