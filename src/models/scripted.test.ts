import { describe, expect, test } from "vitest"
import type { ContextMessage } from "../session/index.ts"
import type { ModelEvent, ModelRequest } from "./model.ts"
import { ModelError } from "./model-error.ts"
import { createScriptedModel, type ScriptedAnswer, type ScriptedModel } from "./scripted.ts"

function request(overrides: Partial<ModelRequest> = {}): ModelRequest {
  return {
    purpose: "step",
    system: ["You are a test."],
    messages: [{ role: "user", content: [{ type: "text", text: "hello there" }] }],
    tools: [],
    readFile: () => Promise.reject(new Error("No file is read here.")),
    signal: new AbortController().signal,
    idleTimeoutMs: 60_000,
    ...overrides,
  }
}

/** The events, and what was thrown after them. */
async function listen(
  model: ScriptedModel,
  overrides: Partial<ModelRequest> = {},
): Promise<{ events: ModelEvent[]; error?: ModelError }> {
  const events: ModelEvent[] = []
  try {
    for await (const event of model.stream(request(overrides))) events.push(event)
  } catch (error) {
    expect(error).toBeInstanceOf(ModelError)
    return { events, error: error as ModelError }
  }
  return { events }
}

async function textOf(model: ScriptedModel, overrides: Partial<ModelRequest> = {}): Promise<string> {
  const { events } = await listen(model, overrides)
  return events.map((event) => (event.type === "text-delta" ? event.text : "")).join("")
}

describe("an answer", () => {
  test("is reasoning, text, calls and a finish, in that order", async () => {
    const usage = { input: 1, output: 2, reasoning: 3, cache: { read: 4, write: 5 } }
    const model = createScriptedModel([
      {
        reasoning: ["hm", "m"],
        text: "two words",
        calls: [
          { tool: "read", input: { filePath: "a" }, id: "mine" },
          { tool: "glob", input: '{"pattern' },
        ],
        usage,
      },
    ])
    const { events } = await listen(model)
    expect(events).toEqual([
      { type: "reasoning-start", id: "reasoning" },
      { type: "reasoning-delta", id: "reasoning", text: "hm" },
      { type: "reasoning-delta", id: "reasoning", text: "m" },
      { type: "reasoning-end", id: "reasoning" },
      { type: "text-start", id: "text" },
      { type: "text-delta", id: "text", text: "two" },
      { type: "text-delta", id: "text", text: " words" },
      { type: "text-end", id: "text" },
      { type: "tool-input-start", id: "mine", tool: "read" },
      { type: "tool-input-delta", id: "mine", text: '{"filePath":"a"}' },
      { type: "tool-input-end", id: "mine" },
      { type: "tool-call", id: "mine", tool: "read", input: '{"filePath":"a"}' },
      { type: "tool-input-start", id: "call_1", tool: "glob" },
      { type: "tool-input-delta", id: "call_1", text: '{"pattern' },
      { type: "tool-input-end", id: "call_1" },
      { type: "tool-call", id: "call_1", tool: "glob", input: '{"pattern' },
      { type: "finish", reason: "tool-calls", usage },
    ])
  })

  test("without content is only a finish, with its own reason", async () => {
    const model = createScriptedModel([{}, { finish: "length" }])
    expect((await listen(model)).events).toEqual([{ type: "finish", reason: "stop" }])
    expect((await listen(model)).events).toEqual([{ type: "finish", reason: "length" }])
  })

  test("keeps every character of a text that is cut into words", async () => {
    const text = "  two\n\nlines  and 中文 🎉 "
    expect(await textOf(createScriptedModel([{ text }]))).toBe(text)
  })

  test("gives calls ids that no call of the context has", async () => {
    const messages: ContextMessage[] = [
      { role: "user", content: [{ type: "text", text: "go" }] },
      { role: "assistant", content: [{ type: "tool-call", callID: "call_3", tool: "list", input: {} }] },
      {
        role: "tool",
        content: [{ type: "tool-result", callID: "call_3", tool: "list", isError: false, output: "" }],
      },
    ]
    const calls = [
      { tool: "list", input: {}, id: "call_4" },
      { tool: "list", input: {} },
      { tool: "list", input: {} },
    ]
    const { events } = await listen(createScriptedModel([{ calls }]), { messages })
    const ids = events.flatMap((event) => (event.type === "tool-call" ? [event.id] : []))
    expect(new Set([...ids, "call_3"]).size).toBe(4)
  })
})

