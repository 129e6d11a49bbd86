import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import type { LanguageModelV4CallOptions, LanguageModelV4Message } from "@ai-sdk/provider"

/** A request as Stemma sent it. */
export interface Sent {
  url: string
  headers: Headers
  body: string
}

export interface Recorder {
  fetch: typeof globalThis.fetch
  /** The last request. */
  last(): Sent
}

/** The process's own fetch, which remembers its last request. */
export function recordRequests(): Recorder {
  let sent: { url: string; init: RequestInit } | undefined
  return {
    fetch: (input, init = {}) => {
      sent = { url: String(input), init }
      return fetch(input, init)
    },
    last: () => {
      const { url, init } = sent!
      return { url, headers: new Headers(init.headers), body: String(init.body) }
    },
  }
}

/** Sends the same bytes and reads the stream to its end, nothing else. */
export function bareLoop({ url, headers, body }: Sent): () => Promise<void> {
  const bytes = Buffer.from(body)
  const given = Object.fromEntries(headers)
  return async () => {
    const response = await fetch(url, { method: "POST", headers: given, body: bytes })
    const reader = response.body!.getReader()
    while (!(await reader.read()).done);
  }
}

interface WireBody {
  messages: { role: "system" | "user" | "assistant"; content: string }[]
  tools?: { function: { name: string; description: string; parameters: object } }[]
  max_tokens?: number
}

/** Sends the same request through the model of the AI SDK and drops its events. */
export function doStreamAlone({ url, body }: Sent): () => Promise<void> {
  const provider = createOpenAICompatible({
    name: "local",
    baseURL: url.replace(/\/chat\/completions$/, ""),
    apiKey: "bench",
    includeUsage: true,
  })
  const model = provider("m1")
  const options = callOptions(JSON.parse(body) as WireBody)
  return async () => {
    const { stream } = await model.doStream(options)
    const reader = stream.getReader()
    while (!(await reader.read()).done);
  }
}

function callOptions({ messages, tools = [], max_tokens: maxOutputTokens }: WireBody) {
  const options: LanguageModelV4CallOptions = {
    prompt: messages.map(promptMessage),
    maxOutputTokens,
    tools: tools.map(({ function: { name, description, parameters: inputSchema } }) => ({
      type: "function",
      name,
      description,
      inputSchema,
    })),
    toolChoice: { type: "auto" },
  }
  return options
}

function promptMessage({ role, content }: WireBody["messages"][number]): LanguageModelV4Message {
  return role === "system" ? { role, content } : { role, content: [{ type: "text", text: content }] }
}
