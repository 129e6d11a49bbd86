/** The wire protocols of the provider packages. */
export type HostileApi = "chat" | "responses" | "anthropic" | "google"

/** The events of an answer in one protocol, each as the text of a server-sent event. */
export interface AnswerEvents {
  start(): string
  text(delta: string): string
  /** The start of call `n`, a part of its arguments as text, and its end. */
  callStart(n: number): string
  callInput(n: number, text: string): string
  callEnd(n: number, input: string): string
  finish(): string
}

/** The tool that the calls name. It writes what it is given. */
export const hostileTool = "write"

function sse(value: { type?: string }): string {
  const name = value.type === undefined ? "" : `event: ${value.type}\n`
  return `${name}data: ${JSON.stringify(value)}\n\n`
}

const chatChunk = (delta: object, more: object = {}) =>
  sse({
    id: "c",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: null, ...more }],
  } as object)

const chat: AnswerEvents = {
  start: () => chatChunk({ role: "assistant" }),
  text: (content) => chatChunk({ content }),
  callStart: (n) =>
    chatChunk({
      tool_calls: [
        { index: n, id: `call_${n}`, type: "function", function: { name: hostileTool, arguments: "" } },
      ],
    }),
  callInput: (n, text) => chatChunk({ tool_calls: [{ index: n, function: { arguments: text } }] }),
  callEnd: () => "",
  finish: () => `${chatChunk({}, { finish_reason: "stop" })}data: [DONE]\n\n`,
}

const anthropic: AnswerEvents = {
  start: () =>
    sse({
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        usage: { input_tokens: 1 },
      },
    } as object) +
    sse({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } } as object),
  text: (text) =>
    sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } } as object),
  callStart: (n) =>
    sse({
      type: "content_block_start",
      index: n + 1,
      content_block: { type: "tool_use", id: `call_${n}`, name: hostileTool, input: {} },
    } as object),
  callInput: (n, partial_json) =>
    sse({
      type: "content_block_delta",
      index: n + 1,
      delta: { type: "input_json_delta", partial_json },
    } as object),
  callEnd: (n) => sse({ type: "content_block_stop", index: n + 1 } as object),
  finish: () =>
    sse({ type: "content_block_stop", index: 0 } as object) +
    sse({
      type: "message_delta",
      delta: { stop_reason: "end_turn" },
      usage: { output_tokens: 1 },
    } as object) +
    sse({ type: "message_stop" }),
}

const google: AnswerEvents = {
  start: () => "",
  text: (text) => sse({ candidates: [{ content: { role: "model", parts: [{ text }] } }] } as object),
  callStart: () => "",
  callInput: () => "",
  callEnd: (n, input) =>
    `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"call_${n}","name":"${hostileTool}","args":${input}}}]}}]}\n\n`,
  finish: () => sse({ candidates: [{ content: { parts: [] }, finishReason: "STOP" }] } as object),
}

const responses: AnswerEvents = {
  start: () =>
    sse({ type: "response.created", response: { id: "r", created_at: 1, model: "m" } } as object) +
    sse({
      type: "response.output_item.added",
      output_index: 0,
      item: { type: "message", id: "i" },
    } as object),
  text: (delta) =>
    sse({
      type: "response.output_text.delta",
      item_id: "i",
      output_index: 0,
      content_index: 0,
      delta,
    } as object),
  callStart: (n) =>
    sse({
      type: "response.output_item.added",
      output_index: n + 1,
      item: { type: "function_call", id: `fc_${n}`, call_id: `call_${n}`, name: hostileTool, arguments: "" },
    } as object),
  callInput: (n, delta) =>
    sse({
      type: "response.function_call_arguments.delta",
      item_id: `fc_${n}`,
      output_index: n + 1,
      delta,
    } as object),
  callEnd: (n, input) =>
    sse({
      type: "response.output_item.done",
      output_index: n + 1,
      item: {
        type: "function_call",
        id: `fc_${n}`,
        call_id: `call_${n}`,
        name: hostileTool,
        arguments: input,
        status: "completed",
      },
    } as object),
  finish: () =>
    sse({
      type: "response.output_item.done",
      output_index: 0,
      item: { type: "message", id: "i", role: "assistant", content: [] },
    } as object) +
    sse({
      type: "response.completed",
      response: { usage: { input_tokens: 1, output_tokens: 1 } },
    } as object),
}

export const answerEvents: Record<HostileApi, AnswerEvents> = { chat, anthropic, google, responses }
