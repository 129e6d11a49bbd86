import { rm } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { z } from "zod"
import {
  type JsonObject,
  type Model,
  ModelError,
  type ModelEvent,
  noTokens,
  openStore,
  StemmaError,
  type Todo,
  type Tool,
} from "../../src/index.ts"
import { storeWith } from "../support/run/store-with.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

const unhandled: unknown[] = []
const note = (error: unknown) => void unhandled.push(error)

beforeEach(() => {
  unhandled.length = 0
  process.on("unhandledRejection", note)
})

afterEach(async () => {
  await new Promise((resolve) => setTimeout(resolve, 20))
  process.off("unhandledRejection", note)
  expect(unhandled).toEqual([])
})

function tool(name: string, fields: Partial<Tool>): Tool {
  return {
    name,
    description: "A tool of the test.",
    input: z.object({}),
    replay: "never",
    writes: false,
    wants: async () => [],
    execute: async () => ({ title: name, output: name }),
    ...fields,
  }
}

const goOff = (): never => {
  throw new Error("It went off.")
}

const nothing = undefined as never
const noData = { later: (() => 1) as never, big: 1n as never }

function askedWith(metadata: JsonObject): Tool["execute"] {
  return async (_, context) => {
    await context.ask({ permission: "q", patterns: ["a"], metadata })
    return { title: "t", output: "o" }
  }
}

function writingTodos(todos: Todo[]): Tool["execute"] {
  return async (_, context) => {
    await context.todos.write(todos)
    return { title: "t", output: "o" }
  }
}

test.each<[string, Partial<Tool>]>([
  ["execute throws", { execute: goOff }],
  ["execute rejects", { execute: async () => goOff() }],
  ["execute rejects with nothing", { execute: () => Promise.reject(undefined) }],
  ["execute gives nothing", { execute: async () => undefined as never }],
  ["wants throws", { wants: goOff }],
  ["wants rejects", { wants: async () => goOff() }],
  ["writes throws", { writes: goOff }],
  ["wants gives nothing", { wants: async () => nothing }],
  ["wants gives no patterns", { wants: async () => [{ permission: "q" } as never] }],
  [
    "wants gives what is no data",
    { wants: async () => [{ permission: "q", patterns: ["a"], metadata: noData }] },
  ],
  ["asks with what is no data", { execute: askedWith(noData) }],
  ["the result has no title", { execute: async () => ({ output: "o" }) as never }],
  ["the output is no text", { execute: async () => ({ title: "t", output: 5 }) as never }],
  [
    "the result has what is no data",
    { execute: async () => ({ title: "t", output: "o", metadata: noData }) },
  ],
  [
    "an attachment is none",
    { execute: async () => ({ title: "t", output: "o", attachments: [{ x: 1 } as never] }) },
  ],
  ["todos are none", { execute: writingTodos([{ x: 1 } as never]) }],
])(
  "a tool that breaks (%s) is an error in its part; the other calls and the run continue",
  async (_, broken) => {
    await using scene = await runScene({
      tools: [tool("broken", broken), tool("sound", {})],
      onPermission: async () => ({ reply: "once" }),
      script: [
        {
          calls: [
            { tool: "broken", input: {} },
            { tool: "sound", input: {} },
          ],
        },
        { text: "I see." },
      ],
    })
    const session = await scene.stemma.sessions.create()
    expect((await session.prompt("Go")).text).toBe("I see.")
    const states = partsOf(await session.messages(), "tool").map(({ state }) => state)
    expect(states.map(({ status }) => status)).toEqual(["error", "completed"])
    expect(states[0]).toMatchObject({ error: expect.stringMatching(/\w+/) })
    await assertValid(session)
  },
)

/** A custom model that breaks the contract of the model port. */
function model(stream: () => AsyncIterable<ModelEvent>): Model {
  return { ref: { providerID: "broken", modelID: "m" }, limit: { context: 0, output: 0 }, stream }
}

async function* events(...given: unknown[]): AsyncGenerator<ModelEvent> {
  for (const event of given as ModelEvent[]) {
    yield event
    if (event.type === "finish") return
  }
  yield { type: "finish", reason: "stop" }
}

