import { createServer as createHttpServer, type RequestListener } from "node:http"
import { describe, expect, expectTypeOf, it } from "vitest"
import { type Client, createClient } from "../../src/client/index.ts"
import { type Session, type SessionStatus, StemmaError } from "../../src/index.ts"
import { createServer } from "../../src/server/index.ts"
import { runScene } from "../support/run-scene.ts"

const token = "0123456789abcdef0123"

/** A server with one client over the network and one client in its process. */
async function scene(options: Parameters<typeof runScene>[0] = {}) {
  const run = await runScene(options)
  const server = createServer(run.stemma, { token, drainMs: 50 })
  const { url } = await server.listen({ port: 0 })
  return {
    ...run,
    url,
    server,
    clients: [
      createClient({ baseUrl: url, token }),
      createClient({ fetch: server.app.fetch }),
    ] as readonly Client[],
    async [Symbol.asyncDispose]() {
      await server.close()
      await run[Symbol.asyncDispose]()
    },
  }
}

/** An HTTP server that is not Stemma. */
async function listen(listener: RequestListener) {
  const server = createHttpServer(listener)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function failure(call: Promise<unknown>): Promise<StemmaError> {
  const error: unknown = await call.then(
    () => undefined,
    (thrown) => thrown,
  )
  if (!StemmaError.is(error)) throw new Error("It did not fail with a StemmaError.", { cause: error })
  return error
}

describe("the routes as functions", () => {
  it("have the types of the route table", () => {
    const client = createClient({ baseUrl: "http://127.0.0.1:1" })
    type ListInput = NonNullable<Parameters<typeof client.sessions.list>[0]>
    expectTypeOf<ListInput["limit"]>().toEqualTypeOf<number | undefined>()
    expectTypeOf<ListInput["archived"]>().toEqualTypeOf<boolean | undefined>()
    expectTypeOf<ListInput["parentID"]>().toEqualTypeOf<string | null | undefined>()
    expectTypeOf(client.sessions.list).returns.resolves.toHaveProperty("items").toEqualTypeOf<Session[]>()
    expectTypeOf(client.sessions.search).parameter(0).toHaveProperty("text").toBeString()
    expectTypeOf(client.server.health).parameters.toEqualTypeOf<[options?: { signal?: AbortSignal }]>()
    const session = client.session("ses_x")
    expectTypeOf(session.info).returns.resolves.toEqualTypeOf<Session>()
    expectTypeOf(session.status).returns.resolves.toEqualTypeOf<SessionStatus>()
    expectTypeOf(session.reply).parameter(0).toEqualTypeOf<{
      permissionID: string
      reply: "once" | "always" | "reject"
      feedback?: string
    }>()
    expectTypeOf(session.transcript).returns.resolves.toBeString()
    expectTypeOf(session.abort).returns.resolves.toBeUndefined()
    expectTypeOf(client.place.blob).returns.resolves.toEqualTypeOf<Uint8Array>()
    expectTypeOf(session).not.toHaveProperty("event")
    // @ts-expect-error the reply is missing
    const wrong = () => session.reply({ permissionID: "per_x" })
    expectTypeOf(wrong).toBeFunction()
  })

  it("work over the network and in process", async () => {
    await using server = await scene({ script: [{ text: "one" }, { text: "two" }, { text: "three" }] })
    for (const client of server.clients) {
      expect(await client.server.health()).toMatchObject({ status: "ok" })
      expect((await client.place.agents()).map(({ name }) => name)).toContain("build")
      const { id } = await client.sessions.create({ title: "A title with 配置 & more" })
      const session = client.session(id)
      const { text, message } = await session.ask({ text: "Say something" })
      expect(["one", "two"]).toContain(text)
      expect(await session.info()).toMatchObject({ id, title: "A title with 配置 & more" })
      expect(await session.transcript()).toContain(text)
      expect((await session.history({ limit: 1 })).items).toMatchObject([{ message: { id: message.id } }])
      const fork = await session.fork({ messageID: message.id })
      expect(fork.forkedFrom).toEqual({ sessionID: id, messageID: message.id })
      expect(await session.abort()).toBeUndefined()
      expect((await session.update({ title: "Other" })).title).toBe("Other")
      expect((await client.sessions.list({ title: "配置", limit: 5 })).items.map((one) => one.id)).toEqual([
        fork.id,
      ])
      expect((await session.remove()).sessions).toEqual([id])
      await client.session(fork.id).remove()
    }
  })

  it("accept numbers, booleans and lists in a query, and null where it is allowed", async () => {
    await using server = await scene({ script: [{ text: "needle" }] })
    const [client] = server.clients as [Client]
    const { id } = await client.sessions.create()
    await client.session(id).ask({ text: "Find the needle" })
    const child = await client.sessions.create({ parentID: id })
    await client.session(child.id).archive()
    expect((await client.sessions.list({ parentID: null })).items.map((one) => one.id)).toEqual([id])
    expect((await client.sessions.list({ parentID: id, archived: true })).items).toHaveLength(1)
    expect((await client.sessions.list({ archived: false })).items.map((one) => one.id)).toEqual([id])
    const { hits } = await client.sessions.search({ text: "needle", kinds: ["text"], limit: 1 })
    expect(hits).toMatchObject([{ kind: "text", sessionID: id }])
    const { hits: all } = await client.sessions.search({ text: "needle", kinds: ["text", "title"] })
    expect(new Set(all.map(({ kind }) => kind))).toEqual(new Set(["text", "title"]))
  })

  it("use the client's directory unless the call names another one", async () => {
    await using server = await scene()
    const client = createClient({ fetch: server.server.app.fetch, directory: server.directory })
    const { id, directory } = await client.sessions.create()
    expect(directory).toBe(server.directory)
    expect((await client.sessions.list()).items.map((one) => one.id)).toEqual([id])
    const elsewhere = createClient({ fetch: server.server.app.fetch, directory: "/elsewhere" })
    expect((await elsewhere.sessions.list()).items).toEqual([])
    expect((await elsewhere.sessions.list({ directory: server.directory })).items).toHaveLength(1)
  })

  it("return bytes as bytes", async () => {
    await using server = await scene()
    const bytes = new Uint8Array([0, 1, 2, 250, 255])
    const hash = await server.stemma.store.blobs.put(bytes)
    for (const client of server.clients) expect(await client.place.blob({ hash })).toEqual(bytes)
  })
})

describe("a call that fails", () => {
  it("throws the server's code, message and details, with the status", async () => {
    await using server = await scene()
    for (const client of server.clients) {
      const session = client.session("ses_01k00000000000000000000000")
      const missing = await failure(session.info())
      expect(missing).toMatchObject({ code: "not_found", details: { status: 404 } })
      expect(missing.message).toContain("no session")
      const { id } = await client.sessions.create()
      const wrong = await failure(
        client.session(id).prompt({ text: "a", parts: [{ type: "text", text: "b" }] }),
      )
      expect(wrong).toMatchObject({ code: "invalid", details: { status: 400 } })
      const odd = await failure(client.sessions.list({ limit: 0 }))
      expect(odd).toMatchObject({ code: "invalid", details: { issues: [{ path: ["query", "limit"] }] } })
    }
  })

  it("with a wrong token is denied, and no error contains the token", async () => {
    await using server = await scene()
    const secret = "another-token-that-is-wrong"
    const client = createClient({ baseUrl: server.url, token: secret })
    const error = await failure(client.sessions.list())
    expect(error).toMatchObject({ code: "denied", details: { status: 401 } })
    expect(JSON.stringify(error) + error.stack).not.toContain(secret)
    const odd = () => createClient({ baseUrl: server.url, token: "two\nlines" })
    expect(odd).toThrow("The token contains spaces")
  })

  it("after the headers of a slow answer were sent still throws", async () => {
    await using server = await scene()
    for (const client of server.clients) {
      const { id } = await client.sessions.create()
      const error = await failure(client.session(id).compact())
      expect(StemmaError.is(error)).toBe(true)
    }
  })

  it("because the server cannot be reached is unavailable", async () => {
    const server = await listen(() => {})
    await server[Symbol.asyncDispose]()
    const error = await failure(createClient({ baseUrl: server.url }).server.health())
    expect(error).toMatchObject({ code: "unavailable" })
    expect(error.message).toContain(server.url)
  })

  it.each([
    ["an answer that is cut off", 200, '{"status": "o', "unavailable"],
    ["a page instead of JSON", 200, "<html>", "unavailable"],
    ["a gateway without a server", 502, "<html>", "unavailable"],
    ["too many requests", 429, "", "unavailable"],
    ["a status without a body", 418, "", "unavailable"],
    ["a failure without a body", 500, "", "unavailable"],
    ["a refusal without an error object", 403, "no", "unavailable"],
    ["a missing page", 404, "<html>", "unavailable"],
    ["a JSON error of another server", 404, '{"error": "Not Found"}', "unavailable"],
    ["an error of a Stemma server", 403, '{"code": "denied", "message": "No."}', "denied"],
  ])("because of %s has the expected code", async (_, status, body, code) => {
    await using server = await listen((_request, response) => {
      response.writeHead(status, { "retry-after": "3", "content-type": "text/html" }).end(body)
    })
    const error = await failure(createClient({ baseUrl: server.url }).server.health())
    expect(error.code).toBe(code)
    if (status !== 200) expect(error.details).toEqual({ status, retryAfterMs: 3000 })
  })

  it("because of a redirect does not send the token to the new address", async () => {
    let asked = 0
    await using other = await listen((_request, response) => {
      asked++
      response.end("{}")
    })
    await using server = await listen((_request, response) => {
      response.writeHead(307, { location: other.url }).end()
    })
    expect(await failure(createClient({ baseUrl: server.url, token }).server.health())).toMatchObject({
      code: "unavailable",
    })
    expect(asked).toBe(0)
  })

  it("because its signal aborted throws the signal's reason immediately", async () => {
    await using server = await listen(() => {})
    const client = createClient({ baseUrl: server.url })
    await expect(client.server.health({ signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: "TimeoutError",
    })
    await expect(client.server.health({ signal: AbortSignal.abort("why") })).rejects.toBe("why")
    const deaf = createClient({ fetch: () => new Promise(() => {}) })
    await expect(deaf.sessions.list({}, { signal: AbortSignal.timeout(20) })).rejects.toMatchObject({
      name: "TimeoutError",
    })
  })

  it("because of invalid arguments throws before a request is sent", async () => {
    const client = createClient({ fetch: () => Promise.reject(new Error("sent")) })
    expect(await failure(client.session("..").info())).toMatchObject({ code: "invalid" })
    expect(await failure(client.session("").remove())).toMatchObject({ code: "invalid" })
    const info = client.place.blob as (input: object) => Promise<unknown>
    expect(await failure(info({ hash: "x", colour: "red" }))).toMatchObject({ code: "invalid" })
    expect(() => createClient({} as never)).toThrow("The client needs `baseUrl`")
    expect(() => createClient({ baseUrl: "127.0.0.1:4096" })).toThrow("is not an http or https address")
  })

  it("sends an id as one path segment, whatever it contains", async () => {
    const urls: string[] = []
    const client = createClient({
      baseUrl: "https://example.org/stemma/#token",
      fetch: async (request) => {
        urls.push(request.url)
        return Response.json({})
      },
    })
    await client.session("a/../b?c#d").info()
    expect(urls).toEqual(["https://example.org/stemma/sessions/a%2F..%2Fb%3Fc%23d"])
  })
})
