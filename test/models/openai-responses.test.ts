import { expect, test } from "vitest"
import type { ContextMessage } from "../../src/session/index.ts"
import { events, failure, modelAt, textOf, types, userText } from "./ask.ts"
import { startSseServer } from "./sse-server.ts"

const id = "gpt-5"
const item = {
  id: "rs_1",
  type: "reasoning",
  summary: [] as object[],
  encrypted_content: null as string | null,
}
const created = { type: "response.created", response: { id: "resp_1", created_at: 1, model: id } }
const completed = {
  type: "response.completed",
  response: {
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 8 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 5 },
    },
  },
}
const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: "" }

const answer = [
  created,
  { type: "response.output_item.added", output_index: 0, item },
  { type: "response.reasoning_summary_part.added", item_id: "rs_1", summary_index: 0 },
  { type: "response.reasoning_summary_text.delta", item_id: "rs_1", summary_index: 0, delta: "hm" },
  { type: "response.reasoning_summary_part.done", item_id: "rs_1", summary_index: 0 },
  { type: "response.output_item.done", output_index: 0, item: { ...item, encrypted_content: "sealed" } },
  { type: "response.output_item.added", output_index: 1, item: { type: "message", id: "msg_1" } },
  { type: "response.output_text.delta", item_id: "msg_1", delta: "Hi" },
  { type: "response.output_item.done", output_index: 1, item: { type: "message", id: "msg_1" } },
  { type: "response.output_item.added", output_index: 2, item: call },
  { type: "response.function_call_arguments.delta", item_id: "fc_1", output_index: 2, delta: "{}" },
  {
    type: "response.output_item.done",
    output_index: 2,
    item: { ...call, arguments: "{}", status: "completed" },
  },
  completed,
]
const tool = { name: "read", description: "Reads.", inputSchema: { type: "object", properties: {} } }

test("OpenAI stores nothing: encrypted reasoning is returned and sent back instead", async () => {
  await using server = await startSseServer()
  const model = await modelAt(server.url, "@ai-sdk/openai", { id, options: { api: "responses" } })
  server.answers.push(answer)
  const all = await events(model, { tools: [tool], variant: "high" })
  expect(server.requests[0]!.url).toBe("/responses")
  expect(server.requests[0]!.body).toMatchObject({
    store: false,
    include: ["reasoning.encrypted_content"],
    reasoning: { effort: "high" },
  })
  expect(textOf(all)).toBe("Hi")
  expect(types(all)).toContain("tool-call")
  expect(all.at(-1)).toMatchObject({
    reason: "tool-calls",
    usage: { input: 12, output: 4, reasoning: 5, cache: { read: 8, write: 0 } },
  })
  const reasoning = all.find((event) => event.type === "reasoning-end")!
  expect(reasoning.metadata).toEqual({ openai: { itemId: "rs_1", reasoningEncryptedContent: "sealed" } })
  const called = all.find((event) => event.type === "tool-call")!
  const text = all.find((event) => event.type === "text-end")!

  const messages: ContextMessage[] = [
    userText("hello"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", metadata: reasoning.metadata! },
        { type: "text", text: "Hi", ...(text.metadata && { metadata: text.metadata }) },
        { type: "tool-call", callID: called.id, tool: "read", input: {}, metadata: called.metadata! },
      ],
    },
    {
      role: "tool",
      content: [{ type: "tool-result", callID: called.id, tool: "read", isError: false, output: "done" }],
    },
  ]
  server.answers.push(answer)
  await events(model, { messages, tools: [tool] })
  const input = JSON.stringify(server.requests[1]!.body.input)
  expect(input).toContain('"encrypted_content":"sealed"')
  expect(input).not.toContain("item_reference")
  expect(input).toContain('"function_call_output"')
})

test("an answer that fails or is cut off is an error", async () => {
  await using server = await startSseServer()
  const model = await modelAt(server.url, "@ai-sdk/openai", { id, options: { api: "responses" } })
  const failed = { error: { code: "rate_limit_exceeded", message: "Slow down." } }
  server.answers.push(
    [created, { type: "response.failed", sequence_number: 1, response: failed }],
    answer.slice(0, 8),
    [
      created,
      {
        type: "error",
        sequence_number: 1,
        code: "context_length_exceeded",
        message: "Your input exceeds the context window.",
      },
    ],
  )
  expect((await failure(model)).error).toMatchObject({ kind: "rate" })
  expect((await failure(model)).error).toMatchObject({ kind: "malformed" })
  expect((await failure(model)).error).toMatchObject({ kind: "context" })
})
