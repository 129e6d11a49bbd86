import { afterAll, beforeEach, describe, expect, test } from "vitest"
import type { Model } from "../../src/models/model.ts"
import type { ContextMessage } from "../../src/session/index.ts"
import { type ModelServer, startModelServer } from "../support/model-server/server.ts"
import { events, key, modelAt, textOf, types, userText } from "./ask.ts"

const server: ModelServer = await startModelServer()
afterAll(() => server.close())
beforeEach(() => {
  server.requests.length = 0
})

const tool = {
  name: "read",
  description: "Reads a file.",
  inputSchema: { type: "object", properties: { path: { type: "string" } } },
}

const lastBody = () => server.requests.at(-1)!.body

describe.each(["@ai-sdk/openai-compatible", "@ai-sdk/openai", "@ai-sdk/anthropic"])("%s", (npm) => {
  const isAnthropic = npm === "@ai-sdk/anthropic"
  let model: Model
  beforeEach(async () => {
    model = await modelAt(server.baseURL, npm)
  })

  test("streams text delta by delta and ends with a finish and disjoint token counts", async () => {
    server.script({
      text: ["One ", "two", " three."],
      tokenDelayMs: 30,
      usage: { input: 7, output: 3, reasoning: 2, cache: { read: 11, write: 0 } },
    })
    const all = await events(model)
    expect(all.filter((event) => event.type === "text-delta").map((event) => event.text)).toEqual([
      "One ",
      "two",
      " three.",
    ])
    expect(types(all)).toEqual(["text-start", "text-delta", "text-end", "finish"])
    expect(all.at(-1)).toMatchObject({
      type: "finish",
      reason: "stop",
      usage: { input: 7, output: 3, reasoning: 2, cache: { read: 11, write: 0 } },
    })
  })

  test("returns each of several calls with its streamed input", async () => {
    server.script({
      calls: [
        { tool: "read", input: { path: "a.ts" }, id: "call_a" },
        { tool: "read", input: { path: "b.ts" }, id: "call_b" },
      ],
      chunk: 4,
    })
    const all = await events(model, { tools: [tool] })
    const calls = all.filter((event) => event.type === "tool-call")
    expect(calls.map(({ id, tool, input }) => [id, tool, JSON.parse(input)])).toEqual([
      ["call_a", "read", { path: "a.ts" }],
      ["call_b", "read", { path: "b.ts" }],
    ])
    for (const { id, input } of calls) {
      const streamed = all.flatMap((event) =>
        event.type === "tool-input-delta" && event.id === id ? [event.text] : [],
      )
      expect(streamed.length).toBeGreaterThan(1)
      expect(streamed.join("")).toBe(input)
    }
    expect(all.at(-1)).toMatchObject({ type: "finish", reason: "tool-calls" })
    expect(JSON.stringify(lastBody().tools)).toContain("Reads a file.")
  })

  test("returns the input of a call as the model wrote it, valid JSON or not", async () => {
    server.script({ calls: [{ tool: "read", input: '{"path": "a.ts"', id: "call_a" }] })
    const all = await events(model, { tools: [tool] })
    expect(all.find((event) => event.type === "tool-call")).toMatchObject({ input: '{"path": "a.ts"' })
  })

  test.skipIf(npm === "@ai-sdk/openai")("returns reasoning separately from text", async () => {
    server.script({ reasoning: "Let me think.", text: "Done." })
    const all = await events(model)
    expect(types(all)).toEqual([
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
      "finish",
    ])
    expect(textOf(all)).toBe("Done.")
  })

  test("an unknown finish reason is `other`", async () => {
    server.script({ fault: "unknown-finish" })
    expect((await events(model)).at(-1)).toMatchObject({ type: "finish", reason: "other" })
  })

  test("sends images from data URLs, blobs and URLs, and text files as text", async () => {
    const picture = Buffer.from("89504e470d0a1a0a", "hex")
    const file = { type: "file", filename: "x" } as const
    const message: ContextMessage = {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { ...file, mime: "image/png", url: `data:image/png;base64,${picture.toString("base64")}` },
        { ...file, mime: "image/jpg", url: "blob:abc" },
        { ...file, mime: "image/webp", url: "https://example.com/a.webp" },
        { ...file, mime: "text/x-python", url: "file:///a.py", filename: "a.py" },
        { ...file, mime: "application/zip", url: "blob:zip", filename: "a.zip" },
        { ...file, mime: "image/png", url: "blob:gone", filename: "gone.png" },
      ],
    }
    const contents: Record<string, Uint8Array> = {
      "blob:abc": Buffer.from("jpeg"),
      "file:///a.py": Buffer.from("print(1)"),
      "blob:zip": Buffer.from("zip"),
    }
    await events(model, {
      messages: [message],
      readFile: async (url) => contents[url] ?? Promise.reject(new Error("gone")),
    })
    const sent = JSON.stringify(lastBody().messages)
    expect(sent).toContain(picture.toString("base64"))
    expect(sent).toContain(Buffer.from("jpeg").toString("base64"))
    expect(sent).toContain("image/jpeg")
    expect(sent).toContain("https://example.com/a.webp")
    expect(sent).toContain("print(1)")
    expect(sent).toContain("a.zip (application/zip) is of a type that this model does not take")
    expect(sent).toContain("gone.png (image/png) could not be read")
    expect(sent).not.toContain(Buffer.from("zip").toString("base64"))
  })

  test("sends the model an image that a tool returned", async () => {
    const picture = Buffer.from("a picture").toString("base64")
    const messages: ContextMessage[] = [
      userText("look at it"),
      {
        role: "assistant",
        content: [{ type: "tool-call", callID: "c1", tool: "read", input: { path: "x" } }],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            callID: "c1",
            tool: "read",
            isError: false,
            output: "a picture",
            attachments: [{ type: "file", mime: "image/png", url: `data:image/png;base64,${picture}` }],
          },
        ],
      },
    ]
    await events(model, { messages, tools: [tool] })
    const { messages: sent } = lastBody()
    expect(JSON.stringify(sent)).toContain(picture)
    const texts = sent.filter((one) => one.role === "tool").map((one) => one.content)
    expect(texts).toEqual(isAnthropic ? [] : ["a picture"])
  })

  test("sends the key only in the header that the provider expects", async () => {
    await events(model)
    const { headers } = server.requests.at(-1)!
    expect(isAnthropic ? headers["x-api-key"] : headers.authorization).toBe(
      isAnthropic ? key : `Bearer ${key}`,
    )
  })

  test("a message is converted once, however often it is sent", async () => {
    let reads = 0
    const counted = new Proxy(
      { type: "text" as const, text: "hello" },
      {
        get: (target, name) => {
          if (name === "text") reads++
          return Reflect.get(target, name)
        },
      },
    )
    const messages: ContextMessage[] = [{ role: "user", content: [counted] }]
    await events(model, { messages })
    const afterFirst = reads
    await events(model, { messages: [...messages, userText("and again")] })
    expect(reads).toBe(afterFirst)
    expect(JSON.stringify(lastBody().messages)).toContain("hello")
  })
})

