import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { growingText } from "../../src/models/adapter/growing-text.ts"
import { DeltaJoiner, withJoinedDeltas } from "../../src/models/adapter/join-deltas.ts"
import { testSeed } from "../support/seed.ts"

const chat = (delta: object, more: object = {}) => ({
  id: "c1",
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})
const sse = (...events: object[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")

function joinedText(...pieces: string[]): string {
  const joiner = new DeltaJoiner()
  const out = pieces.flatMap((piece) => joiner.push(Buffer.from(piece)) ?? [])
  return Buffer.concat([...out, joiner.end() ?? Buffer.alloc(0)]).toString()
}

function eventsIn(text: string): unknown[] {
  return [...text.matchAll(/^data: (\{.*\})$/gm)].map((match) => JSON.parse(match[1]!))
}

describe("deltas that arrive in one read", () => {
  test("are joined, and a single delta is not changed", () => {
    const [a, b, c] = ["One ", "two ", "three"].map((content) => chat({ content }))
    expect(eventsIn(joinedText(sse(a!, b!), sse(c!)))).toEqual([chat({ content: "One two " }), c])
  })

  test.each([
    ["if they belong to two fields", chat({ content: "a" }), chat({ reasoning_content: "b" })],
    ["if they belong to two answers", chat({ content: "a" }), { ...chat({ content: "b" }), id: "c2" }],
    ["if they belong to two choices", chat({ content: "a" }), chat({ content: "b" }, { index: 1 })],
    ["if one has a role", chat({ role: "assistant", content: "" }), chat({ content: "b" })],
    ["if one has a finish reason", chat({ content: "a" }), chat({ content: "b" }, { finish_reason: "stop" })],
    ["if one has usage", chat({ content: "a" }), { ...chat({ content: "b" }), usage: { total_tokens: 1 } }],
    ["if one has an error", chat({ content: "a" }), { ...chat({ content: "b" }), error: { message: "no" } }],
    [
      "if one has probabilities",
      chat({ content: "a" }),
      chat({ content: "b" }, { logprobs: { content: [] } }),
    ],
    [
      "if they belong to tool calls",
      chat({ tool_calls: [{ index: 0 }] }),
      chat({ tool_calls: [{ index: 0 }] }),
    ],
    ["if they are other events", { type: "ping" }, { type: "ping" }],
  ])("are not joined %s", (_, first, second) => {
    expect(joinedText(sse(first, second))).toBe(sse(first, second))
  })

  test("of Anthropic and of OpenAI's Responses API are joined with their event names", () => {
    const block = (text: string) =>
      `event: content_block_delta\ndata: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`
    expect(joinedText(block("a") + block("b"))).toBe(block("ab"))
    const response = (delta: string, n: number) =>
      `event: response.output_text.delta\ndata: ${JSON.stringify({ type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta, sequence_number: n })}\n\n`
    expect(joinedText(response("a", 1) + response("b", 2))).toBe(response("ab", 1))
  })

  test("events that are not JSON, or have other line ends or comments, are not changed", () => {
    for (const text of [
      "data: {oops\n\ndata: {oops\n\n",
      sse(chat({ content: "a" }), chat({ content: "b" })).replaceAll("\n", "\r\n"),
      ": hello\n\n: hello\n\n",
      "data: [DONE]\n\ndata: [DONE]\n\n",
      "data: 1\ndata: 2\n\ndata: 1\ndata: 2\n\n",
      "no end",
    ]) {
      expect(joinedText(text)).toBe(text)
    }
  })
})

test("the joined stream has the same content in the same order, however its bytes are split", () => {
  const { seed, path } = testSeed("joined deltas")
  const delta = fc.oneof(
    fc.record({ content: fc.string({ unit: "binary", maxLength: 6 }) }),
    fc.record({ reasoning_content: fc.string({ maxLength: 4 }) }),
    fc.constant({ tool_calls: [{ index: 0, function: { arguments: "{" } }] }),
  )
  const events = fc.array(
    fc.oneof(
      { weight: 6, arbitrary: delta.map((one) => sse(chat(one))) },
      {
        weight: 1,
        arbitrary: fc.constantFrom("data: [DONE]\n\n", ": ping\n\n", "data: {bad\n\n", sse({ type: "ping" })),
      },
    ),
    { maxLength: 20 },
  )
  const cuts = fc.array(fc.nat(3000), { maxLength: 12 })
  fc.assert(
    fc.property(events, cuts, (given, at) => {
      const bytes = Buffer.from(given.join(""))
      const places = [0, ...at.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length]
      const joiner = new DeltaJoiner()
      const out: Uint8Array[] = []
      for (let index = 1; index < places.length; index++) {
        const piece = bytes.subarray(places[index - 1], places[index])
        const pushed = joiner.push(piece)
        if (pushed) out.push(pushed)
      }
      const rest = joiner.end()
      if (rest) out.push(rest)
      expect(said(Buffer.concat(out).toString())).toEqual(said(bytes.toString()))
    }),
    { seed, ...(path !== undefined && { path }) },
  )
})

/** The content of a stream for a reader: consecutive texts of one kind joined. */
function said(text: string): unknown[] {
  const found: { key: string; text: string }[] = []
  for (const event of text.split("\n\n").slice(0, -1)) {
    const growing = grown(event)
    const last = found.at(-1)
    if (growing && last?.key === growing.key) last.text += growing.text
    else found.push(growing ? { key: growing.key, text: growing.text } : { key: event, text: "" })
  }
  return found
}

function grown(event: string) {
  try {
    return growingText(JSON.parse(event.slice("data: ".length)))
  } catch {
    return undefined
  }
}

test("a response that is not an event stream is not changed, and a broken stream still breaks", async () => {
  const plain = Response.json({ content: "a" })
  expect(withJoinedDeltas(plain)).toBe(plain)
  const failure = new Error("reset")
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(Buffer.from(sse(chat({ content: "a" }))))
      controller.error(failure)
    },
  })
  const broken = withJoinedDeltas(new Response(body, { headers: { "content-type": "text/event-stream" } }))
  await expect(broken.text()).rejects.toBe(failure)
})
