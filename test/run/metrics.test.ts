import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { MetricsSnapshot, Stemma } from "../../src/index.ts"
import { storeWith } from "../support/run/store-with.ts"
import { runScene, until } from "../support/run-scene.ts"
import { answersTo, task } from "../support/task-script.ts"

function usage(input: number, output: number) {
  return { input, output, reasoning: 3, cache: { read: 20, write: 1 } }
}

function toolFigures({ tools }: MetricsSnapshot) {
  return Object.fromEntries(
    tools.map(({ tool, completed, error, duration }) => [tool, { completed, error, ran: duration.count }]),
  )
}

async function untilIdle(stemma: Stemma): Promise<void> {
  await until("no run is going on", () => stemma.metrics().runs.active === 0)
}

test("runs, steps, tokens, cost, tool calls, commits and sessions are counted", async () => {
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    price: { input: 1_000, output: 10_000 },
    script: [
      {
        calls: [
          { tool: "read", input: { filePath: "a.txt" } },
          { tool: "read", input: { filePath: "missing.txt" } },
          { tool: "read", input: "no json" },
          { tool: "made-up-by-the-model", input: {} },
        ],
        usage: usage(100, 10),
      },
      { text: "It says alpha.", usage: usage(200, 5) },
    ],
  })
  const { stemma } = scene
  expect(stemma.metrics()).toMatchObject({
    runs: { started: 0, active: 0 },
    steps: {},
    models: [],
    tools: [],
  })
  const session = await stemma.sessions.create()
  await session.prompt("What does it say?")
  await stemma.sessions.fork(session.id)
  const metrics = stemma.metrics()
  expect(metrics.runs).toEqual({
    started: 1,
    active: 0,
    ended: { stop: 1, error: 0, aborted: 0, interrupted: 0 },
    waiting: { place: 0, lease: 0 },
  })
  expect(metrics.steps).toEqual({ "tool-calls": 1, stop: 1 })
  expect(metrics.stepDuration.count).toBe(2)
  expect(metrics.models).toMatchObject([
    {
      providerID: "scripted",
      modelID: "m",
      tokens: { input: 300, output: 15, reasoning: 6, cache: { read: 40, write: 2 } },
      firstToken: { count: 2 },
    },
  ])
  expect(metrics.models[0]!.cost).toBeCloseTo((await session.info()).cost)
  expect(toolFigures(metrics)).toEqual({
    read: { completed: 1, error: 2, ran: 2 },
    other: { completed: 0, error: 1, ran: 0 },
  })
  expect(metrics.commits.duration.count).toBeGreaterThan(5)
  expect(metrics.commits.duration.sumSeconds).toBeGreaterThan(0)
  expect(metrics.commits.failed).toBe(0)
  expect(metrics.sessionsCreated).toEqual({ new: 1, fork: 1, child: 0 })
})

test("a task's new session and its run are counted, a continued session is not", async () => {
  await using scene = await runScene({
    script: answersTo({
      "Ask.": [{ calls: [task("Where?", { agent: "explore" })] }, { text: "There." }],
      "Where?": [{ text: "There." }],
    }),
  })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  await stemma.sessions.create({ id: session.id })
  await session.prompt("Ask.")
  await untilIdle(stemma)
  expect(stemma.metrics()).toMatchObject({
    runs: { started: 2, ended: { stop: 2 } },
    sessionsCreated: { new: 1, child: 1 },
  })
})