describe("the list of answers", () => {
  test("is played one answer for each step, and an error says what to do when it is empty", async () => {
    const model = createScriptedModel([{ text: "one" }])
    model.add({ text: "two" })
    expect(await textOf(model)).toBe("one")
    expect(await textOf(model)).toBe("two")
    const { events, error } = await listen(model)
    expect(events).toEqual([])
    expect(error).toMatchObject({ kind: "refused", isRetryable: false })
    expect(error?.message).toBe(
      "The script of scripted/scripted has no answer for step 3: add one to its list, or say what to do with `whenEmpty`.",
    )
  })

  test("may end with an answer for all later steps", async () => {
    const model = createScriptedModel([], { whenEmpty: { text: "still here" } })
    expect([await textOf(model), await textOf(model)]).toEqual(["still here", "still here"])
  })

  test("is taken in the order of the calls, even if the calls are read in another order", async () => {
    const model = createScriptedModel([{ text: "one" }, { text: "two" }])
    const first = model.stream(request())
    const second = model.stream(request())
    const read = async (stream: AsyncIterable<ModelEvent>) => {
      let text = ""
      for await (const event of stream) if (event.type === "text-delta") text += event.text
      return text
    }
    expect(await read(second)).toBe("two")
    expect(await read(first)).toBe("one")
  })

  test("is not used by titles, summaries and compactions", async () => {
    const model = createScriptedModel([{ text: "step" }, { text: "A title", for: "title" }])
    expect(await textOf(model, { purpose: "title" })).toBe("A title")
    expect(await textOf(model, { purpose: "title" })).toBe("hello there")
    expect(await textOf(model, { purpose: "compaction" })).toBe(
      "The user asked, in this order:\n- hello there",
    )
    expect(await textOf(model, { purpose: "summary" })).toContain("hello there")
    expect(await textOf(model)).toBe("step")
  })

  test("may be a function of the request and of the number of the step", async () => {
    const model = createScriptedModel((asked, n) => ({ text: `${n}: ${asked.messages.length}` }))
    expect(await textOf(model)).toBe("0: 1")
    await textOf(model, { purpose: "title" })
    expect(await textOf(model)).toBe("1: 1")
  })

  test("keeps the requests as they were sent", async () => {
    const model = createScriptedModel([{}])
    const asked = request()
    for await (const _ of model.stream(asked));
    await listen(model, { purpose: "title" })
    expect(model.requests).toHaveLength(2)
    expect(model.requests[0]).toBe(asked)
  })

  test("has the given name, limit and price", () => {
    const ref = { providerID: "p", modelID: "m" }
    const price = { input: 1, output: 2 }
    const limit = { context: 1000, output: 100 }
    expect(createScriptedModel([], { ref, price, limit })).toMatchObject({ ref, price, limit })
    expect(createScriptedModel([])).not.toHaveProperty("price")
  })
})

describe("failures", () => {
  test("an error comes before the first event", async () => {
    const model = createScriptedModel([
      { text: "never", error: { kind: "rate", message: "Too many.", retryAfterMs: 1500, statusCode: 429 } },
    ])
    const { events, error } = await listen(model)
    expect(events).toEqual([])
    expect(error).toMatchObject({ kind: "rate", message: "Too many.", retryAfterMs: 1500, statusCode: 429 })
    expect(error?.isRetryable).toBe(true)
  })

  test.each([1, 2, 99])(
    "an error comes after %i deltas, at the latest instead of the finish",
    async (afterDeltas) => {
      const model = createScriptedModel([{ text: ["a", "b", "c"], error: { kind: "network", afterDeltas } }])
      const { events, error } = await listen(model)
      expect(events.filter((event) => event.type === "text-delta")).toHaveLength(Math.min(afterDeltas, 3))
      expect(events.some((event) => event.type === "finish")).toBe(false)
      expect(error?.kind).toBe("network")
    },
  )

  const neverMs = Number.POSITIVE_INFINITY
  test.each<[string, ScriptedAnswer, number]>([
    ["before the first event", { text: "late", delayMs: neverMs }, 0],
    ["between two deltas", { text: ["a", "b"], deltaDelayMs: neverMs }, 1],
  ])("silence %s ends as stalled after the idle timeout", async (_, answer, deltas) => {
    const { events, error } = await listen(createScriptedModel([answer]), { idleTimeoutMs: 20 })
    expect(error).toMatchObject({ kind: "stalled", isRetryable: true })
    expect(events.filter((event) => event.type === "text-delta")).toHaveLength(deltas)
  })

  test("many pauses that are each shorter than the idle timeout cause no failure", async () => {
    const model = createScriptedModel([{ text: ["a", "b", "c", "d"], delayMs: 10, deltaDelayMs: 10 }])
    const started = performance.now()
    expect(await textOf(model, { idleTimeoutMs: 30_000 })).toBe("abcd")
    expect(performance.now() - started).toBeGreaterThan(35)
  })

  test("an abort ends a wait immediately", async () => {
    const leaving = new AbortController()
    const model = createScriptedModel([{ delayMs: neverMs }])
    const listening = listen(model, { signal: leaving.signal })
    leaving.abort()
    expect(await listening).toMatchObject({ events: [], error: { kind: "aborted", isRetryable: false } })
  })

  test("an abort between two events ends the stream, and one before the call leaves it empty", async () => {
    const leaving = new AbortController()
    const model = createScriptedModel([{ text: ["a", "b", "c"] }, { text: "x" }])
    const seen: string[] = []
    const reading = (async () => {
      for await (const event of model.stream(request({ signal: leaving.signal }))) {
        seen.push(event.type)
        if (event.type === "text-delta") leaving.abort()
      }
    })()
    await expect(reading).rejects.toMatchObject({ kind: "aborted" })
    expect(seen).toEqual(["text-start", "text-delta"])
    expect(await listen(model, { signal: leaving.signal })).toMatchObject({
      events: [],
      error: { kind: "aborted" },
    })
  })

  test("a function that throws or never answers causes a ModelError too", async () => {
    const thrower = createScriptedModel(() => {
      throw new Error("no idea")
    })
    expect((await listen(thrower)).error).toMatchObject({
      kind: "refused",
      message: "The script failed: no idea",
    })
    const silent = createScriptedModel(() => new Promise(() => {}))
    expect((await listen(silent, { idleTimeoutMs: 20 })).error?.kind).toBe("stalled")
    const leaving = AbortSignal.timeout(20)
    expect((await listen(silent, { signal: leaving })).error?.kind).toBe("aborted")
  })
})
