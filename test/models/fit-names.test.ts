import { afterAll, beforeEach, describe, expect, test } from "vitest"
import { fitToolName } from "../../src/models/adapter/fit-names.ts"
import type { ContextMessage } from "../../src/session/index.ts"
import { type ModelServer, startModelServer } from "../support/model-server/server.ts"
import { events, modelAt, userText } from "./ask.ts"
import { startSseServer } from "./sse-server.ts"

const server: ModelServer = await startModelServer()
afterAll(() => server.close())
beforeEach(() => {
  server.requests.length = 0
})

const oddities = [
  ["call_fine", "read"],
  ["", ""],
  ["has space", " READ\n"],
  ["\u001b[31m\u0000", "\u001b]0;x\u0007"],
  ["x".repeat(100_000), "y".repeat(100_000)],
  ["x".repeat(100_001), "日本語"],
  ["a/b", "a.b"],
  ["a+b", "a b"],
] as const

function history(pairs: readonly (readonly [string, string])[]): ContextMessage[] {
  return [
    userText("go"),
    {
      role: "assistant",
      content: pairs.map(([callID, tool]) => ({ type: "tool-call", callID, tool, input: {} })),
    },
    {
      role: "tool",
      content: pairs.map(([callID, tool]) => ({
        type: "tool-result",
        callID,
        tool,
        isError: false,
        output: "did it",
        attachments: [{ type: "file", mime: "image/png", url: "data:image/png;base64,AAAA" }],
      })),
    },
  ]
}

/** Every value under one of these keys, at any depth. */
function valuesOf(body: unknown, keys: readonly string[]): string[] {
  if (typeof body !== "object" || body === null) return []
  return Object.entries(body).flatMap(([key, value]) =>
    keys.includes(key) && typeof value === "string" ? [value] : valuesOf(value, keys),
  )
}

const fit = /^[A-Za-z0-9_-]{1,64}$/

describe.each([
  ["@ai-sdk/openai-compatible", ["id"], ["tool_call_id"]],
  ["@ai-sdk/openai", ["id"], ["tool_call_id"]],
  ["@ai-sdk/anthropic", ["id"], ["tool_use_id"]],
])("%s", (npm, callKeys, resultKeys) => {
  test("gets only ids and names that it accepts, the same for a call and its result", async () => {
    const model = await modelAt(server.baseURL, npm)
    await events(model, { messages: history(oddities) })
    const { messages } = server.requests[0]!.body as { messages: unknown }
    const called = valuesOf(messages, callKeys)
    expect(called).toHaveLength(oddities.length)
    expect(new Set(called).size).toBe(oddities.length)
    expect(called[0]).toBe("call_fine")
    expect(valuesOf(messages, resultKeys)).toEqual(called)
    for (const one of [...called, ...valuesOf(messages, ["name"])]) expect(one).toMatch(fit)
    expect(JSON.stringify(messages)).not.toMatch(/\\u001b|x{1000}/)
  })

  test("gets the same ids again when the context has grown", async () => {
    const model = await modelAt(server.baseURL, npm)
    const before = history(oddities.slice(0, 4))
    await events(model, { messages: before })
    await events(model, { messages: [...before, ...history(oddities.slice(4))] })
    const [first, second] = server.requests.map(({ body }) => valuesOf(body.messages, callKeys))
    expect(second!.slice(0, first!.length)).toEqual(first)
    expect(new Set(second).size).toBe(oddities.length)
  })

  test("gets a tool under a valid name, and its calls return under the tool's own name", async () => {
    const model = await modelAt(server.baseURL, npm)
    const tools = [{ name: "my tool", description: "", inputSchema: { type: "object", properties: {} } }]
    server.script({ calls: [{ tool: fitToolName("my tool"), input: {}, id: "call_1" }] })
    const all = await events(model, { tools })
    for (const name of valuesOf(server.requests[0]!.body.tools, ["name"])) expect(name).toMatch(fit)
    expect(all.find((event) => event.type === "tool-input-start")).toMatchObject({ tool: "my tool" })
    expect(all.find((event) => event.type === "tool-call")).toMatchObject({ tool: "my tool" })
  })
})

test("the Responses API and Google get only ids and names that they accept", async () => {
  await using other = await startSseServer()
  const messages = history(oddities)
  const ask = async (npm: string, options: { api?: string }) => {
    const model = await modelAt(other.url, npm, { options })
    await events(model, { messages }).catch(() => undefined)
    return other.requests.at(-1)!.body
  }
  const { input } = await ask("@ai-sdk/openai", { api: "responses" })
  const ids = valuesOf(input, ["call_id"])
  expect(ids).toHaveLength(2 * oddities.length)
  expect(new Set(ids).size).toBe(oddities.length)
  for (const one of [...ids, ...valuesOf(input, ["name"])]) expect(one).toMatch(fit)
  const { contents } = await ask("@ai-sdk/google", {})
  const names = valuesOf(contents, ["name", "id"])
  expect(names.length).toBeGreaterThanOrEqual(2 * oddities.length)
  for (const one of names) expect(one).toMatch(fit)
})

test("ids that chat completions accept are sent back unchanged", async () => {
  const model = await modelAt(server.baseURL, "@ai-sdk/openai-compatible")
  await events(model, { messages: history([["functions.read:0", "read"]]) })
  expect(valuesOf(server.requests[0]!.body.messages, ["tool_call_id"])).toEqual(["functions.read:0"])
})
