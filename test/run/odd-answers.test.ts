import { expect, test } from "vitest"
import type { Model, ModelEvent } from "../../src/index.ts"
import { assertValid, partsOf, runScene } from "../support/run-scene.ts"

const finish: ModelEvent = { type: "finish", reason: "stop" }

/** A model that sends these events, one list per call. Some real servers send such events. */
function oddModel(answers: readonly ModelEvent[][]): Model {
  let calls = 0
  return {
    ref: { providerID: "odd", modelID: "m" },
    limit: { context: 0, output: 0 },
    async *stream() {
      yield* answers[calls++] ?? [...said("t", "Fine."), finish]
    },
  }
}

function said(id: string, text: string): ModelEvent[] {
  return [
    { type: "text-start", id },
    { type: "text-delta", id, text },
    { type: "text-end", id },
  ]
}

function oddScene(...answers: ModelEvent[][]) {
  const model = oddModel(answers)
  return runScene({
    models: { odd: () => model },
    files: { "a.txt": "alpha\n", "b.txt": "beta\n" },
    config: { model: "odd/m" },
  })
}

test("a delta before the start of its part is a malformed stream, and the call is retried", async () => {
  await using scene = await oddScene([...said("0", "Lost."), { type: "text-delta", id: "1", text: "Odd." }])
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Hello")
  expect({ text: reply.text, error: reply.error }).toEqual({ text: "Fine.", error: undefined })
  expect(partsOf(await session.messages(), "retry")).toMatchObject([
    { error: { name: "APIError", data: { message: expect.stringContaining("is malformed") } } },
  ])
  await assertValid(session)
})

test("texts that share an id are all in the reply and in the context", async () => {
  const metadata = { odd: { signature: "s" } }
  await using scene = await oddScene([
    { type: "reasoning-start", id: "0" },
    { type: "reasoning-delta", id: "0", text: "Hm." },
    { type: "reasoning-end", id: "0", metadata },
    ...said("0", "One."),
    ...said("0", "Two."),
    finish,
  ])
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Hello")
  expect(reply.text).toBe("One.\nTwo.")
  expect(reply.parts).toMatchObject([
    { type: "step-start" },
    { type: "reasoning", text: "Hm.", metadata, time: { end: expect.any(Number) } },
    { type: "text", text: "One.", time: { end: expect.any(Number) } },
    { type: "text", text: "Two.", time: { end: expect.any(Number) } },
    { type: "step-finish" },
  ])
  expect((await session.messages()).at(-1)!.parts).toEqual(reply.parts)
})

test("tool calls that share an id each run once", async () => {
  const call = (filePath: string): ModelEvent => ({
    type: "tool-call",
    id: "same",
    tool: "read",
    input: JSON.stringify({ filePath }),
  })
  await using scene = await oddScene([call("a.txt"), call("b.txt"), finish])
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Hello")).text).toBe("Fine.")
  expect(partsOf(await session.messages(), "tool")).toMatchObject([
    { state: { status: "completed", output: expect.stringContaining("alpha") } },
    { state: { status: "completed", output: expect.stringContaining("beta") } },
  ])
  await assertValid(session)
})

test("a complete answer stands, whatever the model says about it", async () => {
  const cyclic: Record<string, unknown> = {}
  cyclic.self = cyclic
  let deep: unknown = {}
  for (let level = 0; level < 30_000; level++) deep = [deep]
  const oddMetadata = [cyclic, { deep }, { big: 1n }, 5, "text", []] as Record<string, unknown>[]
  const oddFinishes = [
    { reason: 7 },
    { reason: { odd: true } },
    { reason: "stop", usage: { input: "5", output: 6, reasoning: 0, cache: { read: 0, write: 0 } } },
    { reason: "stop", usage: { input: 5, output: Number.NaN, reasoning: 0, cache: { read: 0, write: 0 } } },
    { reason: "stop", usage: { input: 5e15, output: 6, reasoning: 0, cache: { read: 0, write: 0 } } },
    { reason: "stop", usage: "many", metadata: cyclic },
  ].map((end) => [...said("t", "Whole."), { type: "finish", ...end } as unknown as ModelEvent])
  const answers = [
    ...oddMetadata.map((metadata): ModelEvent[] => [
      { type: "reasoning-start", id: "r", metadata },
      { type: "reasoning-delta", id: "r", text: "Hm." },
      { type: "reasoning-end", id: "r", metadata },
      { type: "text-start", id: "t", metadata },
      { type: "text-delta", id: "t", text: "Whole." },
      { type: "text-end", id: "t", metadata },
      finish,
    ]),
    ...oddFinishes,
  ]
  await using scene = await oddScene(...answers)
  const session = await scene.stemma.sessions.create()
  for (const _ of answers) {
    const reply = await session.prompt("Hello")
    expect({ text: reply.text, error: reply.error }).toEqual({ text: "Whole.", error: undefined })
    expect(reply.message.tokens.input + reply.message.tokens.output).toBeLessThan(100_000)
  }
  expect(partsOf(await session.messages(), "retry")).toEqual([])
})
