import { spawn } from "node:child_process"
import { once } from "node:events"
import { createConnection } from "node:net"
import { createInterface } from "node:readline"
import { setTimeout as delay } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  type Answer,
  defaultText,
  type ModelServer,
  type ProtocolName,
  signature,
  startModelServer,
} from "./model-server/server.ts"
import { rejection } from "./rejection.ts"

const paths: Record<ProtocolName, string> = { openai: "/v1/chat/completions", anthropic: "/v1/messages" }

/** What was read of an answer: its JSON events as far as they could be parsed. */
interface Read {
  status: number
  headers: Headers
  text: string
  events: Event[]
  failed?: unknown
}

type Event = Record<string, unknown> & {
  type?: string
  delta?: Record<string, unknown>
  choices?: { delta: Record<string, unknown>; finish_reason: string | null }[]
  usage?: Record<string, unknown>
}

interface AskOptions {
  protocol: ProtocolName
  text?: string
  messages?: unknown[]
  body?: object
  signal?: AbortSignal
}

function ask(server: ModelServer, options: AskOptions): Promise<Response> {
  const { protocol, text = "hello", messages = [{ role: "user", content: text }], body, signal } = options
  const streamOptions = protocol === "openai" && { stream_options: { include_usage: true } }
  return fetch(server.url + paths[protocol], {
    method: "POST",
    body: JSON.stringify({ model: "m1", messages, stream: true, ...streamOptions, ...body }),
    ...(signal && { signal }),
  })
}

async function read(response: Response): Promise<Read> {
  let text = ""
  let failed: unknown
  try {
    const decoder = new TextDecoder()
    for await (const bytes of response.body!) text += decoder.decode(bytes, { stream: true })
  } catch (error) {
    failed = error
  }
  const events: Event[] = []
  for (const [, json] of text.matchAll(/^data: (.+)$/gm)) {
    try {
      events.push(JSON.parse(json!) as Event)
    } catch {}
  }
  return {
    status: response.status,
    headers: response.headers,
    text,
    events,
    ...(failed !== undefined && { failed }),
  }
}

/** The text deltas of an answer, in either protocol. */
function textDeltas({ events }: Read): string[] {
  return events
    .map((event) => event.choices?.[0]?.delta.content ?? event.delta?.text)
    .filter((text): text is string => typeof text === "string" && text !== "")
}

function finishOf({ events }: Read): unknown {
  const reasons = events.map((event) => event.choices?.[0]?.finish_reason ?? event.delta?.stop_reason)
  return reasons.find((reason) => reason !== undefined && reason !== null)
}

let server: ModelServer
beforeAll(async () => {
  server = await startModelServer()
})
afterAll(() => server.close())

async function play(protocol: ProtocolName, answer: Answer): Promise<Read> {
  server.script(answer)
  return read(await ask(server, { protocol }))
}

const answer: Answer = {
  reasoning: "let me see",
  text: ["I will ", "look."],
  calls: [
    { tool: "read", input: { filePath: "a/long/path/to/a/file.txt" }, id: "call_a" },
    { tool: "glob", input: '{"pattern": "*.ts"' },
  ],
  usage: { input: 100, output: 20, reasoning: 5, cache: { read: 40, write: 8 } },
}

describe("chat completions", () => {
  test("a stream contains reasoning, text, calls in pieces, the finish and the usage", async () => {
    const got = await play("openai", answer)
    const deltas = got.events.map((event) => event.choices?.[0]?.delta ?? {})
    expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe("let me see")
    expect(textDeltas(got)).toEqual(["I will ", "look."])
    const calls = deltas.flatMap((delta) => (delta.tool_calls ?? []) as ToolCallDelta[])
    expect(calls.filter((call) => call.index === 0)[0]).toMatchObject({
      id: "call_a",
      function: { name: "read" },
    })
    expect(calls.filter((call) => call.index === 0).length).toBeGreaterThan(2)
    expect(joinedArguments(calls, 0)).toBe('{"filePath":"a/long/path/to/a/file.txt"}')
    expect(joinedArguments(calls, 1)).toBe('{"pattern": "*.ts"')
    expect(finishOf(got)).toBe("tool_calls")
    expect(got.events.at(-1)?.usage).toMatchObject({
      prompt_tokens: 148,
      completion_tokens: 25,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 5 },
    })
    expect(got.text.endsWith("data: [DONE]\n\n")).toBe(true)
  })

  test("without include_usage there is no usage", async () => {
    const got = await read(await ask(server, { protocol: "openai", body: { stream_options: undefined } }))
    expect(got.events.every((event) => event.usage === undefined)).toBe(true)
  })

  test("a request without stream gets one object", async () => {
    server.script({ text: "hi", calls: [{ tool: "list", input: {} }] })
    const got = await (await ask(server, { protocol: "openai", body: { stream: false } })).json()
    expect(got).toMatchObject({
      choices: [
        {
          message: {
            role: "assistant",
            content: "hi",
            tool_calls: [{ function: { name: "list", arguments: "{}" } }],
          },
          finish_reason: "tool_calls",
        },
      ],
    })
  })
})

