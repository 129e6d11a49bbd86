import { describe, expect, test } from "vitest"
import { createScriptedModel, type Model, type ModelEvent, type ModelRequest } from "../../src/index.ts"
import { rejection } from "../support/rejection.ts"
import { compactionPart, compactionsIn, fillTurns, summaries } from "../support/run/compactions.ts"
import { assertValid, type RunScene, runScene, until } from "../support/run-scene.ts"

const limit = { context: 20_000, output: 2_000 }

/** A model that answers steps normally and summarises as the test sets. */
async function sceneWith(summarise: (request: ModelRequest) => AsyncIterable<ModelEvent>): Promise<RunScene> {
  const steps = createScriptedModel(() => ({ text: "Done." }), { limit })
  const ref = { providerID: "scripted", modelID: "m" }
  const model: Model = {
    ref,
    limit,
    stream: (request) => (request.purpose === "compaction" ? summarise(request) : steps.stream(request)),
  }
  return runScene({
    models: { scripted: () => model },
    config: { idleTimeoutMs: 40 },
    timing: { toolGraceMs: 100 },
  })
}

const forEver = () => new Promise<never>(() => {})

const odd: { what: string; summarise: (request: ModelRequest) => AsyncIterable<ModelEvent> }[] = [
  {
    what: "throws before it says anything",
    summarise: () => {
      throw new TypeError("Not a model.")
    },
  },
  {
    what: "hears no signal and never ends",
    summarise: async function* () {
      await forEver()
      yield { type: "finish", reason: "stop" }
    },
  },
  {
    what: "gives what is no event",
    summarise: async function* () {
      yield null as unknown as ModelEvent
    },
  },
  {
    what: "throws what is no error",
    summarise: async function* () {
      yield { type: "text-start", id: "t" }
      throw null
    },
  },
  { what: "gives no stream at all", summarise: () => undefined as unknown as AsyncIterable<ModelEvent> },
]

describe.each(odd)("a summariser that $what", ({ summarise }) => {
  test("does no harm", async () => {
    await using scene = await sceneWith(summarise)
    const session = await scene.stemma.sessions.create()
    await fillTurns(session, { turns: 40 })
    const reply = await session.prompt("And now?")
    expect([reply.text, reply.error]).toEqual(["Done.", undefined])
    expect(compactionsIn(await session.messages())).toHaveLength(1)
    await fillTurns(session, { turns: 10, from: 100 })
    expect(await rejection(session.compact())).toMatchObject({ name: "StemmaError", code: "unavailable" })
    await assertValid(session)
  })
})

test("a summary that never ends is stopped", async () => {
  let said = 0
  await using scene = await sceneWith(async function* () {
    yield { type: "text-start", id: "t" }
    for (;;) {
      said++
      yield { type: "text-delta", id: "t", text: "and so on ".repeat(200) }
    }
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  expect((await session.prompt("And now?")).text).toBe("Done.")
  const part = compactionPart(compactionsIn(await session.messages())[0]!)
  expect(part.summary).toContain("and so on")
  expect(part.tokensAfter).toBeLessThan(18_000)
  expect(said).toBeLessThan(2_000)
})

test("a summariser that ignores the abort signal is abandoned after an abort", async () => {
  let isOver = false
  await using scene = await sceneWith(async function* () {
    yield { type: "text-start", id: "t" }
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      yield { type: "text-delta", id: "t", text: "a" }
    }
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  const prompt = session.prompt("And now?")
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await session.abort("Enough.")
  expect((await prompt).error).toMatchObject({ name: "MessageAbortedError" })
  expect((await session.info()).time.compacting).toBeUndefined()
  isOver = true
})

test("a model whose real window is much smaller than stated is not asked without end", async () => {
  let calls = 0
  const tooLong = summaries({ error: { kind: "context", message: "Too long." } })[0]!
  const bad = createScriptedModel(Array.from({ length: 4000 }, () => tooLong))
  const steps = createScriptedModel(() => ({ text: "Done." }))
  const good = createScriptedModel(Array.from({ length: 4000 }, () => summaries()[0]!))
  const big = { context: 200_000, output: 8_000 }
  const model: Model = {
    ref: { providerID: "scripted", modelID: "m" },
    limit: big,
    stream(request) {
      if (request.purpose !== "compaction") return steps.stream(request)
      calls++
      const isLong = JSON.stringify(request.messages).length > 5_000
      return (isLong ? bad : good).stream(request)
    },
  }
  await using scene = await runScene({ models: { scripted: () => model } })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 100, tokens: 1_000 })
  expect(await rejection(session.compact())).toMatchObject({ code: "unavailable" })
  expect(calls).toBeLessThanOrEqual(40)
})

test("invalid usage is not counted", async () => {
  await using scene = await sceneWith(async function* () {
    yield { type: "text-start", id: "t" }
    yield { type: "text-delta", id: "t", text: "A summary." }
    yield { type: "text-end", id: "t" }
    const tokens = { input: Number.NaN, output: -5, reasoning: 0, cache: { read: 0, write: 0 } }
    yield { type: "finish", reason: "stop", usage: tokens }
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 30 })
  await session.compact()
  const { tokens } = compactionsIn(await session.messages())[0]!.message
  expect(tokens.input).toBeGreaterThan(1_000)
  expect(tokens.output).toBeGreaterThan(0)
})

test("a fork of a session that is being compacted is not marked as compacting", async () => {
  await using scene = await runScene({ script: summaries({ text: "Late.", delayMs: 200 }) })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 35 })
  const compacting = session.compact()
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  const fork = await scene.stemma.sessions.fork(session.id)
  expect((await fork.info()).time.compacting).toBeUndefined()
  expect(await fork.messages()).toHaveLength(70)
  await compacting
  expect(compactionsIn(await fork.messages())).toEqual([])
})
