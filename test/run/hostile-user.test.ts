import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import { type Model, type ModelEvent, openStemma, openStore, type Tool } from "../../src/index.ts"
import { expectHelpful, rejection } from "../support/rejection.ts"
import { storeWith } from "../support/run/store-with.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"

const whole = { text: "Whole." }
const write = (content: string) => ({
  calls: [{ tool: "write", input: { filePath: "a.txt", content } }],
})

function wrong<T>(value: unknown): T {
  return value as T
}

function tool(over: Partial<Tool>): Tool {
  return {
    name: "mine",
    description: "A tool.",
    input: z.object({}),
    replay: "never",
    writes: false,
    wants: async () => [],
    execute: async () => ({ title: "Mine", output: "mine" }),
    ...over,
  }
}

const callsMine = (_: unknown, n: number) => (n === 0 ? { calls: [{ tool: "mine", input: {} }] } : whole)

async function within<T>(ms: number, promise: PromiseLike<T>): Promise<T | "waits"> {
  const { promise: late, resolve } = Promise.withResolvers<"waits">()
  const timer = setTimeout(() => resolve("waits"), ms)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

async function fileOf(scene: RunScene): Promise<string | undefined> {
  return readFile(join(scene.directory, "a.txt"), "utf8").catch(() => undefined)
}

test("a prompt that can never be taken is refused, and the session works afterwards", async () => {
  await using scene = await runScene({ script: () => whole })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  const [, answer] = await session.messages()
  const appended = await session.append({ role: "user", text: "Known" })
  const twice = ["a", "b"].map((text) => ({
    type: "text" as const,
    text,
    id: "prt_01k000000000000000000000ab",
  }))
  expectHelpful(await rejection(Promise.resolve(session.prompt(twice))), "invalid")
  for (const messageID of [answer!.message.id, appended.message.id]) {
    expectHelpful(await rejection(Promise.resolve(session.prompt("Two", { messageID }))), "conflict")
  }
  expect((await session.prompt("Three")).text).toBe("Whole.")
})

test("a wrong scope or signal of a subscription is refused at once, and closing works afterwards", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  for (const scope of [null, 5, "x"]) {
    expectHelpful(await rejection((async () => scene.stemma.events(wrong({ scope })).next())()), "invalid")
  }
  expectHelpful(await rejection((async () => session.events(wrong({ signal: {} })).next())()), "invalid")
  await scene.stemma.close()
})

test("a revert with a missing snapshot marks the session and reports that files were not restored", async () => {
  await using scene = await runScene({ script: () => whole })
  const session = await scene.stemma.sessions.create()
  const asked = await session.append({ role: "user", text: "Q" })
  const patch = { type: "patch" as const, hash: "0".repeat(40), files: ["a.txt"] }
  await session.append({ role: "assistant", parts: [patch] })
  const reverted = await scene.stemma.sessions.revert(session.id, { messageID: asked.message.id })
  expect(reverted.notice).toBeTypeOf("string")
  expect(reverted.session.revert?.messageID).toBe(asked.message.id)
})

test("changes to argument objects after the call have no effect", async () => {
  await using scene = await runScene({ script: () => whole })
  const created = { title: "Mine" }
  const creating = scene.stemma.sessions.create(created)
  created.title = "Other"
  const session = await creating
  const parts = [{ type: "text" as const, text: "Before" }]
  const options = { system: "Before" }
  const prompt = session.prompt(parts, options)
  parts[0]!.text = "After"
  options.system = "After"
  await prompt
  const input = { role: "user" as const, text: "Before" }
  const appending = session.append(input)
  input.text = "After"
  await appending
  const items = await session.messages()
  expect((await session.info()).title).toBe("Mine")
  expect(items[0]!.message).toMatchObject({ system: "Before" })
  expect(JSON.stringify(items)).not.toContain("After")
})