interface ToolCallDelta {
  index: number
  id?: string
  function: { name?: string; arguments: string }
}

function joinedArguments(calls: ToolCallDelta[], index: number): string {
  return calls
    .filter((call) => call.index === index)
    .map((call) => call.function.arguments)
    .join("")
}

describe("messages", () => {
  test("a stream is message_start, ping, whole blocks, message_delta and message_stop", async () => {
    const got = await play("anthropic", answer)
    const types = got.events.map((event) => event.type)
    expect(types.slice(0, 2)).toEqual(["message_start", "ping"])
    expect(types.slice(-2)).toEqual(["message_delta", "message_stop"])
    expect(types.filter((type) => type === "content_block_start")).toHaveLength(4)
    expect(types.filter((type) => type === "content_block_stop")).toHaveLength(4)
    expect(got.text.match(/^event: (.+)$/gm)?.map((line) => line.slice("event: ".length))).toEqual(types)
    const deltas = got.events.filter((event) => event.type === "content_block_delta")
    const joined = (index: number, field: string) =>
      deltas
        .filter((event) => event.index === index)
        .map((event) => event.delta![field] ?? "")
        .join("")
    expect(joined(0, "thinking")).toBe("let me see")
    expect(joined(0, "signature")).toBe(signature)
    expect(joined(1, "text")).toBe("I will look.")
    expect(joined(2, "partial_json")).toBe('{"filePath":"a/long/path/to/a/file.txt"}')
    expect(joined(3, "partial_json")).toBe('{"pattern": "*.ts"')
    const starts = got.events.filter((event) => event.type === "content_block_start")
    expect(starts[2]?.content_block).toMatchObject({ type: "tool_use", id: "call_a", name: "read" })
  })

  test("the finish contains the reason and the usage with the cache", async () => {
    const got = await play("anthropic", answer)
    expect(got.events.at(-2)).toMatchObject({
      type: "message_delta",
      delta: { stop_reason: "tool_use" },
      usage: {
        input_tokens: 100,
        output_tokens: 25,
        cache_read_input_tokens: 40,
        cache_creation_input_tokens: 8,
      },
    })
  })

  test("a request without stream gets one object", async () => {
    server.script({ reasoning: "hm", text: "hi" })
    const got = await (await ask(server, { protocol: "anthropic", body: { stream: false } })).json()
    expect(got).toMatchObject({
      content: [
        { type: "thinking", thinking: "hm", signature },
        { type: "text", text: "hi" },
      ],
      stop_reason: "end_turn",
    })
  })
})

