import { describe, expect, test } from "vitest"
import { z } from "zod"
import { createScriptedModel, type Tokens, type Tool } from "../../src/index.ts"
import {
  compactionsIn,
  filler,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
  usage,
} from "../support/run/compactions.ts"
import { assertValid, partsOf, type RunSceneOptions, runScene } from "../support/run-scene.ts"

/** True if the second prompt's call is preceded by a compaction, given the counted tokens of the first call. */
async function isCompactedAfter(counted: Tokens, options: RunSceneOptions): Promise<boolean> {
  await using scene = await runScene({
    ...options,
    script: [{ text: "First.", usage: counted }, { text: "Second." }, ...summaries()],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 20 })
  await session.prompt("One")
  expect(compactionsIn(await session.messages())).toEqual([])
  expect((await session.prompt("Two")).text).toBe("Second.")
  const found = compactionsIn(await session.messages())
  expect(requestsFor(scene, "compaction").length > 0).toBe(found.length > 0)
  expect(requestsFor(scene, "step")).toHaveLength(2)
  return found.length > 0
}

const cached = (read: number) => ({ cache: { read, write: 0 } })

describe("the window is the context without the output limit", () => {
  const limit = { context: 40_000, output: 4_000 }
  test.each([
    ["input", usage({ input: 36_100 })],
    ["input from the cache", usage({ input: 100, ...cached(36_000) })],
    ["output", usage({ input: 20_000, output: 16_100 })],
    ["all three together", usage({ input: 12_000, output: 12_100, ...cached(12_000) })],
  ])("and it can be exceeded by %s of the last call", async (_, counted) => {
    expect(await isCompactedAfter(counted, { limit })).toBe(true)
  })

  test("and a context below it is not compacted", async () => {
    const counted = usage({ input: 12_000, output: 11_800, ...cached(12_000) })
    expect(await isCompactedAfter(counted, { limit })).toBe(false)
  })

  test.each([
    { input: 68_100, isCompacted: true },
    { input: 67_800, isCompacted: false },
  ])("at most 32,000 tokens are kept free for output: $input", async ({ input, isCompacted }) => {
    const limit = { context: 100_000, output: 64_000 }
    expect(await isCompactedAfter(usage({ input }), { limit })).toBe(isCompacted)
  })
})

describe("a threshold", () => {
  const limit = { context: 200_000, output: 8_000 }
  const counted = usage({ input: 30_000 })

  test("of the config triggers a compaction long before the window is full", async () => {
    const compaction = { threshold: 29_000 }
    expect(await isCompactedAfter(counted, { limit, config: { compaction } })).toBe(true)
    expect(await isCompactedAfter(counted, { limit, config: { compaction: { threshold: 31_000 } } })).toBe(
      false,
    )
  })

  test("of the agent takes precedence over the config", async () => {
    const config = (threshold: number) => ({
      compaction: { threshold: 30_500 },
      agent: { build: { compaction: { threshold } } },
    })
    expect(await isCompactedAfter(counted, { limit, config: config(29_000) })).toBe(true)
    expect(await isCompactedAfter(usage({ input: 31_000 }), { limit, config: config(40_000) })).toBe(false)
  })

  test("applies to a model with an unknown window", async () => {
    expect(await isCompactedAfter(counted, { config: { compaction: { threshold: 29_000 } } })).toBe(true)
    expect(await isCompactedAfter(counted, {})).toBe(false)
  })

  test("above the window has no effect", async () => {
    const limit = { context: 30_000, output: 2_000 }
    const config = { compaction: { threshold: 80_000 } }
    expect(await isCompactedAfter(usage({ input: 28_500 }), { limit, config })).toBe(true)
  })
})

test("with compaction.auto off the call is made without a compaction", async () => {
  const limit = { context: 20_000, output: 2_000 }
  const config = { compaction: { auto: false } }
  expect(await isCompactedAfter(usage({ input: 19_000 }), { limit, config })).toBe(false)
})

function printing(tokens: number): Tool<{ n: number }> {
  return {
    name: "print",
    description: "Prints a lot.",
    input: z.object({ n: z.number() }),
    replay: "safe",
    writes: false,
    wants: async () => [],
    execute: async ({ n }) => ({ title: "print", output: `Print ${n}: ${filler(tokens)}` }),
  }
}

test("within a tool loop, the history is compacted before the call that would not fit", async () => {
  await using scene = await runScene({
    limit: { context: 30_000, output: 3_000 },
    tools: [printing(4_000)],
    script: (_, n) => (n < 12 ? { calls: [{ tool: "print", input: { n } }] } : { text: "All printed." }),
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Print it twelve times.")
  expect([reply.text, reply.error]).toEqual(["All printed.", undefined])
  const items = await session.messages()
  expect(compactionsIn(items).length).toBeGreaterThanOrEqual(1)
  expect(requestsFor(scene, "step")).toHaveLength(13)
  // The provider counts nothing here. By the estimate, no call was larger than the window.
  for (const { tokens } of partsOf(items, "step-finish")) expect(tokens.input).toBeLessThanOrEqual(27_000)
  expect(
    items.filter(({ message }) => message.role === "user" && message.id !== items[0]!.message.id).length,
  ).toBe(compactionsIn(items).length)
  await assertValid(session)
})

test("tool output counts before the provider has counted it", async () => {
  await using scene = await runScene({
    limit: { context: 30_000, output: 3_000 },
    tools: [printing(9_000)],
    script: (_, n) =>
      n === 1
        ? { calls: [{ tool: "print", input: { n } }], usage: usage({ input: 20_000 }) }
        : { text: "Done.", usage: usage({ input: 19_000 }) },
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 20 })
  await session.prompt("First")
  await session.prompt("Print it.")
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  expect(shownIn(scene)).toContain("To be kept in mind.")
  expect(shownIn(scene)).toContain("Print 1:")
})

test("a long prompt counts", async () => {
  await using scene = await runScene({
    limit: { context: 30_000, output: 3_000 },
    script: () => ({ text: "Done.", usage: usage({ input: 20_000 }) }),
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 20 })
  await session.prompt("First")
  await session.prompt(`Look at this: ${filler(8_000)}`)
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  expect(shownIn(scene)).toContain("Look at this:")
})

test("the window of another model counts as soon as that model is chosen", async () => {
  const ref = (modelID: string) => ({ providerID: "scripted", modelID })
  const make = (modelID: string, context: number) =>
    createScriptedModel([...summaries(), { text: `By ${modelID}.` }], {
      ref: ref(modelID),
      limit: { context, output: 2_000 },
    })
  const models = new Map([
    ["m", make("m", 200_000)],
    ["small", make("small", 20_000)],
  ])
  await using scene = await runScene({ models: { scripted: (id) => models.get(id)! } })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  expect((await session.prompt("One")).text).toBe("By m.")
  expect(compactionsIn(await session.messages())).toEqual([])
  const reply = await session.prompt("Two", { model: "scripted/small" })
  expect([reply.text, reply.error]).toEqual(["By small.", undefined])
  expect(compactionsIn(await session.messages())).toHaveLength(1)
})
