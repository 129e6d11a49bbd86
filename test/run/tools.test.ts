import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import type { StemmaEvent, Tool } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

function tool<T>(fields: Partial<Tool<T>> & Pick<Tool<T>, "name" | "input" | "execute">): Tool<T> {
  return {
    description: "A tool of the test.",
    replay: "never",
    writes: false,
    wants: async () => [],
    ...fields,
  }
}

test("bad JSON, an unknown tool and wrong input become results that help the model to correct its call", async () => {
  await using scene = await runScene({
    script: [
      {
        calls: [
          { tool: "read", input: '{"filePath": ' },
          { tool: "raed", input: { filePath: "a" } },
          { tool: "read", input: { path: "a" } },
          { tool: "read", input: "[1]" },
        ],
      },
      { text: "I see." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("I see.")
  const errors = partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "error" ? state.error : state.status,
  )
  expect(errors[0]).toContain("not a JSON object")
  expect(errors[1]).toContain("There is no tool raed")
  expect(errors[2]).toContain("filePath")
  expect(errors[3]).toContain("not a JSON object")
  const results = scene.model.requests[1]!.messages.flatMap((message) =>
    message.role === "tool" ? message.content : [],
  )
  expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true])
})

test("the calls of a step run at the same time, and each is settled exactly once", async () => {
  let running = 0
  let most = 0
  const slow = tool({
    name: "slow",
    input: z.object({ n: z.number() }),
    async execute({ n }) {
      most = Math.max(most, ++running)
      await until("all four run", () => most === 4)
      running--
      if (n === 2) throw new Error("The second one fails.")
      return { title: `n ${n}`, output: `result ${n}` }
    },
  })
  await using scene = await runScene({
    tools: [slow],
    script: [{ calls: [1, 2, 3, 4].map((n) => ({ tool: "slow", input: { n } })) }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const settled = new Map<string, number>()
  for await (const event of session.prompt("Go")) {
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") continue
    const { id, state } = event.properties.part
    if (state.status === "completed" || state.status === "error") settled.set(id, (settled.get(id) ?? 0) + 1)
  }
  expect([...settled.values()].length).toBe(4)
  const states = partsOf(await session.messages(), "tool").map(({ state }) => state.status)
  expect(states).toEqual(["completed", "error", "completed", "completed"])
})

test("a tool's running state is in the store before it starts", async () => {
  const seen: string[] = []
  let stemma: Awaited<ReturnType<typeof runScene>>["stemma"]
  const look = tool({
    name: "look",
    input: z.object({}),
    async execute(_, context) {
      const { items } = await stemma.store.history(context.sessionID, { limit: 1 })
      for (const part of items[0]!.parts) if (part.type === "tool") seen.push(part.state.status)
      return { title: "looked", output: "" }
    },
  })
  await using scene = await runScene({
    tools: [look],
    script: [{ calls: [{ tool: "look", input: {} }] }, { text: "Done." }],
  })
  stemma = scene.stemma
  await (await stemma.sessions.create()).prompt("Go")
  expect(seen).toEqual(["running"])
})

test("delayed progress does not overwrite the result", async () => {
  const busy = tool({
    name: "busy",
    input: z.object({}),
    async execute(_, context) {
      context.progress({ title: "first" })
      context.progress({ title: "to be shown a little later" })
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 150)
      context.progress({ title: "shown at once, as the time has passed" })
      return { title: "done", output: "the result" }
    },
  })
  await using scene = await runScene({
    tools: [busy],
    script: [{ calls: [{ tool: "busy", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
  const [part] = partsOf(await session.messages(), "tool")
  expect(part!.state).toMatchObject({ status: "completed", output: "the result" })
})

test("printed output and progress are visible while a tool runs", async () => {
  const gate = Promise.withResolvers<void>()
  const chatty = tool({
    name: "chatty",
    input: z.object({}),
    async execute(_, context) {
      context.progress({ title: "half way", metadata: { done: 1 } })
      context.print("line 1\n")
      context.print("line 2\n")
      await gate.promise
      return { title: "chatted", output: "line 1\nline 2\n" }
    },
  })
  await using scene = await runScene({
    tools: [chatty],
    script: [{ calls: [{ tool: "chatty", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  let output = ""
  let title: string | undefined
  for await (const event of session.prompt("Go")) {
    if (event.type === "message.part.updated" && event.properties.part.type === "tool") {
      const { state } = event.properties.part
      if (state.status === "running") {
        output = state.output ?? ""
        title = state.title ?? title
      }
    }
    if (event.type === "message.part.delta" && event.properties.field === "output")
      output += event.properties.delta
    if (output === "line 1\nline 2\n" && title === "half way") gate.resolve()
  }
  expect(partsOf(await session.messages(), "tool")[0]!.state).toMatchObject({
    status: "completed",
    title: "chatted",
    metadata: { done: 1 },
  })
})

test("output that is too long is cut for the model, kept whole as a blob, and can be paged with read", async () => {
  const lines = Array.from({ length: 5000 }, (_, index) => `line ${index}`)
  const long = tool({
    name: "long",
    input: z.object({}),
    execute: async () => ({ title: "long", output: lines.join("\n") }),
  })
  await using scene = await runScene({
    tools: [long],
    script: (request, n) => {
      if (n === 0) return { calls: [{ tool: "long", input: {} }] }
      if (n > 1) return { text: "Done." }
      const hash = /blob:[0-9a-f]{64}/.exec(JSON.stringify(request.messages))![0]
      return { calls: [{ tool: "read", input: { filePath: hash, offset: 4999 } }] }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [cut, paged] = partsOf(await session.messages(), "tool").map(({ state }) => state)
  if (cut?.status !== "completed" || paged?.status !== "completed") throw new Error("not completed")
  expect(cut.output).toContain("line 1998")
  expect(cut.output).not.toContain("line 2001\n")
  expect(cut.outputBlob).toMatch(/^blob:[0-9a-f]{64}$/)
  const whole = await scene.stemma.store.blobs.get(cut.outputBlob!.slice("blob:".length))
  expect(new TextDecoder().decode(whole)).toBe(lines.join("\n"))
  expect(paged.output).toContain("line 4999")
})

test("bash runs in its own process group, streams its output, and has no keys in its environment", async () => {
  await using scene = await runScene({
    env: {
      PATH: process.env.PATH,
      HOME: "/nowhere",
      OPENAI_API_KEY: "sk-very-secret",
      MY_KEY: "also-secret",
    },
    config: { provider: { mine: { options: { apiKey: "{env:MY_KEY}", baseURL: "http://127.0.0.1:9" } } } },
    script: [
      { calls: [{ tool: "bash", input: { command: "env; echo sk-very-secret; echo fine" } }] },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [state] = partsOf(await session.messages(), "tool").map((part) => part.state)
  if (state?.status !== "completed") throw new Error(JSON.stringify(state))
  expect(state.output).toContain("fine")
  expect(state.output).not.toContain("sk-very-secret")
  expect(state.output).not.toContain("also-secret")
  expect(state.output).not.toContain("OPENAI_API_KEY")
  expect(state.output).not.toContain("MY_KEY")
})

test("todos are written and read, and an event reports them", async () => {
  const todos = [{ id: "1", content: "Look", status: "pending", priority: "high" }]
  await using scene = await runScene({
    script: [
      { calls: [{ tool: "todowrite", input: { todos } }] },
      { calls: [{ tool: "todoread", input: {} }] },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  const events: StemmaEvent[] = []
  for await (const event of session.prompt("Go")) events.push(event)
  expect(await session.todos()).toMatchObject([{ content: "Look", status: "pending" }])
  expect(events.some((event) => event.type === "todo.updated")).toBe(true)
})

test("an edit is refused unless the file was read in its current state", async () => {
  await using scene = await runScene({
    files: { "a.txt": "one\n" },
    script: [
      { calls: [{ tool: "edit", input: { filePath: "a.txt", oldString: "one", newString: "two" } }] },
      { calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
      { calls: [{ tool: "edit", input: { filePath: "a.txt", oldString: "one", newString: "two" } }] },
      { text: "Done." },
      { calls: [{ tool: "edit", input: { filePath: "a.txt", oldString: "two", newString: "three" } }] },
      { text: "Refused." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("two\n")
  await writeFile(join(scene.directory, "a.txt"), "two, changed by a person\n")
  await session.prompt("Again")
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("two, changed by a person\n")
  const states = partsOf(await session.messages(), "tool").map(({ state }) => state.status)
  expect(states).toEqual(["error", "completed", "completed", "error"])
  await assertValid(session)
})
