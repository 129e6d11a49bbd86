import type { AnswerCall, PlainAnswer } from "./answer.ts"
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

/** Chat completions as OpenAI and compatible servers stream them. */
export const openai: WireProtocol = {
  name: "openai",
  frames,
  whole,
  refusal: (status) => ({ error: { ...refusals[status], ...(!refusals[status] && serverError) } }),
  contextLength: {
    error: {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072 tokens. " +
        "Please reduce the length of the messages.",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  },
  malformed: 'data: {"id":"chatcmpl-test","choices":[{"index":0,"delta":{"content":"bro\n\n',
  errorEvent: `data: ${JSON.stringify({
    error: {
      message: "The server had an error while processing your request.",
      type: "server_error",
      param: null,
      code: "server_error",
    },
  })}\n\n`,
}

const serverError = {
  message: "The server had an error while processing your request. Sorry about that!",
  type: "server_error",
  param: null,
  code: null,
}

const refusals: Record<number, object> = {
  400: { message: "Invalid value in the request.", type: "invalid_request_error", param: null, code: null },
  401: {
    message: "Incorrect API key provided.",
    type: "invalid_request_error",
    param: null,
    code: "invalid_api_key",
  },
  404: {
    message: "The model does not exist.",
    type: "invalid_request_error",
    param: null,
    code: "model_not_found",
  },
  429: {
    message: "Rate limit reached for requests.",
    type: "requests",
    param: null,
    code: "rate_limit_exceeded",
  },
}

const finishWords: Record<string, string> = {
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
}

const envelope = {
  id: "chatcmpl-test",
  object: "chat.completion.chunk",
  created: 1_800_000_000,
  model: "test",
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

function chunk(delta: object, finish: string | null = null): string {
  return data({ ...envelope, choices: [{ index: 0, delta, finish_reason: finish }] })
}

function frames(answer: PlainAnswer, options: FrameOptions): Frames {
  const finish = finishOf(answer)
  const usage = options.includeUsage ? data({ ...envelope, choices: [], usage: wireUsage(answer) }) : ""
  return {
    head: chunk({ role: "assistant", content: "" }),
    deltas: [
      ...deltasOf(answer.reasoning, answer.chunk).map((text) => chunk({ reasoning_content: text })),
      ...deltasOf(answer.text, answer.chunk).map((text) => chunk({ content: text })),
      ...(answer.calls ?? []).flatMap((call, index) => callChunks(call, { index, answer, options })),
    ],
    tail: `${chunk({}, finishWords[finish] ?? finish)}${usage}data: [DONE]\n\n`,
  }
}

function callChunks(
  call: AnswerCall,
  { index, answer, options }: { index: number; answer: PlainAnswer; options: FrameOptions },
): string[] {
  const opening = {
    index,
    id: call.id ?? options.callID(),
    type: "function",
    function: { name: call.tool, arguments: "" },
  }
  return [
    chunk({ tool_calls: [opening] }),
    ...inputDeltas(call, answer.chunk).map((text) =>
      chunk({ tool_calls: [{ index, function: { arguments: text } }] }),
    ),
  ]
}

/** In this protocol the prompt tokens include the cached tokens, and the completion tokens include the reasoning. */
function wireUsage(answer: PlainAnswer): object {
  const { input, output, reasoning, cache } = usageOf(answer)
  const prompt = input + cache.read + cache.write
  return {
    prompt_tokens: prompt,
    completion_tokens: output + reasoning,
    total_tokens: prompt + output + reasoning,
    prompt_tokens_details: { cached_tokens: cache.read },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }
}

function whole(answer: PlainAnswer, options: FrameOptions): object {
  const finish = finishOf(answer)
  const reasoning = joined(answer.reasoning)
  const calls = answer.calls?.map((call) => ({
    id: call.id ?? options.callID(),
    type: "function",
    function: { name: call.tool, arguments: inputText(call) },
  }))
  const message = {
    role: "assistant",
    content: joined(answer.text) || null,
    ...(reasoning && { reasoning_content: reasoning }),
    ...(calls?.length && { tool_calls: calls }),
  }
  return {
    ...envelope,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: finishWords[finish] ?? finish }],
    usage: wireUsage(answer),
  }
}
