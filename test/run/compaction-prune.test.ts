import { expect, test } from "vitest"
import { prunedTimes } from "../../src/session/index.ts"
import {
  compactionsIn,
  fillOutput,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
  usage,
} from "../support/run/compactions.ts"
import { assertValid, partsOf, type RunScene, type RunSceneOptions, runScene } from "../support/run-scene.ts"

const limit = { context: 120_000, output: 10_000 }
const done = { text: "Done." }
const hidden = "This output was left out"

/** The outputs of `fillOutput` that the model was shown in the last step. */
function shownOutputs(scene: RunScene): number[] {
  return [...shownIn(scene).matchAll(/Output (\d+): alpha/g)].map(([, number]) => Number(number))
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

async function pruneScene(options: RunSceneOptions = {}): Promise<RunScene> {
  return runScene({ limit, script: () => done, ...options })
}

test("the newest 40,000 tokens of output stay, older ones are hidden, and nothing is compacted", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  // Eight outputs would be a few tokens more than 40,000.
  expect(shownOutputs(scene)).toEqual(range(17, 24))
  expect(shownIn(scene).split(hidden)).toHaveLength(17 + 1)
  const items = await session.messages()
  expect(compactionsIn(items)).toEqual([])
  expect(requestsFor(scene, "compaction")).toHaveLength(0)
  await assertValid(session)
})

test("the prune mark is a field of the step-start part, and earlier messages do not change", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  const before = await session.messages()
  const reply = await session.prompt("And now?")
  const after = await session.messages()
  expect(after.slice(0, before.length)).toEqual(before)
  const marks = after.flatMap(({ message, parts }) =>
    parts.flatMap((part) =>
      part.type === "step-start" && part.prune ? [{ message, prune: part.prune }] : [],
    ),
  )
  expect(marks.map(({ message }) => message.id)).toEqual([reply.message.id])
  expect(marks[0]!.prune.parts).toHaveLength(17)
  const times = prunedTimes(after)
  expect([...times.keys()]).toEqual(
    partsOf(before, "tool")
      .slice(0, 17)
      .map(({ id }) => id),
  )
  expect(new Set(times.values())).toEqual(new Set([marks[0]!.prune.time]))
})

test("hidden output can still be read and searched by people", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  const outputs = partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output.slice(0, 10) : "",
  )
  expect(outputs).toEqual(range(0, 24).map((n) => `Output ${n}: alpha`.slice(0, 10)))
  expect(await session.transcript()).toContain("Output 0:")
})

test("hidden output stays hidden in later calls, also in another process", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  await session.prompt("And then?")
  expect(shownOutputs(scene)).toEqual(range(17, 24))
  const other = await (await scene.again()).sessions.get(session.id)
  await other.prompt("And elsewhere?")
  expect(shownOutputs(scene)).toEqual(range(17, 24))
  expect(partsOf(await session.messages(), "step-start").filter(({ prune }) => prune)).toHaveLength(1)
})

test("if hiding output would free at most 20,000 tokens, the history is compacted instead", async () => {
  await using scene = await pruneScene({
    limit: { context: 60_000, output: 4_000 },
    script: [done, ...summaries()],
  })
  const session = await scene.stemma.sessions.create()
  // Eight outputs are protected.
  await fillOutput(session, { turns: 11, tokens: 4_900 })
  await session.prompt("And now?")
  const items = await session.messages()
  expect(partsOf(items, "step-start").filter(({ prune }) => prune)).toEqual([])
  expect(compactionsIn(items)).toHaveLength(1)
})

test("if hiding output would not be enough, the history is compacted", async () => {
  await using scene = await pruneScene({
    limit: { context: 60_000, output: 4_000 },
    script: [done, ...summaries()],
  })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await fillTurns(session, { turns: 30, tokens: 1_000, from: 100 })
  const reply = await session.prompt("And now?")
  expect([reply.text, reply.error]).toEqual(["Done.", undefined])
  expect(compactionsIn(await session.messages())).toHaveLength(1)
})

test("output of the skill tool is never hidden", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 2, tokens: 5_000, tool: "skill" })
  await fillOutput(session, { turns: 22, tokens: 5_000, from: 2 })
  await session.prompt("And now?")
  expect(shownOutputs(scene)).toEqual([0, 1, ...range(17, 24)])
})

test("the output of the last two turns is never hidden, even if it is very long", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 8, tokens: 5_000 })
  await session.append({ role: "user", text: "The turn before." })
  for (let n = 100; n < 106; n++) {
    await session.append({ role: "tool", tool: "grep", output: `Output ${n}: ${"alpha ".repeat(6_000)}` })
  }
  await session.append({ role: "user", text: "The last turn." })
  for (let n = 106; n < 112; n++) {
    await session.append({ role: "tool", tool: "grep", output: `Output ${n}: ${"alpha ".repeat(6_000)}` })
  }
  await session.append({ role: "assistant", text: "Seen." })
  await session.prompt("And now?")
  expect(shownOutputs(scene)).toEqual(range(100, 112))
})

test("with compaction.prune off nothing is hidden", async () => {
  await using scene = await pruneScene({
    config: { compaction: { prune: false, auto: false } },
  })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  expect(shownOutputs(scene)).toEqual(range(0, 24))
})

test("with compaction.auto off output is still hidden", async () => {
  await using scene = await pruneScene({ config: { compaction: { auto: false } } })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  expect(shownOutputs(scene)).toEqual(range(17, 24))
})

test("a fork from before the mark sees the output, a fork from after it does not", async () => {
  const roomy = { context: 1_000_000, output: 10_000 }
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  const reply = await session.prompt("And now?")
  const items = await session.messages()
  const prompt = items.at(-2)!.message.id
  expect(items.at(-1)!.message.id).toBe(reply.message.id)
  const { createScriptedModel } = await import("../../src/index.ts")
  const model = createScriptedModel(() => done, {
    ref: { providerID: "scripted", modelID: "m" },
    limit: roomy,
  })
  const other = await scene.again({ models: { scripted: () => model } })
  const outputs = () =>
    [...JSON.stringify(model.requests.at(-1)!.messages).matchAll(/Output (\d+): alpha/g)].length
  const before = await other.sessions.fork(session.id, { messageID: prompt })
  await before.prompt("Before")
  expect(outputs()).toBe(24)
  const after = await other.sessions.fork(session.id)
  await after.prompt("After")
  expect(outputs()).toBe(7)
})

test("a revert to before the mark shows the output again", async () => {
  await using scene = await pruneScene({
    config: { compaction: { auto: false } },
    script: (_, n) => (n === 0 ? { ...done, usage: usage({ input: 100_000 }) } : done),
  })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 18, tokens: 5_000 })
  await session.prompt("One")
  await session.append({ role: "user", text: `Long: ${"alpha ".repeat(15_000)}` })
  const { message } = await session.prompt("Two")
  expect(shownOutputs(scene)).toEqual(range(11, 18))
  await scene.stemma.sessions.revert(session.id, { messageID: message.parentID })
  const long = (await session.messages()).at(-1)!
  await scene.stemma.sessions.revert(session.id, { messageID: long.message.id })
  await session.prompt("Three")
  expect(shownOutputs(scene)).toEqual(range(0, 18))
})

test("calls of a pruned history have exactly one result", async () => {
  await using scene = await pruneScene()
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 24, tokens: 5_000 })
  await session.prompt("And now?")
  const { contextProblems } = await import("../support/context-problems.ts")
  expect(contextProblems(requestsFor(scene, "step").at(-1)!.messages)).toEqual([])
})