test.each<[string, () => AsyncIterable<ModelEvent>]>([
  ["stream throws", goOff],
  [
    "the stream throws in the middle",
    async function* () {
      yield { type: "text-start", id: "t" }
      yield { type: "text-delta", id: "t", text: "Half" }
      goOff()
    },
  ],
  ["the stream is none", () => 1 as never],
  ["an event is nothing", () => events(nothing)],
  [
    "text is no text",
    () => events({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", text: 5 }),
  ],
  ["a file has no kind", () => events({ type: "file", mime: "", bytes: new Uint8Array(2) })],
  ["a file has no bytes", () => events({ type: "file", mime: "a/b" })],
  ["a call has no input", () => events({ type: "tool-call", id: "c", tool: "list" })],
])("a model that breaks (%s) is an error in its message, and the next prompt works", async (_, stream) => {
  await using scene = await runScene({
    models: {
      broken: () => model(stream),
      gone: goOff,
      sound: () =>
        model(async function* () {
          yield { type: "text-start", id: "t" }
          yield { type: "text-delta", id: "t", text: "Sound." }
          yield { type: "finish", reason: "stop" }
        }),
    },
    config: { model: "broken/m" },
    timing: { retriesMax: 1 },
  })
  const session = await scene.stemma.sessions.create()
  for (const name of ["broken/m", "gone/m"]) {
    const reply = await session.prompt("Go", { model: name })
    expect(reply.message.finish).toBe("error")
    expect(reply.error?.data.message).toMatch(/\w+/)
  }
  expect((await session.prompt("And now?", { model: "sound/m" })).text).toBe("Sound.")
  await assertValid(session)
})

test("a tool call without an id or a name gets one result, and the run continues", async () => {
  let asked = 0
  const odd = model(() => {
    if (asked++ > 0) {
      return events({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", text: "I see." })
    }
    return events(
      { type: "tool-call", id: "", tool: "list", input: "{}" },
      { type: "tool-call", id: "c", tool: "", input: "{}" },
    )
  })
  await using scene = await runScene({ models: { odd: () => odd }, config: { model: "odd/m" } })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("I see.")
  const states = partsOf(await session.messages(), "tool").map(({ state }) => state.status)
  expect(states).toEqual(["completed", "error"])
})

test("invalid usage is not counted, and the answer is kept", async () => {
  const said = [
    { type: "text-start", id: "t" },
    { type: "text-delta", id: "t", text: "Fine." },
  ]
  for (const usage of [
    { ...noTokens(), input: Number.NaN },
    { ...noTokens(), output: -1 },
    { input: 1 },
    5,
  ]) {
    const odd = model(() => events(...said, { type: "finish", reason: "stop", usage }))
    await using scene = await runScene({ models: { odd: () => odd }, config: { model: "odd/m" } })
    const session = await scene.stemma.sessions.create()
    expect(await session.prompt("Go")).toMatchObject({ text: "Fine.", message: { finish: "stop" } })
    // Invalid usage is ignored: the tokens are estimated.
    const { tokens } = await session.info()
    expect(tokens.input).toBeGreaterThan(100)
    expect(tokens.input).toBeLessThan(10_000)
    expect(tokens.output).toBeLessThan(10)
  }
})

test("a tool that continues after a refusal, or reports invalid progress, does not fail the run", async () => {
  const careless = tool("careless", {
    async execute(_, context) {
      await context.todos.write([{ x: 1 } as never]).catch(() => {})
      for (const update of [{ title: 5 as never }, { metadata: noData }, { metadata: 5 as never }]) {
        try {
          context.progress(update)
        } catch {
          // The tool ignores the refusal.
        }
        await new Promise((resolve) => setTimeout(resolve, 120))
      }
      return { title: "careless", output: "Done all the same." }
    },
  })
  await using scene = await runScene({
    tools: [careless],
    script: [{ calls: [{ tool: "careless", input: {} }] }, { text: "I see." }],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("I see.")
  await assertValid(session)
})

test("a permission handler that throws is reported, and the question can still be answered", async () => {
  await using scene = await runScene({
    tools: [tool("thing", { wants: async () => [{ permission: "thing", patterns: ["a"] }] })],
    onPermission: goOff,
    script: [{ calls: [{ tool: "thing", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked and reported", () => scene.warnings.length > 0)
  expect(scene.warnings).toMatchObject([{ message: "It went off." }])
  const [question] = await session.questions()
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  expect((await run).text).toBe("Done.")
})

test("an abandoned tool that throws or prints later does not affect later calls", async () => {
  const late = Promise.withResolvers<void>()
  const printed = Promise.withResolvers<void>()
  const deaf = tool("deaf", {
    async execute(_, context) {
      await late.promise
      context.print("Too late.")
      context.progress({ title: "Too late." })
      printed.resolve()
      return goOff()
    },
  })
  await using scene = await runScene({
    tools: [deaf],
    timing: { toolGraceMs: 20 },
    script: [
      { calls: [{ tool: "deaf", input: {} }] },
      { text: Array.from({ length: 40 }, () => "word "), deltaDelayMs: 10 },
      { text: "And again." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  const first = session.prompt("Go")
  await until("it runs", async () => partsOf(await session.messages(), "tool")[0]?.state.status === "running")
  const second = session.prompt("Next", { delivery: "queue" })
  await second.admitted
  await session.abort()
  expect((await first).message.finish).toBe("aborted")
  await until("the next one is answered", () => scene.model.requests.length === 2)
  late.resolve()
  await printed.promise
  expect((await second).message).toMatchObject({ finish: "stop" })
  expect((await session.prompt("Once more")).text).toBe("And again.")
  await assertValid(session)
  expect(partsOf(await session.messages(), "tool")[0]!.state).toMatchObject({ status: "error" })
})

test("a tool that prints after its result does not fail the run", async () => {
  const over = Promise.withResolvers<void>()
  const chatty = tool("chatty", {
    async execute(_, context) {
      context.print("In time.\n")
      void over.promise.then(() => {
        context.print("Too late.\n")
        context.progress({ title: "Too late." })
      })
      return { title: "chatty", output: "In time.\n" }
    },
  })
  await using scene = await runScene({
    tools: [chatty],
    script: async (_, n) => {
      if (n === 0) return { calls: [{ tool: "chatty", input: {} }] }
      over.resolve()
      return { text: Array.from({ length: 40 }, () => "word "), deltaDelayMs: 10 }
    },
  })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Go")
  expect(reply.message).toMatchObject({ finish: "stop" })
  expect(reply.text).toBe("word ".repeat(40))
  expect(partsOf(await session.messages(), "tool")[0]!.state).toMatchObject({ output: "In time.\n" })
})

test("a failed prompt without an awaiting caller does not crash the process", async () => {
  await using scene = await runScene({ script: [{ text: "Fine." }] })
  const session = await scene.stemma.sessions.create()
  void session.prompt("Go", { agent: "nobody" })
  void session.prompt([])
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect((await session.prompt("Go")).text).toBe("Fine.")
})

test("a store that fails for one session fails only that prompt; the prompt is kept and answered later", async () => {
  await using store = await openStore({ driver: "memory" })
  let broken = ""
  await using scene = await runScene({
    store: storeWith(store, {
      commit: async (commit) => {
        if (broken !== "" && Object.keys(commit.fences ?? {}).includes(broken)) {
          throw new StemmaError("unavailable", "The disk is full.")
        }
        return store.commit(commit)
      },
    }),
    script: () => ({ text: "Fine.", delayMs: 20 }),
  })
  const [one, two] = await Promise.all([scene.stemma.sessions.create(), scene.stemma.sessions.create()])
  broken = one.id
  const failing = one.prompt("Go")
  const going = two.prompt("Go")
  await failing.admitted
  await expect(failing).rejects.toMatchObject({ code: "unavailable" })
  expect((await going).text).toBe("Fine.")
  broken = ""
  expect((await one.prompt("Once more", { delivery: "queue" })).text).toBe("Fine.")
  const said = (await one.messages()).filter(({ message }) => message.role === "user")
  expect(said).toHaveLength(2)
  expect((await two.messages()).map(({ message }) => message.role)).toEqual(["user", "assistant"])
})

test("a store that fails when a question is asked ends that run only", async () => {
  await using store = await openStore({ driver: "memory" })
  await using scene = await runScene({
    store: storeWith(store, {
      commit: async (commit) => {
        if (commit.ops.some(({ op }) => op === "permission.put")) {
          throw new StemmaError("unavailable", "The disk is full.")
        }
        return store.commit(commit)
      },
    }),
    interactive: true,
    tools: [tool("thing", { wants: async () => [{ permission: "thing", patterns: ["a"] }] })],
    script: [{ calls: [{ tool: "thing", input: {} }] }, { text: "Fine." }],
  })
  const session = await scene.stemma.sessions.create()
  await expect(session.prompt("Go")).rejects.toMatchObject({ code: "unavailable" })
  expect((await (await scene.stemma.sessions.create()).prompt("Go")).text).toBe("Fine.")
})

test("a store failure in the middle of an answer ends the run without further writes, and the next run repairs the answer", async () => {
  await using store = await openStore({ driver: "memory" })
  let failures = 0
  let after = 0
  await using scene = await runScene({
    store: storeWith(store, {
      commit: async (commit) => {
        if (failures > 0 && commit.fences) after++
        if (failures === 0 && commit.ops.some(({ op }) => op === "piece.add")) {
          failures++
          throw new StemmaError("unavailable", "The disk is full.")
        }
        return store.commit(commit)
      },
    }),
    script: [{ text: Array.from({ length: 60 }, () => "word "), deltaDelayMs: 5 }, { text: "Here again." }],
  })
  const session = await scene.stemma.sessions.create()
  await expect(session.prompt("Go")).rejects.toMatchObject({ code: "unavailable" })
  expect({ failures, after }).toEqual({ failures: 1, after: 0 })
  expect((await session.prompt("Next")).text).toBe("Here again.")
  await assertValid(session)
  expect((await session.messages())[1]!.message).toMatchObject({ finish: "interrupted" })
})

test("a session whose directory is missing fails with a clear error, and other sessions continue", async () => {
  await using scene = await runScene({ files: { "sub/a.txt": "a" }, script: () => ({ text: "Fine." }) })
  const sub = await scene.stemma.sessions.create({ directory: join(scene.directory, "sub") })
  const other = await scene.stemma.sessions.create()
  await rm(join(scene.directory, "sub"), { recursive: true })
  const again = await scene.again()
  await expect((await again.sessions.get(sub.id)).prompt("Go")).rejects.toBeInstanceOf(StemmaError)
  expect((await (await again.sessions.get(other.id)).prompt("Go")).text).toBe("Fine.")
})

test.each([["take"], ["changed"], ["diff"]] as const)(
  "snapshots that fail (%s) are reported; the call, the answer and the summary work without them",
  async (method) => {
    await using scene = await runScene({
      git: true,
      files: { "a.txt": "one\n" },
      script: [{ calls: [{ tool: "write", input: { filePath: "b.txt", content: "b" } }] }, { text: "Done." }],
    })
    const { snapshots } = await scene.stemma.project()
    snapshots[method] = async () => goOff()
    const session = await scene.stemma.sessions.create()
    expect((await session.prompt("Go")).text).toBe("Done.")
    expect(partsOf(await session.messages(), "tool")[0]!.state.status).toBe("completed")
    expect(scene.warnings).toMatchObject([{ message: "It went off." }])
    await assertValid(session)
  },
)

test.each<[string, () => Error, string[]]>([
  ["as models do", () => new ModelError("server", "The server is down."), []],
  ["as nobody expects", () => new Error("It went off."), ["It went off."]],
])("a title that fails %s affects neither the answer nor the process", async (_, error, warned) => {
  let titles = 0
  const titled: Model = {
    ...model(nothing),
    stream({ purpose }) {
      if (purpose !== "title") {
        return events({ type: "text-start", id: "t" }, { type: "text-delta", id: "t", text: "Fine." })
      }
      titles++
      throw error()
    },
  }
  await using scene = await runScene({
    models: { titled: () => titled },
    config: { model: "titled/m", title: true },
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("First words")).text).toBe("Fine.")
  await until("a title was asked for", () => titles === 1)
  await scene.stemma.close()
  expect(scene.warnings.map((one) => (one as Error).message)).toEqual(warned)
  const other = await scene.again()
  expect((await (await other.sessions.get(session.id)).info()).title).toBe("First words")
})

test("a warning handler that throws does not fail a run", async () => {
  await using scene = await runScene({
    tools: [tool("thing", { wants: async () => [{ permission: "thing", patterns: ["a"] }] })],
    onPermission: goOff,
    onWarning: goOff,
    script: [{ calls: [{ tool: "thing", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  expect((await run).text).toBe("Done.")
})