test("several system texts become one message, because many models accept only one", async () => {
  await events(await modelAt(server.baseURL, "@ai-sdk/openai-compatible"), { system: ["first", "second"] })
  expect(lastBody().messages.filter(({ role }) => role === "system")).toEqual([
    { role: "system", content: "first\n\nsecond" },
  ])
})

test("reasoning is sent back to a compatible server with the text that followed it", async () => {
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible")
  const messages: ContextMessage[] = [
    userText("hello"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "hi" },
      ],
    },
    userText("more"),
  ]
  await events(model, { messages })
  expect(lastBody().messages[2]).toMatchObject({ role: "assistant", content: "hi", reasoning_content: "hm" })
})

test("settings, variant and options of config and request are sent, and the request's options win", async () => {
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible", {
    models: { m1: { id: "real-name", options: { seed: 1, top_k: 5 } } },
  })
  await events(model, {
    maxOutputTokens: 100,
    temperature: 0.5,
    topP: 0.9,
    variant: "high",
    options: { "test-provider": { seed: 2 }, other: { seed: 3 } },
  })
  expect(lastBody()).toMatchObject({
    model: "real-name",
    max_tokens: 100,
    temperature: 0.5,
    top_p: 0.9,
    reasoning_effort: "high",
    seed: 2,
    top_k: 5,
  })
})

test("an effort that only the provider knows is passed on", async () => {
  await events(await modelAt(server.baseURL, "@ai-sdk/openai-compatible"), { variant: "ludicrous" })
  expect(lastBody()).toMatchObject({ reasoning_effort: "ludicrous" })
})

test("tools can be switched off or required", async () => {
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible")
  await events(model, { tools: [tool], toolChoice: "required" })
  expect(lastBody().tool_choice).toBe("required")
  await events(model, { tools: [], toolChoice: "required" })
  expect(lastBody()).not.toHaveProperty("tool_choice")
})

test("a server that reports no tokens gives a finish without usage", async () => {
  const { createServer } = await import("node:http")
  await using bare = await listening(
    createServer((_, response) => {
      const chunk = (choice: object) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.end(chunk({ delta: { content: "hi" } }) + chunk({ delta: {}, finish_reason: "stop" }))
    }),
  )
  const all = await events(await modelAt(`${bare.url}/v1`, "@ai-sdk/openai-compatible"))
  expect(all.at(-1)).toEqual({ type: "finish", reason: "stop" })
})

async function listening(http: import("node:http").Server) {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(http.address() as import("node:net").AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}
