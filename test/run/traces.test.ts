import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api"
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base"
import { expect, onTestFinished, test } from "vitest"
import { z } from "zod"
import type { Model, Tool } from "../../src/index.ts"
import { runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, task } from "../support/task-script.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"
import { startTraces, type Traces } from "../support/traces.ts"

const secret = "sk-live-0123456789abcdef"

function traced(options?: { contexts: boolean }): Traces {
  const traces = startTraces(options)
  onTestFinished(() => traces[Symbol.dispose]())
  return traces
}

function usage(input: number, output: number) {
  return { input, output, reasoning: 3, cache: { read: 20, write: 1 } }
}

const boom: Tool = {
  name: "boom",
  description: "Fails.",
  input: z.object({}),
  replay: "never",
  writes: false,
  wants: async () => [],
  execute: () => {
    throw new Error(`The private words of the tool: ${secret}`)
  },
}

/** Reports when it runs, and never ends by itself. */
function endless(onRunning: () => void): Tool {
  return {
    ...boom,
    name: "endless",
    description: "Takes its time.",
    execute: () => {
      onRunning()
      return new Promise(() => {})
    },
  }
}

function isFailed({ status }: ReadableSpan): boolean {
  return status.code === SpanStatusCode.ERROR
}

test("a turn is a span with its model calls and tool calls as children, named by the conventions", async () => {
  const traces = traced()
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    tools: [boom],
    script: [
      {
        calls: [
          { tool: "read", input: { filePath: "a.txt" }, id: "call_1" },
          { tool: "boom", input: {}, id: "call_2" },
        ],
        usage: usage(100, 10),
      },
      { text: "It says alpha.", usage: usage(200, 5) },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("What does it say?")
  expect(traces.open).toBe(0)
  expect(traces.lines()).toEqual([
    "chat m < invoke_agent build",
    "chat m < invoke_agent build",
    "execute_tool boom < invoke_agent build",
    "execute_tool read < invoke_agent build",
    "invoke_agent build",
  ])
  const shared = { "gen_ai.conversation.id": session.id }
  const model = { "gen_ai.provider.name": "scripted", "gen_ai.request.model": "m" }
  const [turn] = traces.named("invoke_agent build")
  expect(turn).toMatchObject({ kind: SpanKind.INTERNAL, status: { code: SpanStatusCode.UNSET } })
  expect(turn!.attributes).toMatchObject({
    ...shared,
    ...model,
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "build",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 342,
    "gen_ai.usage.output_tokens": 21,
  })
  const [first, second] = traces.named("chat m")
  expect(first).toMatchObject({ kind: SpanKind.CLIENT, status: { code: SpanStatusCode.UNSET } })
  expect(first!.attributes).toMatchObject({
    ...shared,
    ...model,
    "gen_ai.operation.name": "chat",
    "gen_ai.agent.name": "build",
    "gen_ai.response.finish_reasons": ["tool_call"],
    "gen_ai.usage.input_tokens": 121,
    "gen_ai.usage.output_tokens": 13,
    "gen_ai.usage.reasoning.output_tokens": 3,
    "gen_ai.usage.cache_read.input_tokens": 20,
    "gen_ai.usage.cache_creation.input_tokens": 1,
    "gen_ai.response.time_to_first_chunk": expect.any(Number),
  })
  expect(second!.attributes["gen_ai.response.finish_reasons"]).toEqual(["stop"])
  const [read] = traces.named("execute_tool read")
  expect(read).toMatchObject({ kind: SpanKind.INTERNAL, status: { code: SpanStatusCode.UNSET } })
  expect(read!.attributes).toEqual({
    ...shared,
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "read",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.type": "function",
  })
  const [failed] = traces.named("execute_tool boom")
  expect(failed).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: "The tool failed." } })
  expect(failed!.attributes).toMatchObject({ "error.type": "tool_error", "gen_ai.tool.call.id": "call_2" })
})

