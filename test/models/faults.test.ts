import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as delay } from "node:timers/promises"
import { inspect } from "node:util"
import { afterAll, describe, expect, test } from "vitest"
import { fromLanguageModel } from "../../src/models/adapter/adapter.ts"
import { ModelError } from "../../src/models/model-error.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { events, failure, key, modelAt, request, textOf } from "./ask.ts"

const server = await startModelServer()
afterAll(() => server.close())

/** Waits until the condition holds; the timeout of the test ends the wait. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await delay(5)
}

describe.each(["@ai-sdk/openai-compatible", "@ai-sdk/openai", "@ai-sdk/anthropic"])("%s", (npm) => {
  const model = () => modelAt(server.baseURL, npm)

  test.each([
    [401, "auth", false],
    [403, "auth", false],
    [429, "rate", true],
    [408, "server", true],
    [409, "server", true],
    [500, "server", true],
    [503, "server", true],
    [529, "server", true],
    [400, "refused", false],
    [404, "refused", false],
    [422, "refused", false],
    [413, "context", false],
  ] as const)("status %d becomes an error of kind %s", async (status, kind, isRetryable) => {
    server.script({ fault: "status", status })
    const { error } = await failure(await model())
    expect({ kind: error.kind, isRetryable: error.isRetryable, statusCode: error.statusCode }).toEqual({
      kind,
      isRetryable,
      statusCode: status,
    })
    expect(error.message).toMatch(/^\S.{20,}[.!]$/)
  })

  test("does not retry by itself", async () => {
    server.requests.length = 0
    server.script({ fault: "status", status: 500 })
    await failure(await model())
    expect(server.requests).toHaveLength(1)
  })

  test.each([
    [{ "retry-after-ms": "1500" }, 1500],
    [{ "retry-after": "7" }, 7000],
    [{ "retry-after": "0.25" }, 250],
    [{ "retry-after-ms": "20", "retry-after": "7" }, 20],
  ])("respects %j", async (headers, expected) => {
    server.script({ fault: "status", status: 429, headers })
    const { error } = await failure(await model())
    expect(error.retryAfterMs).toBe(expected)
  })

  test("respects a date in Retry-After", async () => {
    const date = new Date(Date.now() + 60_000).toUTCString()
    server.script({ fault: "status", status: 503, headers: { "retry-after": date } })
    const { error } = await failure(await model())
    expect(error.retryAfterMs).toBeGreaterThan(50_000)
    expect(error.retryAfterMs).toBeLessThanOrEqual(60_000)
  })

  test("keeps only the listed headers, and the first 2,048 characters of the body", async () => {
    server.script({
      fault: "status",
      status: 500,
      headers: { "x-request-id": "req_1", "set-cookie": "a=b", "x-ratelimit-remaining": "3", server: "x" },
      body: "x".repeat(10_000),
    })
    const { error } = await failure(await model())
    expect(error.responseHeaders).toEqual({ "x-request-id": "req_1", "x-ratelimit-remaining": "3" })
    expect(error.responseBody).toBe("x".repeat(2048))
  })

  test("an error never contains the key, wherever the server repeats it", async () => {
    const body = { error: { type: "x", message: `Wrong key ${key}, header: Bearer ${key}` } }
    server.script({ fault: "status", status: 401, headers: { "x-request-id": key }, body })
    const { error } = await failure(await model())
    expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(key)
    expect(JSON.stringify(error.toMessageError({ providerID: "p", modelID: "m" }))).not.toContain(key)
    expect(error.message).toContain("[secret]")
    expect(error.cause).toBeUndefined()
  })

  test("a context that is too long is recognised by the error text", async () => {
    server.script({ fault: "context-length" })
    const { error } = await failure(await model())
    expect(error.kind).toBe("context")
    expect(error.message).toContain("too long for test-provider/m1")
  })

  test("a connection that breaks before the answer is a network failure", async () => {
    server.script({ fault: "reset-before" })
    const { error } = await failure(await model())
    expect(error).toMatchObject({ kind: "network", isRetryable: true })
  })

  test("a connection that breaks during the answer is a network failure, after the text that had arrived", async () => {
    server.script({ fault: "reset-after" })
    const { error, events } = await failure(await model())
    expect(error).toMatchObject({ kind: "network", isRetryable: true })
    expect(textOf(events)).toBe("one two")
  })

  test("a refused connection is a network failure", async () => {
    const http = createServer()
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
    const { port } = http.address() as AddressInfo
    await new Promise((resolve) => http.close(resolve))
    const { error } = await failure(await modelAt(`http://127.0.0.1:${port}/v1`, npm))
    expect(error).toMatchObject({ kind: "network", isRetryable: true })
    expect(error.message).toContain("ECONNREFUSED")
  })

  test.each([2, 0])(
    "a stream that ends without a finish after %d deltas is malformed",
    async (afterDeltas) => {
      server.script({ fault: "truncated", afterDeltas })
      const { error } = await failure(await model())
      expect(error).toMatchObject({ kind: "malformed", isRetryable: true })
      expect(error.message).toContain("cut off")
    },
  )

  test.each([2, 0])("broken JSON in the stream after %d deltas is malformed", async (afterDeltas) => {
    server.script({ fault: "malformed", afterDeltas })
    const { error } = await failure(await model())
    expect(error).toMatchObject({ kind: "malformed", isRetryable: true })
    expect(error.message.length).toBeLessThan(600)
  })

  test.each([2, 0])(
    "an error inside the stream after %d deltas is the provider's failure",
    async (afterDeltas) => {
      server.script({ fault: "error-event", afterDeltas })
      const { error } = await failure(await model())
      expect(error).toMatchObject({ kind: "server", isRetryable: true })
    },
  )

  test("an empty answer is malformed, and the message says that it is empty", async () => {
    server.script({ fault: "empty" })
    const { error } = await failure(await model())
    expect(error).toMatchObject({ kind: "malformed", isRetryable: true })
    expect(error.message).toContain("empty")
  })

  test.each([
    ["in the middle of the answer", false],
    ["before the headers", true],
  ])("silence %s ends by the idle timeout, and the connection is closed", async (_, beforeHeaders) => {
    server.requests.length = 0
    server.script({ fault: "stall", beforeHeaders })
    const { error, events } = await failure(await model(), { idleTimeoutMs: 700 })
    expect(error).toMatchObject({ kind: "stalled", isRetryable: true })
    expect(textOf(events)).toBe(beforeHeaders ? "" : "one two")
    await until(() => server.requests[0]!.aborted)
  })

  test("an abort in the middle of the answer ends the call and the connection soon", async () => {
    server.requests.length = 0
    server.script({ fault: "stall" })
    const controller = new AbortController()
    const seen: string[] = []
    const run = async () => {
      for await (const event of (await model()).stream(request({ signal: controller.signal }))) {
        seen.push(event.type)
        if (seen.includes("text-delta")) controller.abort()
      }
    }
    await expect(run()).rejects.toMatchObject({ kind: "aborted", isRetryable: false })
    await until(() => server.requests[0]!.aborted)
  })

  test("an abort before the headers ends the call, and an abort before the call sends nothing", async () => {
    server.requests.length = 0
    server.script({ fault: "stall", beforeHeaders: true })
    const controller = new AbortController()
    const call = failure(await model(), { signal: controller.signal })
    await until(() => server.requests.length === 1)
    controller.abort()
    expect((await call).error.kind).toBe("aborted")
    await until(() => server.requests[0]!.aborted)
    expect((await failure(await model(), { signal: controller.signal })).error.kind).toBe("aborted")
    expect(server.requests).toHaveLength(1)
  })

  test("a reader that leaves early closes the connection", async () => {
    server.requests.length = 0
    server.script({ fault: "stall" })
    for await (const event of (await model()).stream(request())) if (event.type === "text-delta") break
    await until(() => server.requests[0]!.aborted)
  })

  test("a redirect is not followed, so that the key is sent only to its own address", async () => {
    server.requests.length = 0
    server.script({
      fault: "status",
      status: 307,
      headers: { location: `${server.url}/elsewhere` },
      body: "",
    })
    const { error } = await failure(await model())
    expect(error).toMatchObject({ kind: "refused", statusCode: 307 })
    expect(error.message).toContain("set its baseURL")
    expect(server.requests).toHaveLength(1)
  })
})

test("neither a slow stream nor a slow reader is a stall", async () => {
  server.script({ text: "a b c d e f g h i j", tokenDelayMs: 150 })
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible")
  let text = ""
  for await (const event of model.stream(request({ idleTimeoutMs: 1_000 }))) {
    if (event.type === "text-delta") text += event.text
    if (event.type === "text-start") await delay(1_200)
  }
  expect(text).toBe("a b c d e f g h i j")
})

test("a call leaves no event handler on the signal and no timer", async () => {
  const controller = new AbortController()
  let listeners = 0
  const { signal } = controller
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--
    remove(...args)
  }
  const model = await modelAt(server.baseURL, "@ai-sdk/anthropic")
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length
  const before = timers()
  await events(model, { signal, idleTimeoutMs: 600_000 })
  server.script({ fault: "truncated" })
  await failure(model, { signal, idleTimeoutMs: 600_000 })
  expect(listeners).toBe(0)
  await until(() => timers() <= before)
})

test("an error does not contain a key that cannot be sent", async () => {
  const apiKey = "sk-first-line-1234\nsecond-line-5678"
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible", { options: { apiKey } })
  const { error } = await failure(model)
  expect(error.kind).toBe("refused")
  expect(inspect(error, { depth: 10 })).not.toMatch(/first-line|second-line/)
})

test("a stream that ignores the signal is abandoned", async () => {
  const silent = {
    specificationVersion: "v4",
    provider: "test",
    modelId: "m1",
    supportedUrls: {},
    doStream: async () => ({ stream: new ReadableStream() }),
    doGenerate: () => Promise.reject(new Error("not used")),
  } as const
  const model = fromLanguageModel({
    model: silent,
    api: "openai-chat",
    ref: { providerID: "p", modelID: "m" },
    limit: { context: 0, output: 0 },
    namespace: "p",
    mask: (text) => text,
  })
  const controller = new AbortController()
  const call = failure(model, { signal: controller.signal })
  await delay(20)
  controller.abort()
  expect((await call).error.kind).toBe("aborted")
  expect((await failure(model, { idleTimeoutMs: 30 })).error.kind).toBe("stalled")
})

test("an exhausted quota is not retried", async () => {
  const body = { error: { message: "You exceeded your current quota.", code: "insufficient_quota" } }
  server.script({ fault: "status", status: 429, body })
  const { error } = await failure(await modelAt(server.baseURL, "@ai-sdk/openai-compatible"))
  expect(error).toMatchObject({ kind: "rate", isRetryable: false })
})

test("an error is a ModelError even if the provider's package throws another error", async () => {
  const model = await modelAt(server.baseURL, "@ai-sdk/anthropic")
  const { error } = await failure(model, { variant: "unheard-of" })
  expect(error).toBeInstanceOf(ModelError)
  expect(error).toMatchObject({ kind: "refused", isRetryable: false })
})
