import { afterAll, describe, expect, test } from "vitest"
import type { Model } from "../../src/models/model.ts"
import { modelAt, events as read, textOf } from "./ask.ts"
import { startSseServer } from "./sse-server.ts"

const server = await startSseServer()
afterAll(() => server[Symbol.asyncDispose]())

/**
 * An answer in the words of one API: its events, and the paths of their metadata. A path begins with an event's index.
 */
interface Api {
  name: string
  npm: string
  options?: object
  events: object[]
  /** Counts that all other counts of the answer depend on. */
  counts: string[]
  /** Other metadata of which the answer has no need. */
  others: string[]
}

const chatChunk = (choice: object, more: object = {}) => ({
  id: "c",
  created: 1,
  model: "m",
  system_fingerprint: "f",
  service_tier: "t",
  choices: [{ index: 0, finish_reason: null, logprobs: null, ...choice }],
  ...more,
})

const chatEvents = [
  chatChunk({ delta: { role: "assistant", content: "Whole " } }),
  chatChunk({ delta: { content: "answer." } }),
  chatChunk({ delta: {}, finish_reason: "stop" }),
  chatChunk(
    { delta: {} },
    {
      usage: {
        prompt_tokens: 5,
        completion_tokens: 6,
        total_tokens: 11,
        prompt_tokens_details: { cached_tokens: 1, cache_write_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 1, accepted_prediction_tokens: 1 },
      },
    },
  ),
]
const chat = {
  events: chatEvents,
  counts: ["3.usage.prompt_tokens", "3.usage.completion_tokens", "3.usage"],
  others: [
    ...["id", "created", "model", "system_fingerprint", "service_tier"].map((name) => `1.${name}`),
    ...["1.choices.0.index", "1.choices.0.logprobs", "0.choices.0.delta.role", "2.choices.0.finish_reason"],
    ...["total_tokens", "prompt_tokens_details", "completion_tokens_details"].map(
      (name) => `3.usage.${name}`,
    ),
    ...["prompt_tokens_details.cached_tokens", "prompt_tokens_details.cache_write_tokens"].map(
      (name) => `3.usage.${name}`,
    ),
    "3.usage.completion_tokens_details.reasoning_tokens",
    "3.usage.completion_tokens_details.accepted_prediction_tokens",
    "3.usage.cost",
  ],
}

const apis: Api[] = [
  { name: "a compatible server", npm: "@ai-sdk/openai-compatible", ...chat },
  { name: "Chat Completions of OpenAI", npm: "@ai-sdk/openai", options: { api: "chat" }, ...chat },
  {
    name: "the Responses API of OpenAI",
    npm: "@ai-sdk/openai",
    options: { api: "responses" },
    events: [
      { type: "response.created", response: { id: "r", created_at: 1, model: "m", service_tier: "t" } },
      { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "i" } },
      {
        type: "response.output_text.delta",
        item_id: "i",
        output_index: 0,
        content_index: 0,
        delta: "Whole answer.",
        logprobs: [],
      },
      { type: "response.output_item.done", output_index: 0, item: { type: "message", id: "i" } },
      {
        type: "response.completed",
        response: {
          incomplete_details: null,
          service_tier: "t",
          usage: {
            input_tokens: 5,
            input_tokens_details: { cached_tokens: 1 },
            output_tokens: 6,
            output_tokens_details: { reasoning_tokens: 1 },
            total_tokens: 11,
          },
        },
      },
    ],
    counts: ["4.response.usage.input_tokens", "4.response.usage.output_tokens", "4.response.usage"],
    others: [
      ...["id", "created_at", "model", "service_tier"].map((name) => `0.response.${name}`),
      ...["incomplete_details", "service_tier", "usage.total_tokens", "reasoning"].map(
        (name) => `4.response.${name}`,
      ),
      "2.logprobs",
      "4.response.usage.input_tokens_details",
      "4.response.usage.input_tokens_details.cached_tokens",
      "4.response.usage.output_tokens_details",
      "4.response.usage.output_tokens_details.reasoning_tokens",
    ],
  },
  {
    name: "Anthropic",
    npm: "@ai-sdk/anthropic",
    events: [
      {
        type: "message_start",
        message: {
          id: "m",
          type: "message",
          role: "assistant",
          model: "m",
          content: [],
          stop_reason: null,
          usage: { input_tokens: 5, cache_read_input_tokens: 1, cache_creation_input_tokens: 1 },
        },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Whole answer." } },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: 6, output_tokens_details: { thinking_tokens: 1 } },
      },
      { type: "message_stop" },
    ],
    counts: ["0.message.usage.input_tokens", "4.usage.output_tokens", "0.message.usage", "4.usage"],
    others: [
      ...["id", "model", "role", "service_tier", "stop_reason", "container"].map(
        (name) => `0.message.${name}`,
      ),
      "0.message.usage.cache_read_input_tokens",
      "0.message.usage.cache_creation_input_tokens",
      ...["stop_reason", "stop_sequence", "stop_details", "container"].map((name) => `4.delta.${name}`),
      "4.context_management",
      "4.usage.output_tokens_details",
      "4.usage.output_tokens_details.thinking_tokens",
      "4.usage.iterations",
    ],
  },
  {
    name: "Google",
    npm: "@ai-sdk/google",
    events: [
      {
        responseId: "r",
        modelVersion: "v",
        candidates: [{ content: { parts: [{ text: "Whole answer." }] } }],
      },
      {
        candidates: [{ content: { parts: [] }, finishReason: "STOP", safetyRatings: [], index: 0 }],
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 6,
          totalTokenCount: 11,
          cachedContentTokenCount: 1,
          thoughtsTokenCount: 1,
          promptTokensDetails: [{ modality: "TEXT", tokenCount: 5 }],
        },
      },
    ],
    counts: ["1.usageMetadata.promptTokenCount", "1.usageMetadata.candidatesTokenCount", "1.usageMetadata"],
    others: [
      ...["responseId", "modelVersion", "promptFeedback"].map((name) => `0.${name}`),
      ...["finishReason", "finishMessage", "safetyRatings", "safetyRatings.0", "index"].map(
        (name) => `1.candidates.0.${name}`,
      ),
      "1.candidates.0.groundingMetadata",
      "1.candidates.0.urlContextMetadata",
      ...["totalTokenCount", "cachedContentTokenCount", "thoughtsTokenCount"].map(
        (name) => `1.usageMetadata.${name}`,
      ),
      "1.usageMetadata.trafficType",
      "1.usageMetadata.promptTokensDetails",
      "1.usageMetadata.promptTokensDetails.0.tokenCount",
    ],
  },
]