test("by default spans contain no messages, tool input or tool output", async () => {
  const traces = traced()
  await using scene = await runScene({
    files: { "violet.txt": "indigo" },
    tools: [boom],
    script: [
      {
        text: "Let me turquoise.",
        calls: [
          { tool: "read", input: { filePath: "violet.txt" } },
          { tool: "boom", input: {} },
          { tool: "scarlet", input: { crimson: true } },
        ],
      },
      { text: "Emerald." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Ochre?")
  expect(traces.ended).toHaveLength(6)
  expect(traces.text()).not.toMatch(/turquoise|violet|indigo|private|scarlet|crimson|emerald|ochre/i)
})

test("with content, spans contain the messages, with secrets masked", async () => {
  const traces = traced()
  const shell = {
    calls: [{ tool: "bash", input: { command: `echo ${secret}; echo magenta`, description: "Say it" } }],
  }
  await using scene = await runScene({
    env: {
      PATH: process.env.PATH,
      OPENAI_API_KEY: secret,
      OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true",
    },
    script: [{ text: `Well, ${secret}.`, ...shell }, { text: "Emerald." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt(`Ochre? My key is ${secret}.`)
  const [first, second] = traces.named("chat m").map(({ attributes }) => attributes)
  expect(JSON.parse(String(first!["gen_ai.input.messages"]))).toEqual([
    { role: "user", parts: [{ type: "text", content: "Ochre? My key is [secret]." }] },
  ])
  expect(JSON.parse(String(first!["gen_ai.system_instructions"]))[0]).toMatchObject({ type: "text" })
  expect(JSON.parse(String(first!["gen_ai.output.messages"]))).toMatchObject([
    {
      role: "assistant",
      finish_reason: "tool_call",
      parts: [
        { type: "text", content: "Well, [secret]." },
        {
          type: "tool_call",
          name: "bash",
          arguments: expect.stringContaining("echo [secret]; echo magenta"),
        },
      ],
    },
  ])
  expect(second!["gen_ai.output.messages"]).toContain("Emerald.")
  const [bash] = traces.named("execute_tool bash").map(({ attributes }) => attributes)
  expect(bash!["gen_ai.tool.call.arguments"]).toContain("magenta")
  expect(bash!["gen_ai.tool.call.result"]).toContain("magenta")
  expect(traces.text()).not.toContain(secret)
})

test("each attempt of a retried call is a span, a failed one with its error", async () => {
  const traces = traced()
  await using scene = await runScene({
    env: { PATH: process.env.PATH, OPENAI_API_KEY: secret },
    script: [
      { error: { kind: "rate", statusCode: 429, message: `Too many requests with ${secret}.` } },
      { text: "Now." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Hello")
  const [failed, answered] = traces.named("chat m")
  expect(failed!.attributes["error.type"]).toBe("rate")
  expect(failed!.status).toEqual({
    code: SpanStatusCode.ERROR,
    message: "Too many requests with [secret].",
  })
  expect(isFailed(answered!)).toBe(false)
  expect(answered!.startTime[0] + answered!.startTime[1] / 1e9).toBeGreaterThanOrEqual(
    failed!.endTime[0] + failed!.endTime[1] / 1e9,
  )
  expect(isFailed(traces.named("invoke_agent build")[0]!)).toBe(false)
  expect(traces.open).toBe(0)
})

test("a model that fails after all retries fails the span of the turn", async () => {
  const traces = traced()
  await using scene = await runScene({ script: [{ error: { kind: "auth", message: "No such key." } }] })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Hello")
  const [turn] = traces.named("invoke_agent build")
  expect(turn).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: "The run failed." } })
  expect(turn!.attributes["error.type"]).toBe("ProviderAuthError")
})

test("an abort ends every span, also that of a tool that never ends", async () => {
  const traces = traced()
  const running = Promise.withResolvers<void>()
  await using scene = await runScene({
    tools: [endless(running.resolve)],
    script: [{ calls: [{ tool: "endless", input: {} }] }],
  })
  const session = await scene.stemma.sessions.create()
  const calling = session.prompt("Call it")
  await running.promise
  await session.abort("Enough.")
  await calling
  expect(traces.open).toBe(0)
  expect(traces.named("execute_tool endless")[0]!.attributes["error.type"]).toBe("aborted")
  const [turn] = traces.named("invoke_agent build")
  expect(turn).toMatchObject({ status: { code: SpanStatusCode.ERROR, message: "The run was aborted." } })
  expect(turn!.attributes["error.type"]).toBe("aborted")
})

test("an abort ends the span of a model that ignores the signal", async () => {
  const traces = traced()
  const asked = Promise.withResolvers<void>()
  const deaf: Model = {
    ref: { providerID: "deaf", modelID: "m" },
    limit: { context: 0, output: 0 },
    async *stream() {
      asked.resolve()
      await new Promise(() => {})
      yield { type: "finish", reason: "stop" }
    },
  }
  await using scene = await runScene({ models: { deaf: () => deaf }, config: { model: "deaf/m" } })
  const session = await scene.stemma.sessions.create()
  const talking = session.prompt("Talk")
  await asked.promise
  await session.abort("Enough.")
  await talking
  expect(traces.open).toBe(0)
  expect(traces.named("chat m")[0]!.attributes["error.type"]).toBe("aborted")
  expect(traces.named("invoke_agent build")[0]!.attributes["error.type"]).toBe("aborted")
})

test("closing ends every span of an interrupted run", async () => {
  const traces = traced()
  const running = Promise.withResolvers<void>()
  await using scene = await runScene({
    tools: [endless(running.resolve)],
    script: [{ calls: [{ tool: "endless", input: {} }] }],
  })
  const session = await scene.stemma.sessions.create()
  session.prompt("Call it").then(null, () => {})
  await running.promise
  const closing = scene.stemma.close()
  await Promise.all([closing, scene.stemma.close()])
  expect(traces.open).toBe(0)
  expect(traces.lines()).toEqual([
    "chat m < invoke_agent build",
    "execute_tool endless < invoke_agent build",
    "invoke_agent build",
  ])
  expect(traces.named("invoke_agent build")[0]!.attributes["error.type"]).toBe("interrupted")
})

test("a store failure ends every span of its run", async () => {
  const traces = traced()
  const scene = await runScene({ script: [{ text: "a b c d e f g h", deltaDelayMs: 20 }] })
  await using _ = scene
  const session = await scene.stemma.sessions.create()
  const talking = session.prompt("Talk")
  await until("it is asked", () => scene.model.requests.length === 1)
  await scene.stemma.store.close()
  await expect(talking.then(() => {})).rejects.toThrow()
  await until("all have ended", () => traces.open === 0)
  expect(isFailed(traces.named("invoke_agent build")[0]!)).toBe(true)
})

test.each([
  ["follows what is awaited", { contexts: true }],
  ["is followed by nobody", { contexts: false }],
])(
  "the spans of a task's session are below the span of its call, even if the active context %s",
  async (_, options) => {
    const traces = traced(options)
    await using scene = await runScene({
      files: { "a.txt": "alpha" },
      script: answersTo({
        "Find alpha.": [{ calls: [task("Where is alpha?", { agent: "explore" })] }, { text: "In a.txt." }],
        "Where is alpha?": [
          { calls: [{ tool: "grep", input: { pattern: "alpha" } }] },
          { text: "In a.txt." },
        ],
      }),
    })
    const session = await scene.stemma.sessions.create()
    await session.prompt("Find alpha.")
    await until("all have ended", () => traces.open === 0)
    const below = "execute_tool task < invoke_agent build"
    expect(traces.lines()).toEqual([
      `chat m < invoke_agent build`,
      `chat m < invoke_agent build`,
      `chat m < invoke_agent explore < ${below}`,
      `chat m < invoke_agent explore < ${below}`,
      `execute_tool grep < invoke_agent explore < ${below}`,
      below,
      "invoke_agent build",
      `invoke_agent explore < ${below}`,
    ])
    const [child] = await childrenOf(scene, session)
    expect(traces.named("invoke_agent explore")[0]!.attributes).toMatchObject({
      "gen_ai.conversation.id": child!.id,
      "gen_ai.agent.name": "explore",
    })
    expect(new Set(traces.ended.map((span) => span.spanContext().traceId)).size).toBe(1)
  },
)

test("the parent of a turn's span is the span that was active where the prompt was sent", async () => {
  const traces = traced()
  await using scene = await runScene({
    script: [{ text: "One.", delayMs: 50 }, { text: "Two." }, { text: "Three." }],
  })
  const session = await scene.stemma.sessions.create()
  const inside = (name: string) => {
    const span = trace.getTracer("test").startSpan(name)
    const sent = context.with(trace.setSpan(context.active(), span), () =>
      session.prompt(name, { delivery: "queue" }),
    )
    return { sent, end: () => span.end() }
  }
  const first = inside("POST /first")
  await first.sent.admitted
  const second = inside("POST /second")
  await second.sent.admitted
  const third = session.prompt("of nobody", { delivery: "queue" })
  await Promise.all([first.sent, second.sent, third])
  first.end()
  second.end()
  expect(traces.lines()).toEqual([
    "POST /first",
    "POST /second",
    "chat m < invoke_agent build",
    "chat m < invoke_agent build < POST /first",
    "chat m < invoke_agent build < POST /second",
    "invoke_agent build",
    "invoke_agent build < POST /first",
    "invoke_agent build < POST /second",
  ])
})

test("the parent of work outside a run is the caller's span", async () => {
  const traces = traced()
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  const span = trace.getTracer("test").startSpan("POST /shell")
  await context.with(trace.setSpan(context.active(), span), () => session.shell("echo alpha"))
  span.end()
  expect(traces.lines()).toEqual(["POST /shell", "execute_tool bash < POST /shell"])
})

test("the span of a steering prompt is linked to the turn", async () => {
  const traces = traced()
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    script: [{ calls: [{ tool: "read", input: { filePath: "a.txt" } }], delayMs: 100 }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const first = session.prompt("Read it")
  await until("it is asked", () => scene.model.requests.length === 1)
  const span = trace.getTracer("test").startSpan("POST /steer")
  const second = context.with(trace.setSpan(context.active(), span), () => session.prompt("And be quick"))
  await Promise.all([first, second])
  span.end()
  const [turn, ...others] = traces.named("invoke_agent build")
  expect(others).toEqual([])
  expect(turn!.links.map((link) => link.context.spanId)).toEqual([span.spanContext().spanId])
})

test("spans of a tool's own code are children of the call's span", async () => {
  const traces = traced()
  const tracing: Tool = {
    ...boom,
    name: "tracing",
    description: "Traces.",
    execute: async () => {
      await new Promise((resolve) => setTimeout(resolve, 1))
      trace.getTracer("tool").startSpan("GET").end()
      return { title: "Traced", output: "done" }
    },
  }
  await using scene = await runScene({
    tools: [tracing],
    script: [{ calls: [{ tool: "tracing", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Trace")
  expect(traces.lines()).toContain("GET < execute_tool tracing < invoke_agent build")
})

test("a compaction and a title are model calls of their agents", async () => {
  const traces = traced()
  await using scene = await runScene({
    config: { title: true },
    script: [
      { text: "One." },
      { text: "A short title", for: "title", usage: usage(1, 1) },
      { text: "What was said.", for: "compaction" },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt(`Tell me of ${"many words ".repeat(500)}`)
  await until("there is a title", () => traces.ended.length === 3)
  await session.compact()
  const byAgent = traces.named("chat m").map(({ attributes }) => attributes["gen_ai.agent.name"])
  expect(byAgent).toEqual(["build", "title", "compaction"])
  expect(traces.lines().filter((line) => line === "chat m < invoke_agent build")).toHaveLength(2)
  expect(traces.open).toBe(0)
})

test("the tracing API is not loaded without a provider, and a provider that throws fails no run", async () => {
  await using directory = await temporaryDirectory()
  const script = fileURLToPath(new URL("../support/children/tracing-child.ts", import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [script, directory.path])
  const lines = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(lines).toEqual([
    { text: "One.", isLoaded: false },
    { text: "Two.", isLoaded: true },
  ])
})