test("wrong arguments are refused with an error, and change nothing", async () => {
  await using scene = await runScene({ script: () => whole })
  const { sessions, permissions } = scene.stemma
  const session = await sessions.create()
  const before = await session.info()
  const calls: (() => unknown)[] = [
    () => sessions.create(wrong(null)),
    () => sessions.create(wrong({ files: "a.txt" })),
    () => sessions.create(wrong({ model: 5 })),
    () => sessions.create(wrong({ directory: [] })),
    () => sessions.create(wrong({ titel: "x" })),
    () => sessions.current(wrong(null)),
    () => sessions.update(session.id, wrong(undefined)),
    () => sessions.update(session.id, wrong({ revert: null })),
    () => sessions.fork(wrong(undefined)),
    () => sessions.revert(session.id, wrong(undefined)),
    () => sessions.touch(wrong({ id: 1 })),
    () => sessions.list(wrong({ key: {} })),
    () => sessions.search(wrong(5)),
    () => sessions.archive(session.id, wrong({ archived: "no" })),
    () => session.prompt("x", wrong(null)),
    () => session.prompt("x", wrong("queue")),
    () => session.prompt(wrong([null])),
    () => session.append(wrong("text")),
    () => session.append(wrong({ role: "system", text: "x" })),
    () => session.messages(wrong({ last: -1 })),
    () => session.setAgent(wrong(Symbol("x"))),
    () => permissions.open(wrong(null)),
    () => scene.stemma.project(wrong(5)),
    () => openStemma(wrong(null)),
    () => openStemma(wrong({ tools: [{}] })),
    () => openStemma(wrong({ data: 5 })),
  ]
  for (const call of calls) expectHelpful(await rejection((async () => call())()), "invalid")
  expect(await session.info()).toEqual(before)
  expect(await session.messages()).toEqual([])
})

test("an iteration over a prompt that starts late, or beside another one, ends", async () => {
  await using scene = await runScene({ script: () => ({ text: "a b c", deltaDelayMs: 5 }) })
  const session = await scene.stemma.sessions.create()
  const count = async (events: AsyncIterable<unknown>) => {
    let seen = 0
    for await (const _ of events) seen++
    return seen
  }
  const first = session.prompt("One")
  await first
  expect(await within(5000, count(first))).not.toBe("waits")
  const second = session.prompt("Two")
  await second.admitted
  expect(await within(5000, count(second))).not.toBe("waits")
  const third = session.prompt("Three")
  const both = await within(5000, Promise.all([count(third), count(third)]))
  expect(both).not.toBe("waits")
  expect(Math.min(...(both as number[]))).toBeGreaterThan(2)
})

test.each(["its parent is removed", "another Stemma removes it"])(
  "a session's run is aborted when %s",
  async (how) => {
    let state = "not begun"
    const slow = tool({
      execute: (_, { signal }) => {
        state = "running"
        return new Promise((_resolve, reject) => {
          signal.addEventListener("abort", () => {
            state = "aborted"
            reject(signal.reason)
          })
        })
      },
    })
    await using scene = await runScene({ script: callsMine, tools: [slow] })
    const parent = await scene.stemma.sessions.create()
    const session = await scene.stemma.sessions.create({ parentID: parent.id })
    const prompt = session.prompt("Go")
    await until("the tool runs", () => state === "running")
    if (how.startsWith("its")) await scene.stemma.sessions.remove(parent.id)
    else await (await scene.again()).sessions.remove(session.id)
    expect(await within(5000, Promise.allSettled([prompt]))).not.toBe("waits")
    expect(state).toBe("aborted")
  },
)

test("hundreds of prompts without an awaiting caller are each answered", async () => {
  await using scene = await runScene({ script: () => whole })
  const session = await scene.stemma.sessions.create()
  const prompts = Array.from({ length: 400 }, (_, n) => session.prompt(`Prompt ${n}`))
  const replies = await Promise.all(prompts)
  expect(new Set(replies.map(({ message }) => message.parentID)).size).toBe(400)
})

const unreadable = [
  ["without a text", () => Object.create(null) as unknown],
  ["whose message is no text", () => Object.assign(new Error(), { message: { a: 1 } })],
  [
    "whose message cannot be read",
    () =>
      Object.defineProperty(new Error(), "message", {
        get() {
          throw new Error("Not to be read.")
        },
      }),
  ],
] as const

function ownModel(stream: () => AsyncGenerator<ModelEvent>): Record<string, () => Model> {
  const ref = { providerID: "own", modelID: "m" }
  return { own: () => ({ ref, limit: { context: 0, output: 0 }, stream }) }
}