describe.each(["openai", "anthropic"] as const)("faults of %s", (protocol) => {
  test.each([
    [429, { "retry-after-ms": "1500" }],
    [429, { "retry-after": "2" }],
    [429, { "retry-after": "Wed, 21 Oct 2099 07:28:00 GMT" }],
    [500, undefined],
    [503, undefined],
    [401, undefined],
  ] as const)("status %i with %o", async (status, headers) => {
    const got = await play(protocol, { fault: "status", status, ...(headers && { headers }) })
    expect(got.status).toBe(status)
    for (const [name, value] of Object.entries(headers ?? {})) expect(got.headers.get(name)).toBe(value)
    expect(JSON.parse(got.text)).toMatchObject({ error: { message: expect.stringMatching(/./) } })
  })

  test("a status may have its own body", async () => {
    const got = await play(protocol, { fault: "status", status: 502, body: "<html>Bad gateway</html>" })
    expect(got.text).toBe("<html>Bad gateway</html>")
  })

  test("reset-before breaks the connection instead of an answer", async () => {
    server.script({ fault: "reset-before" })
    expect(await rejection(ask(server, { protocol }))).toBeInstanceOf(TypeError)
  })

  test("reset-after breaks the connection after the given number of deltas", async () => {
    const got = await play(protocol, { fault: "reset-after", text: ["a", "b", "c", "d"], afterDeltas: 3 })
    expect(textDeltas(got)).toEqual(["a", "b", "c"])
    expect(got.failed).toBeInstanceOf(TypeError)
  })

  test("truncated ends the stream normally, without a finish", async () => {
    const got = await play(protocol, { fault: "truncated", text: ["a", "b", "c"], afterDeltas: 1 })
    expect(textDeltas(got)).toEqual(["a"])
    expect(finishOf(got)).toBeUndefined()
    expect(got.failed).toBeUndefined()
    expect(got.text).not.toMatch(/DONE|message_stop/)
  })

  test("malformed has broken JSON between good events", async () => {
    const got = await play(protocol, { fault: "malformed", text: ["a", "b", "c"], afterDeltas: 1 })
    expect(textDeltas(got)).toEqual(["a", "b", "c"])
    expect(got.text.match(/^data: \{/gm)!.length).toBe(got.events.length + 1)
    expect(finishOf(got)).toBeDefined()
  })

  test("error-event is an error inside the stream", async () => {
    const got = await play(protocol, { fault: "error-event", text: ["a", "b"], afterDeltas: 1 })
    expect(got.status).toBe(200)
    expect(textDeltas(got)).toEqual(["a"])
    expect(got.events.at(-1)).toMatchObject({ error: { message: expect.any(String) } })
  })

  test("stall sends some deltas, then nothing, and notices that the client has left", async () => {
    server.script({ fault: "stall", text: ["a", "b", "c"], afterDeltas: 2 })
    const leaving = new AbortController()
    const response = await ask(server, { protocol, signal: leaving.signal })
    let seen = ""
    const reading = rejection(
      (async () => {
        for await (const bytes of response.body!) seen += Buffer.from(bytes).toString()
      })(),
    )
    while (!seen.includes('"b"')) await delay(5)
    await delay(50)
    expect(seen).not.toContain('"c"')
    leaving.abort()
    await reading
    const request = server.requests.at(-1)!
    while (!request.aborted) await delay(5)
  })

  test("a stall before the headers sends nothing", async () => {
    server.script({ fault: "stall", beforeHeaders: true })
    expect(await rejection(ask(server, { protocol, signal: AbortSignal.timeout(100) }))).toMatchObject({
      name: "TimeoutError",
    })
  })

  test("slow waits between deltas", async () => {
    const started = performance.now()
    const got = await play(protocol, { fault: "slow", text: ["a", "b", "c"], tokenDelayMs: 30 })
    expect(performance.now() - started).toBeGreaterThan(50)
    expect(textDeltas(got)).toEqual(["a", "b", "c"])
  })

  test("empty sends a finish and nothing else", async () => {
    const got = await play(protocol, { fault: "empty" })
    expect(textDeltas(got)).toEqual([])
    expect(finishOf(got)).toBe(protocol === "openai" ? "stop" : "end_turn")
  })

  test("unknown-finish sends an unknown finish reason", async () => {
    expect(finishOf(await play(protocol, { fault: "unknown-finish" }))).toBe("unheard_of")
  })

  test("context-length is refused with the provider's error text", async () => {
    const got = await play(protocol, { fault: "context-length" })
    expect(got.status).toBe(400)
    const words = {
      openai: /maximum context length.*context_length_exceeded/,
      anthropic: /prompt is too long/,
    }
    expect(got.text).toMatch(words[protocol])
  })
})

describe.each(["openai", "anthropic"] as const)("without a script, %s", (protocol) => {
  test("say N answers with N words, one delta each", async () => {
    const got = await read(await ask(server, { protocol, text: "say 50" }))
    expect(textDeltas(got)).toHaveLength(50)
    expect(textDeltas(got).join("").split(" ")).toHaveLength(50)
    expect(finishOf(got)).toBeDefined()
    const again = await read(await ask(server, { protocol, text: "say 50" }))
    expect(again.text).toBe(got.text)
  })

  test("echo returns the text, whatever it contains", async () => {
    const text = 'echo a "quoted" \\ 中文 "role":"user" 🎉'
    expect(textDeltas(await read(await ask(server, { protocol, text }))).join("")).toBe(
      text.slice("echo ".length),
    )
  })

  test("any other text gets a short sentence", async () => {
    expect(textDeltas(await read(await ask(server, { protocol }))).join("")).toBe(defaultText)
  })

  test("tool makes the given call, and its result is answered with done", async () => {
    const text = 'tool read {"filePath":"a.txt"}\ntool list'
    const called = await read(await ask(server, { protocol, text }))
    expect(called.text).toMatch(/"name":"read".*"name":"list"/s)
    const results: Record<ProtocolName, unknown[]> = {
      openai: [{ role: "tool", tool_call_id: "call_1", content: "say 3" }],
      anthropic: [
        { role: "user", content: [{ type: "tool_result", tool_use_id: "call_1", content: "say 3" }] },
      ],
    }
    const messages = [
      { role: "user", content: text },
      { role: "assistant", content: "" },
      ...results[protocol],
    ]
    expect(textDeltas(await read(await ask(server, { protocol, messages })))).toEqual(["done"])
  })

  test("the command may be one of several texts, after a history of megabytes", async () => {
    const content = [
      { type: "text", text: "A reminder." },
      { type: "text", text: "say 3" },
    ]
    const filler = { role: "assistant", content: '"role":"user" '.repeat(100_000) }
    const messages = [{ role: "user", content: "say 9" }, filler, { role: "user", content }]
    const got = await read(await ask(server, { protocol, messages, body: { tools: [{ name: "x" }] } }))
    expect(textDeltas(got)).toHaveLength(3)
  })

  test("a body with another formatting is understood too", async () => {
    const body = `{ "stream":true, "messages" : [ { "content": "say 2", "role": "user" } ] }`
    const got = await read(await fetch(server.url + paths[protocol], { method: "POST", body }))
    expect(textDeltas(got)).toHaveLength(2)
  })

  test("say N every M streams slowly", async () => {
    const started = performance.now()
    expect(textDeltas(await read(await ask(server, { protocol, text: "say 4 every 20" })))).toHaveLength(4)
    expect(performance.now() - started).toBeGreaterThan(50)
  })
})

describe("the server", () => {
  test("sends its scripted answers in order, then the fallback, and keeps the requests", async () => {
    await using own = await startModelServer({ fallback: { text: "nothing left" } })
    own.script({ text: "one" }, (request) => ({ text: `two for ${request.body.model}` }))
    expect(own.scripted).toBe(2)
    const texts: string[] = []
    for (let i = 0; i < 3; i++)
      texts.push(textDeltas(await read(await ask(own, { protocol: "openai" }))).join(""))
    expect(texts).toEqual(["one", "two for m1", "nothing left"])
    expect(own.requests).toHaveLength(3)
    expect(own.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      protocol: "openai",
      aborted: false,
    })
    expect(own.requests[0]!.body.messages).toEqual([{ role: "user", content: "hello" }])
    expect(own.requests[0]!.headers["content-type"]).toBeDefined()
  })

  test("only the requests that `queued` accepts take answers from the script", async () => {
    await using own = await startModelServer({ queued: (request) => request.body.tools !== undefined })
    own.script({ text: "scripted" })
    expect(textDeltas(await read(await ask(own, { protocol: "openai" }))).join("")).toBe(defaultText)
    const got = await read(await ask(own, { protocol: "openai", body: { tools: [] } }))
    expect(textDeltas(got)).toEqual(["scripted"])
  })

  test("a large answer is split over several writes and arrives complete", async () => {
    const text = Array.from({ length: 5_000 }, (_, i) => `delta ${i} `)
    expect(textDeltas(await play("openai", { text }))).toEqual(text)
  })

  test("close breaks open connections", async () => {
    const own = await startModelServer()
    own.script({ fault: "stall" })
    const response = await ask(own, { protocol: "openai" })
    const idle = createConnection(Number(new URL(own.url).port), "127.0.0.1")
    await once(idle, "connect")
    const gone = once(idle, "close")
    const reading = read(response)
    await own.close()
    expect((await reading).failed).toBeDefined()
    await gone
    await own.close()
  })

  test("its config points to the server", () => {
    expect(server.config("anthropic", { id: "m2" })).toEqual({
      model: "test-anthropic/m2",
      provider: {
        "test-anthropic": {
          npm: "@ai-sdk/anthropic",
          options: { baseURL: `${server.url}/v1`, apiKey: "test-key" },
          models: { m2: { limit: { context: 128_000, output: 8_192 } } },
        },
      },
    })
  })

  test("runs as a separate process until its stdin ends", async () => {
    const main = fileURLToPath(new URL("./model-server/main.ts", import.meta.url))
    const child = spawn(process.execPath, [main], {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "", NODE_NO_WARNINGS: "1" },
    })
    const ended = once(child, "exit")
    try {
      const [line] = (await once(createInterface(child.stdout), "line")) as [string]
      const { url } = JSON.parse(line) as { url: string }
      const body = JSON.stringify({
        model: "m",
        stream: true,
        messages: [{ role: "user", content: "say 5" }],
      })
      const got = await read(await fetch(`${url}/v1/chat/completions`, { method: "POST", body }))
      expect(textDeltas(got)).toHaveLength(5)
      child.stdin.end()
      expect((await ended)[0]).toBe(0)
    } finally {
      child.kill("SIGKILL")
    }
  })
})