test("retries are counted by reason, and a failed run counts as an error", async () => {
  await using scene = await runScene({
    script: [
      { error: { kind: "rate" } },
      { error: { kind: "rate" } },
      { error: { kind: "server" } },
      { text: "Now." },
      { error: { kind: "auth" } },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Hello")
  await session.prompt("Again")
  expect(scene.stemma.metrics()).toMatchObject({
    retries: { rate: 2, server: 1 },
    runs: { started: 2, ended: { stop: 1, error: 1 } },
    steps: { stop: 1, error: 1 },
  })
})

test("a running run is active, and an aborted run counts as aborted", async () => {
  await using scene = await runScene({ script: [{ delayMs: Number.POSITIVE_INFINITY }] })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const talking = session.prompt("Talk")
  await until("it is asked", () => scene.model.requests.length === 1)
  expect(stemma.metrics().runs).toMatchObject({ started: 1, active: 1 })
  await session.abort()
  await talking
  await untilIdle(stemma)
  expect(stemma.metrics()).toMatchObject({ runs: { ended: { aborted: 1 } }, steps: { aborted: 1 } })
})

test("an interrupted run counts as interrupted, and again in the process that continues it", async () => {
  await using scene = await runScene({ script: [{ delayMs: Number.POSITIVE_INFINITY }, { text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  session.prompt("Talk").then(null, () => {})
  await until("it is asked", () => scene.model.requests.length === 1)
  const closing = scene.stemma.close()
  await Promise.all([closing, scene.stemma.close()])
  expect(scene.stemma.metrics().runs).toMatchObject({ active: 0, ended: { interrupted: 1 } })
  const next = await scene.again({ recover: true })
  await until("it is gone on with", () => next.metrics().runs.ended.stop === 1)
  expect(next.metrics().runs).toMatchObject({ started: 1, active: 0 })
})

test("closing in the middle of a task interrupts both runs", async () => {
  const asked = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: answersTo({
      "Ask.": [{ calls: [task("Where?", { agent: "explore" })] }],
      "Where?": [
        () => {
          asked.resolve()
          return { delayMs: Number.POSITIVE_INFINITY }
        },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  session.prompt("Ask.").then(null, () => {})
  await asked.promise
  const closing = scene.stemma.close()
  await Promise.all([closing, scene.stemma.close()])
  expect(scene.stemma.metrics()).toMatchObject({
    runs: { started: 2, active: 0, ended: { interrupted: 2, error: 0 } },
    steps: { interrupted: 2 },
    tools: [{ tool: "task", completed: 0, error: 0 }],
  })
})

test("closing while a prompt's references are resolved interrupts its run", async () => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  session.prompt("See !`touch begun; sleep 60`").then(null, () => {})
  await until("the command runs", () => existsSync(join(scene.directory, "begun")))
  const closing = scene.stemma.close()
  await Promise.all([closing, scene.stemma.close()])
  expect(scene.stemma.metrics()).toMatchObject({
    runs: { started: 1, active: 0, ended: { interrupted: 1 } },
    steps: {},
  })
})

test("a repair without a model call does not count as a run", async () => {
  await using scene = await runScene({ script: [{ delayMs: Number.POSITIVE_INFINITY }, { text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  session.prompt("Talk").then(null, () => {})
  await until("it is asked", () => scene.model.requests.length === 1)
  const closing = scene.stemma.close()
  await Promise.all([closing, scene.stemma.close()])
  const next = await scene.again()
  await (await next.sessions.get(session.id)).prompt("Go on")
  expect(next.metrics().runs).toMatchObject({ started: 1, active: 0, ended: { stop: 1, interrupted: 0 } })
})

test("a question counts as open until it is answered", async () => {
  await using scene = await runScene({
    interactive: true,
    config: { permission: { bash: "ask" } },
    script: [
      { calls: [{ tool: "bash", input: { command: "true", description: "Nothing" } }] },
      { text: "Done." },
    ],
  })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const asking = session.prompt("Run it")
  await until("it asks", async () => (await session.questions()).length === 1)
  expect(stemma.metrics().questionsOpen).toBe(1)
  const [question] = await session.questions()
  await stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  await asking
  expect(stemma.metrics().questionsOpen).toBe(0)
})

test("runs that wait for a lease of another process are counted", async () => {
  await using scene = await runScene({
    script: [{ text: "a b c d e f", deltaDelayMs: 60 }, { text: "Two." }],
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const first = session.prompt("One")
  await until("it is asked", () => scene.model.requests.length === 1)
  const second = (await other.sessions.get(session.id)).prompt("Two", { delivery: "queue" })
  await until("it waits", () => other.metrics().runs.waiting.lease === 1)
  await Promise.all([first, second])
  await until("nobody waits", () => other.metrics().runs.waiting.lease === 0)
})

test("runs that wait for a free slot are counted", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  const { stemma } = scene
  const sessions = await Promise.all(Array.from({ length: 6 }, () => stemma.sessions.create()))
  const held = Promise.withResolvers<void>()
  const store = storeWith(stemma.store, {
    claim: async (sessionID) => {
      await held.promise
      return stemma.store.claim(sessionID)
    },
  })
  const crowded = await scene.again({ store })
  const prompts = await Promise.all(
    sessions.map(async ({ id }) => ({ sent: (await crowded.sessions.get(id)).prompt("Hello") })),
  )
  await until("all but four wait", () => crowded.metrics().runs.waiting.place === 2)
  held.resolve()
  await Promise.all(prompts.map(({ sent }) => sent))
  await until("nobody waits", () => crowded.metrics().runs.waiting.place === 0)
  expect(crowded.metrics().runs.ended.stop).toBe(6)
})

test("a failed commit is counted, and its run counts as an error", async () => {
  await using scene = await runScene({ script: [{ text: "One." }] })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const store = storeWith(stemma.store, {
    commit: async (commit) => {
      if (commit.ops.some(({ op }) => op === "message.seal")) throw new Error("The disk is full.")
      return stemma.store.commit(commit)
    },
  })
  const failing = await scene.again({ store })
  const prompt = (await failing.sessions.get(session.id)).prompt("Hello")
  await expect(prompt.then(() => {})).rejects.toThrow("The disk is full.")
  expect(failing.metrics()).toMatchObject({
    commits: { failed: 1 },
    runs: { active: 0, ended: { error: 1 } },
  })
})