test.each(unreadable)("a model that throws something %s ends its message", async (_, thrown) => {
  // biome-ignore lint/correctness/useYield: it fails before it gives anything
  const models = ownModel(async function* () {
    throw thrown()
  })
  await using scene = await runScene({ models, config: { model: "own/m" }, timing: { retriesMax: 0 } })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).message.finish).toBe("error")
  await assertValid(session)
})

test.each(unreadable)("a tool that throws something %s fails only its own call", async (_, thrown) => {
  const broken = tool({
    execute: async () => {
      throw thrown()
    },
  })
  await using scene = await runScene({ script: callsMine, tools: [broken] })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Whole.")
  await assertValid(session)
})

test("a custom model that never sends anything counts as stalled", async () => {
  const models = ownModel(async function* () {
    await new Promise(() => {})
  })
  const config = { model: "own/m", idleTimeoutMs: 100 }
  await using scene = await runScene({ models, config, timing: { retriesMax: 0 } })
  const session = await scene.stemma.sessions.create()
  const reply = await within(10_000, session.prompt("Go"))
  expect(reply).toMatchObject({ message: { finish: "error" } })
})

const boom = () => {
  throw new Error("Boom.")
}

test.each([
  ["a schema that throws", { input: z.object({}).transform(boom) }, /Boom/],
  ["a schema that is asynchronous", { input: z.object({}).refine(async () => true) }, /./],
  ["an execute that is not async", { execute: wrong(() => ({ title: "t", output: "plain" })) }, /^plain$/],
  ["wants that is not async", { wants: wrong(() => []) }, /^mine$/],
  ["no result", { execute: wrong(async () => undefined) }, /^(?!.*Cannot read)/],
  ["a text for a result", { execute: wrong(async () => "text") }, /^(?!.*Cannot read)/],
  [
    "attachments that are none",
    { execute: wrong(async () => ({ title: "t", output: "o", attachments: "x" })) },
    /^(?!.*is not a function)/,
  ],
] as [string, Partial<Tool>, RegExp][])("a tool with %s does not end the run", async (_, over, result) => {
  await using scene = await runScene({ script: callsMine, tools: [tool(over)] })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Whole.")
  const [part] = partsOf(await session.messages(), "tool")
  const { state } = part!
  expect(state.status === "completed" ? state.output : state.status === "error" && state.error).toMatch(
    result,
  )
})

test.each([
  ["throws", boom],
  ["never comes", () => new Promise<string>(() => {})],
])("a tool whose description %s does not fail a session", async (_, description) => {
  await using scene = await runScene({ script: () => whole, tools: [tool({ description })] })
  const session = await scene.stemma.sessions.create()
  expect(await within(15_000, session.prompt("Go"))).toMatchObject({ text: "Whole." })
})

async function reverted(scene: RunScene) {
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [asked] = await session.messages()
  return { session, revert: () => scene.stemma.sessions.revert(session.id, { messageID: asked!.message.id }) }
}

test("unrevert reports files that a person changed after the revert", async () => {
  await using scene = await runScene({ git: true, script: [write("model's"), whole] })
  const { session, revert } = await reverted(scene)
  await revert()
  await writeFile(join(scene.directory, "a.txt"), "a person's")
  const { notice } = await scene.stemma.sessions.unrevert(session.id)
  const isKept = (await fileOf(scene)) === "a person's"
  expect(isKept || notice?.includes("a.txt")).toBe(true)
})

test.each(["data:image/png;base64,", "data:image/png;base64,!!!"])(
  "a file without bytes is refused: %s",
  async (url) => {
    await using scene = await runScene({ script: () => whole })
    const session = await scene.stemma.sessions.create()
    const file = { type: "file" as const, mime: "image/png", url }
    expectHelpful(await rejection(Promise.resolve(session.prompt([file]))), "invalid")
    expect(await session.messages()).toEqual([])
  },
)

test("no file is restored before the revert mark is durable", async () => {
  const inner = await openStore({ driver: "memory" })
  let isFailing = false
  const store = storeWith(inner, {
    commit: async (commit) => {
      if (isFailing) throw new Error("The process was killed here.")
      return inner.commit(commit)
    },
  })
  await using scene = await runScene({ git: true, store, script: [write("model's"), whole] })
  const { session, revert } = await reverted(scene)
  isFailing = true
  await rejection(revert())
  isFailing = false
  expect((await session.info()).revert).toBeUndefined()
  expect(await fileOf(scene)).toBe("model's")
})
