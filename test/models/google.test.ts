import { expect, test } from "vitest"
import type { ContextMessage } from "../../src/session/index.ts"
import { events, failure, key, modelAt, textOf, userText } from "./ask.ts"
import { startSseServer } from "./sse-server.ts"

const answer = (parts: object[], finishReason?: string) => ({
  candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }],
})
const usageMetadata = {
  promptTokenCount: 10,
  cachedContentTokenCount: 4,
  candidatesTokenCount: 3,
  thoughtsTokenCount: 2,
}
const tool = { name: "read", description: "Reads.", inputSchema: { type: "object", properties: {} } }

test("text, reasoning, calls and usage are returned, and thought signatures are sent back", async () => {
  await using server = await startSseServer()
  const model = await modelAt(server.url, "@ai-sdk/google", { id: "gemini-3-pro-preview" })
  server.answers.push([
    answer([{ text: "hm", thought: true }]),
    answer([{ text: "Hel" }]),
    answer([{ text: "lo" }]),
    answer([{ functionCall: { name: "read", args: { path: "a" } }, thoughtSignature: "c2ln" }]),
    { ...answer([], "STOP"), usageMetadata },
  ])
  const all = await events(model, { tools: [tool], variant: "low" })
  expect(textOf(all)).toBe("Hello")
  expect(all.filter((event) => event.type === "reasoning-delta")).toMatchObject([{ text: "hm" }])
  const call = all.find((event) => event.type === "tool-call")!
  expect(JSON.parse(call.input)).toEqual({ path: "a" })
  expect(call.metadata).toEqual({ google: { thoughtSignature: "c2ln" } })
  expect(all.at(-1)).toMatchObject({
    type: "finish",
    reason: "tool-calls",
    usage: { input: 6, output: 3, reasoning: 2, cache: { read: 4, write: 0 } },
  })
  expect(server.requests[0]!.headers["x-goog-api-key"]).toBe(key)
  expect(server.requests[0]!.body).toMatchObject({
    generationConfig: { thinkingConfig: { thinkingLevel: "low", includeThoughts: true } },
    systemInstruction: { parts: [{ text: "You are a test." }] },
  })

  const messages: ContextMessage[] = [
    userText("hello"),
    {
      role: "assistant",
      content: [
        { type: "tool-call", callID: call.id, tool: "read", input: { path: "a" }, metadata: call.metadata! },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          callID: call.id,
          tool: "read",
          isError: false,
          output: "a picture",
          attachments: [{ type: "file", mime: "image/png", url: "data:image/png;base64,AAAA" }],
        },
      ],
    },
  ]
  server.answers.push([{ ...answer([{ text: "ok" }], "STOP"), usageMetadata }])
  await events(model, { messages, tools: [tool] })
  const sent = JSON.stringify(server.requests[1]!.body.contents)
  expect(sent).toContain('"thoughtSignature":"c2ln"')
  expect(sent).toContain('"data":"AAAA"')
})

test("Google's errors for a wrong key, a wait and a context that is too long are recognised", async () => {
  await using server = await startSseServer()
  const model = await modelAt(server.url, "@ai-sdk/google")
  const error = (code: number, status: string, message: string, details: object[] = []) =>
    ({ status: code, body: { error: { code, status, message, details } } }) as const
  server.answers.push(
    error(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    error(429, "RESOURCE_EXHAUSTED", "Quota exceeded.", [{ "@type": "RetryInfo", retryDelay: "13s" }]),
    error(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed.",
    ),
  )
  expect((await failure(model)).error).toMatchObject({ kind: "auth" })
  expect((await failure(model)).error).toMatchObject({ kind: "rate", retryAfterMs: 13_000 })
  expect((await failure(model)).error).toMatchObject({ kind: "context" })
})

test("a URL that Google cannot read becomes a text", async () => {
  await using server = await startSseServer()
  const model = await modelAt(server.url, "@ai-sdk/google")
  server.answers.push([answer([{ text: "ok" }], "STOP")])
  const url = "https://example.com/a.png"
  await events(model, { messages: [{ role: "user", content: [{ type: "file", mime: "image/png", url }] }] })
  expect(JSON.stringify(server.requests[0]!.body.contents)).toContain("cannot be shown to this model")
})
