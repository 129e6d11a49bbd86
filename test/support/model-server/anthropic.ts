import type { PlainAnswer } from "./answer.ts"
import {
  deltasOf,
  type FrameOptions,
  type Frames,
  finishOf,
  inputDeltas,
  inputText,
  joined,
  usageOf,
  type WireProtocol,
} from "./protocol.ts"

/** The messages of Anthropic. */
export const anthropic: WireProtocol = {
  name: "anthropic",
  frames,
  whole,
  refusal: (status) => {
    const [type, message] = refusals[status] ?? ["api_error", "Internal server error"]
    return { type: "error", error: { type, message } }
  },
  contextLength: {
    type: "error",
    error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
  },
  malformed:
    'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"te\n\n',
  errorEvent: event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
}

const refusals: Record<number, [type: string, message: string]> = {
  400: ["invalid_request_error", "messages: the request is not valid"],
  401: ["authentication_error", "invalid x-api-key"],
  403: ["permission_error", "Your API key does not have permission to use the specified resource"],
  404: ["not_found_error", "model: test"],
  413: ["request_too_large", "Request exceeds the maximum size"],
  429: ["rate_limit_error", "This request would exceed your organization's rate limit"],
  503: ["api_error", "Service unavailable"],
  529: ["overloaded_error", "Overloaded"],
}

const finishWords: Record<string, string> = {
  stop: "end_turn",
  length: "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
}

/** The signature of a thinking block, which the client sends back. */
export const signature = "c2lnbmVkIGJ5IHRoZSB0ZXN0IHNlcnZlcg=="

function event(value: { type: string; [key: string]: unknown }): string {
  return `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
}

interface Block {
  start: object
  deltas: object[]
  end?: object
}

function blocksOf(answer: PlainAnswer, options: FrameOptions): Block[] {
  const blocks: Block[] = []
  const thinking = deltasOf(answer.reasoning, answer.chunk)
  if (thinking.length > 0) {
    blocks.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: thinking.map((text) => ({ type: "thinking_delta", thinking: text })),
      end: { type: "signature_delta", signature },
    })
  }
  const text = deltasOf(answer.text, answer.chunk)
  if (text.length > 0) {
    blocks.push({
      start: { type: "text", text: "" },
      deltas: text.map((text) => ({ type: "text_delta", text })),
    })
  }
  for (const call of answer.calls ?? []) {
    blocks.push({
      start: { type: "tool_use", id: call.id ?? options.callID(), name: call.tool, input: {} },
      deltas: ["", ...inputDeltas(call, answer.chunk)].map((text) => ({
        type: "input_json_delta",
        partial_json: text,
      })),
    })
  }
  return blocks
}

/** The start of a block is sent with its first delta and the end with its last, so that only deltas are counted. */
function blockFrames({ start, deltas, end }: Block, index: number): string[] {
  const out = deltas.map((delta) => event({ type: "content_block_delta", index, delta }))
  out[0] = event({ type: "content_block_start", index, content_block: start }) + out[0]
  const signed = end ? event({ type: "content_block_delta", index, delta: end }) : ""
  out[out.length - 1] += signed + event({ type: "content_block_stop", index })
  return out
}

function frames(answer: PlainAnswer, options: FrameOptions): Frames {
  const finish = finishOf(answer)
  const usage = wireUsage(answer)
  const message = {
    id: "msg_test",
    type: "message",
    role: "assistant",
    model: "test",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  }
  return {
    head: event({ type: "message_start", message }) + event({ type: "ping" }),
    deltas: blocksOf(answer, options).flatMap(blockFrames),
    tail:
      event({
        type: "message_delta",
        delta: { stop_reason: finishWords[finish] ?? finish, stop_sequence: null },
        usage,
      }) + event({ type: "message_stop" }),
  }
}

/** In this protocol the input tokens do not include the cache; the output tokens include the thinking. */
function wireUsage(answer: PlainAnswer) {
  const { input, output, reasoning, cache } = usageOf(answer)
  return {
    input_tokens: input,
    cache_creation_input_tokens: cache.write,
    cache_read_input_tokens: cache.read,
    output_tokens: output + reasoning,
    output_tokens_details: { thinking_tokens: reasoning },
  }
}

function whole(answer: PlainAnswer, options: FrameOptions): object {
  const finish = finishOf(answer)
  const thinking = joined(answer.reasoning)
  const text = joined(answer.text)
  return {
    id: "msg_test",
    type: "message",
    role: "assistant",
    model: "test",
    content: [
      ...(thinking ? [{ type: "thinking", thinking, signature }] : []),
      ...(text ? [{ type: "text", text }] : []),
      ...(answer.calls ?? []).map((call) => ({
        type: "tool_use",
        id: call.id ?? options.callID(),
        name: call.tool,
        input: JSON.parse(inputText(call)),
      })),
    ],
    stop_reason: finishWords[finish] ?? finish,
    stop_sequence: null,
    usage: wireUsage(answer),
  }
}