/** JSON texts, some of them not valid. */
const wrongCounts = ['"12"', "NaN", "-Infinity", "-3", "1e300", "true", "{}", "[7]"]
const wrongOthers = ['"12"', "NaN", "-3", "true", '{"a":{"b":[1]}}', "[null]", '[{"token":5}]', "null"]

/** The stream with this JSON text at the path. */
function withValue(events: object[], path: string, json: string, gap = "\n\n"): string {
  const mark = "value-under-test"
  const copy: unknown = structuredClone(events)
  const keys = path.split(".")
  let at = copy as Record<string, unknown>
  for (const key of keys.slice(0, -1)) at = at[key] as Record<string, unknown>
  at[keys.at(-1)!] = mark
  return (copy as object[])
    .map((event) => `data: ${JSON.stringify(event).replace(`"${mark}"`, () => json)}${gap}`)
    .join("")
}

async function answerTo(model: Model, stream: string) {
  server.answers.push(stream)
  const all = await read(model)
  const finish = all.at(-1)
  return { text: textOf(all), usage: finish?.type === "finish" ? finish.usage : "no finish" }
}

describe.each(apis)("a complete answer of $name", ({ npm, options, events, counts, others }) => {
  const model = () => modelAt(`${server.url}/v1`, npm, { options: { ...options } })

  test("stands with wrong token counts, and they are not counted", async () => {
    const asked = await model()
    for (const path of counts) {
      // An object is what is expected there, even if it has none of the counts.
      const isWhole = /usage(Metadata)?$/.test(path)
      for (const json of wrongCounts.filter((one) => !(isWhole && one.startsWith("{")))) {
        const { text, usage } = await answerTo(asked, withValue(events, path, json))
        expect({ path, json, text, usage }).toEqual({ path, json, text: "Whole answer.", usage: undefined })
      }
    }
  })

  test("stands with other metadata of the wrong type, and its token counts too", async () => {
    const asked = await model()
    for (const path of others) {
      // Without a finish reason the answer is not complete.
      const needsValue = /finish_?reason$/i.test(path)
      for (const json of wrongOthers.filter((one) => !(needsValue && one === "null"))) {
        const { text, usage } = await answerTo(asked, withValue(events, path, json))
        expect({ path, json, text, usage }).toEqual({
          path,
          json,
          text: "Whole answer.",
          usage: expect.objectContaining({ input: expect.any(Number), output: expect.any(Number) }),
        })
      }
    }
  })

  test("stands if its lines end with carriage returns", async () => {
    const { text, usage } = await answerTo(await model(), withValue(events, counts[0]!, "NaN", "\r\n\r\n"))
    expect({ text, usage }).toEqual({ text: "Whole answer.", usage: undefined })
  })
})
