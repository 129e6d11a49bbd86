import { expect, test } from "vitest"
import {
  compactionPart,
  compactionsIn,
  filler,
  fillTurns,
  requestsFor,
  summaries,
  usage,
} from "../support/run/compactions.ts"
import { partsOf, runScene } from "../support/run-scene.ts"

const price = { input: 0.1, output: 0.3, cache: { read: 0.01, write: 0.125 } }
const counted = usage({ input: 3, output: 7, reasoning: 11, cache: { read: 13, write: 17 } })
/** 3 x 0.1 + 7 x 0.3 + 11 x 0.3 + 13 x 0.01 + 17 x 0.125 dollars per million. */
const cost = 0.000007955

test("each step, message and session has exact tokens and cost, with reasoning at the price of output", async () => {
  await using scene = await runScene({
    price,
    files: { "a.txt": "heron\n" },
    script: [
      { calls: [{ tool: "read", input: { filePath: "a.txt" } }], usage: counted },
      { text: "One.", usage: counted },
      { text: "Two.", usage: counted },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  await session.prompt("Two")
  const items = await session.messages()
  for (const part of partsOf(items, "step-finish")) expect(part).toMatchObject({ cost, tokens: counted })
  for (const { message } of items) {
    if (message.role === "assistant") expect(message).toMatchObject({ cost, tokens: counted })
  }
  expect(await session.info()).toMatchObject({
    cost: 0.000023865,
    tokens: { input: 9, output: 21, reasoning: 33, cache: { read: 39, write: 51 } },
  })
})

test("the sum of many small costs has no rounding error", async () => {
  await using scene = await runScene({
    price: { input: 0.1, output: 0.2 },
    script: () => ({ text: "Yes.", usage: usage({ input: 1, output: 1 }) }),
  })
  const session = await scene.stemma.sessions.create()
  for (let turn = 0; turn < 30; turn++) await session.prompt("Again")
  expect((await session.info()).cost).toBe(0.000009)
})

test("every call of a summary in pieces is counted in its message and the session", async () => {
  await using scene = await runScene({
    price,
    limit: { context: 20_000, output: 2_000 },
    script: [{ text: "Done.", usage: counted }, ...summaries({ text: "Short.", usage: counted })],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  await session.prompt("And now?")
  const calls = requestsFor(scene, "compaction").length
  expect(calls).toBeGreaterThan(1)
  const [found] = compactionsIn(await session.messages())
  expect(found!.message.cost).toBeCloseTo(cost * calls, 15)
  expect(found!.message.tokens.reasoning).toBe(11 * calls)
  const info = await session.info()
  expect(info.cost).toBeCloseTo(cost * (calls + 1), 15)
  expect(info.tokens.cache).toEqual({ read: 13 * (calls + 1), write: 17 * (calls + 1) })
})

test("the cost of a failed compaction is in its message and the session, and does not count as context", async () => {
  const huge = usage({ input: 900_000, output: 1 })
  await using scene = await runScene({
    price,
    limit: { context: 200_000, output: 10_000 },
    script: [{ text: "One." }, { text: "Two." }, ...summaries({ text: "", usage: huge })],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  await session.prompt("One")
  await session.compact().catch(() => {})
  const failed = compactionsIn(await session.messages())
  expect(failed).toHaveLength(1)
  const calls = requestsFor(scene, "compaction").length
  expect(failed[0]!.message.tokens.input).toBe(900_000 * calls)
  await session.prompt("Two")
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  const answers = (await session.messages()).flatMap(({ message }) =>
    message.role === "assistant" ? [message] : [],
  )
  const sum = answers.reduce((total, message) => total + message.cost, 0)
  expect((await session.info()).cost).toBeCloseTo(sum, 12)
})

test("if the provider always refuses the context, session and messages have the same cost", async () => {
  await using scene = await runScene({
    price,
    script: () => ({ error: { kind: "context", message: "Too long." } }),
  })
  scene.model.add(...summaries({ text: "Short.", usage: counted }))
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  await session.prompt("And now?")
  const items = await session.messages()
  const sum = items.reduce(
    (total, { message }) => total + (message.role === "assistant" ? message.cost : 0),
    0,
  )
  const calls = requestsFor(scene, "compaction").length
  expect(calls).toBeGreaterThan(1)
  expect((await session.info()).cost).toBeCloseTo(cost * calls, 15)
  expect(sum).toBeCloseTo(cost * calls, 15)
})

test("a compaction that does not help is counted in the message for which it should make room", async () => {
  await using scene = await runScene({
    price,
    script: [{ error: { kind: "context", message: "Too long." } }, { text: "Done.", usage: counted }],
  })
  scene.model.add(...summaries({ text: filler(2_000), usage: counted }))
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 2, tokens: 150 })
  const reply = await session.prompt("And now?")
  expect(reply.error?.name).toBe("ContextOverflowError")
  const calls = requestsFor(scene, "compaction").length
  expect(calls).toBeGreaterThan(0)
  expect(reply.message.cost).toBeCloseTo(cost * calls, 15)
  expect((await session.info()).cost).toBeCloseTo(cost * calls, 15)
  expect((await session.prompt("And then?")).text).toBe("Done.")
})

test("without a count of the provider, tokens are estimated and the cost follows from them", async () => {
  await using scene = await runScene({
    price,
    script: [{ text: filler(200) }, { for: "compaction", text: filler(50) }],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  const { message } = await session.prompt("And now?")
  expect(message.tokens.input).toBeGreaterThan(24_000)
  expect(message.tokens.input).toBeLessThan(40_000)
  expect(message.tokens.output).toBeGreaterThan(150)
  expect(message.tokens.output).toBeLessThan(250)
  expect(message.cost).toBe(Math.round(message.tokens.input * 1e5 + message.tokens.output * 3e5) / 1e12)
  await session.compact()
  const { tokens } = compactionsIn(await session.messages())[0]!.message
  expect(tokens.input).toBeGreaterThan(5_000)
  expect(tokens.output).toBeGreaterThan(30)
})

test("the estimate is corrected by the provider's last count", async () => {
  const limit = { context: 100_000, output: 10_000 }
  const script = (input: number) => [{ text: "One.", usage: usage({ input }) }, { text: "Two." }]
  const estimates: number[] = []
  for (const real of [20_000, 40_000]) {
    await using scene = await runScene({ limit, script: script(real) })
    const session = await scene.stemma.sessions.create()
    await fillTurns(session, { turns: 40 })
    await session.prompt("One")
    estimates.push((await session.prompt("Two")).message.tokens.input)
  }
  expect(estimates[1]! / estimates[0]!).toBeGreaterThan(1.8)
  expect(estimates[1]! / estimates[0]!).toBeLessThan(2.2)
})

test("the size that a compaction reports equals that of the next call", async () => {
  await using scene = await runScene({
    limit: { context: 30_000, output: 2_000 },
    script: [{ text: "Done." }, ...summaries()],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  const { message } = await session.prompt("And now?")
  const part = compactionPart(compactionsIn(await session.messages())[0]!)
  expect(part.tokensBefore).toBeGreaterThan(36_000)
  expect(Math.abs(part.tokensAfter! - message.tokens.input)).toBeLessThan(part.tokensAfter! * 0.1)
})
