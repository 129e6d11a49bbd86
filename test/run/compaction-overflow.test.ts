import { describe, expect, test } from "vitest"
import type { ScriptedAnswer } from "../../src/index.ts"
import { assertPaired } from "../support/fault-request.ts"
import { faultScene, packages } from "../support/fault-scene.ts"
import {
  compactionPart,
  compactionsIn,
  endsOf,
  fillOutput,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
} from "../support/run/compactions.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

const tooLong: ScriptedAnswer = { error: { kind: "context", message: "The context is too long." } }
const hidden = "This output was left out"

test("old tool output is hidden first, and the same call is made again", async () => {
  await using scene = await runScene({ script: [tooLong, { text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 10, tokens: 8_000 })
  const reply = await session.prompt("And now?")
  expect(reply.text).toBe("Done.")
  expect(requestsFor(scene, "compaction")).toHaveLength(0)
  expect(requestsFor(scene, "step")).toHaveLength(2)
  expect(shownIn(scene, 0)).not.toContain(hidden)
  expect(shownIn(scene, 1)).toContain(hidden)
  expect(shownIn(scene, 1)).toContain("Output 9:")
  const items = await session.messages()
  expect(compactionsIn(items)).toEqual([])
  expect(partsOf(items, "step-start").filter(({ prune }) => prune)).toHaveLength(1)
  expect(partsOf(items, "retry")).toEqual([])
  await assertValid(session)
})

test("if hiding output is not enough, the history is compacted, and the prompt gets one answer", async () => {
  await using scene = await runScene({ script: [tooLong, tooLong, { text: "Done." }, ...summaries()] })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 10, tokens: 8_000 })
  const reply = await session.prompt("And now?")
  expect(reply.text).toBe("Done.")
  expect(requestsFor(scene, "step")).toHaveLength(3)
  const items = await session.messages()
  expect(compactionsIn(items)).toHaveLength(1)
  const prompt = items.find(({ parts }) =>
    parts.some((part) => part.type === "text" && part.text === "And now?"),
  )!
  expect(endsOf(items, prompt.message.id)).toMatchObject([{ finish: "stop" }])
  expect(shownIn(scene)).toContain("And now?")
  expect(shownIn(scene)).toContain("To be kept in mind.")
  await assertValid(session)
})

test("without output to hide, the history is compacted at once, then once more with a smaller tail", async () => {
  await using scene = await runScene({ script: [tooLong, tooLong, { text: "Done." }, ...summaries()] })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  const reply = await session.prompt("And now?")
  expect(reply.text).toBe("Done.")
  const found = compactionsIn(await session.messages()).map(compactionPart)
  expect(found).toHaveLength(2)
  expect(found[1]!.tokensAfter).toBeLessThan(found[0]!.tokensAfter! / 2)
  expect(shownIn(scene, 1)).toContain('"text":"Question 50:')
  // The ledger may quote the message; the message itself is not shown.
  expect(shownIn(scene, 2)).not.toContain('"text":"Question 50:')
  expect(shownIn(scene, 2)).toContain("And now?")
})

test.each([
  { what: "with output to hide", turns: 10, steps: 4 },
  { what: "with nothing to hide", turns: 0, steps: 3 },
])("a provider that refuses every context ends the run with an error: $what", async ({ turns, steps }) => {
  await using scene = await runScene({ script: () => tooLong })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns, tokens: 8_000 })
  await fillTurns(session, { turns: 40, from: 100 })
  const reply = await session.prompt("And now?")
  expect(reply.error).toMatchObject({ name: "ContextOverflowError" })
  expect(reply.error!.data.message).toContain("too long")
  expect(reply.message.finish).toBe("error")
  expect(requestsFor(scene, "step")).toHaveLength(steps)
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  expect((await session.info()).time.compacting).toBeUndefined()
  await assertValid(session)
  const before = scene.model.requests.length
  const again = await session.prompt("Once more?")
  expect(again.error?.name).toBe("ContextOverflowError")
  expect(scene.model.requests.length - before).toBeLessThanOrEqual(12)
})

test("a context with a single short prompt is not compacted", async () => {
  await using scene = await runScene({ script: [tooLong, { text: "Here." }] })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Hello")
  expect(reply.error?.name).toBe("ContextOverflowError")
  expect(scene.model.requests).toHaveLength(1)
  expect((await session.prompt("Are you there?")).text).toBe("Here.")
})

test("with compaction.auto off the prompt ends with an error after output was hidden", async () => {
  await using scene = await runScene({ script: () => tooLong, config: { compaction: { auto: false } } })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 10, tokens: 8_000 })
  const reply = await session.prompt("And now?")
  expect(reply.error?.name).toBe("ContextOverflowError")
  expect(requestsFor(scene, "step")).toHaveLength(2)
  expect(compactionsIn(await session.messages())).toEqual([])
})

test("with compaction.prune off no output is hidden, and the history is compacted at once", async () => {
  await using scene = await runScene({
    script: [tooLong, { text: "Done." }, ...summaries()],
    config: { compaction: { prune: false } },
  })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 10, tokens: 8_000 })
  expect((await session.prompt("And now?")).text).toBe("Done.")
  const items = await session.messages()
  expect(compactionsIn(items)).toHaveLength(1)
  expect(partsOf(items, "step-start").filter(({ prune }) => prune)).toEqual([])
})

test("a compaction within a turn keeps what was read, and no tool call is repeated", async () => {
  await using scene = await runScene({
    files: { "a.txt": "The word is heron.\n" },
    script: [
      { calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
      tooLong,
      { text: "It is heron." },
      ...summaries(),
    ],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  const reply = await session.prompt("Which word?")
  expect(reply.text).toBe("It is heron.")
  expect(shownIn(scene)).toContain("The word is heron.")
  const items = await session.messages()
  expect(partsOf(items, "tool")).toHaveLength(1)
  expect(new Set(endsOf(items, reply.message.parentID).map(({ finish }) => finish))).toEqual(
    new Set(["stop"]),
  )
  await assertValid(session)
})

test("an overflow error after some streamed text removes that text", async () => {
  const half = { text: "Half an answer.", error: { ...tooLong.error!, afterDeltas: 2 } }
  await using scene = await runScene({ script: [half, { text: "Whole." }, ...summaries()] })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  expect((await session.prompt("And now?")).text).toBe("Whole.")
  const [found] = compactionsIn(await session.messages())
  expect(found!.parts.filter((part) => part.type === "text")).toEqual([])
  expect(await session.text()).not.toContain("Half an")
  await assertValid(session)
})

const stalled = summaries({ text: "Never.", delayMs: 60_000 })

test("an abort during the compaction aborts the answer, and the next prompt works", async () => {
  await using scene = await runScene({ script: [tooLong, { text: "Done." }, ...stalled] })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  const prompt = session.prompt("And now?")
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await session.abort("Enough.")
  expect((await prompt).error).toMatchObject({ name: "MessageAbortedError", data: { message: "Enough." } })
  expect((await session.info()).time.compacting).toBeUndefined()
  expect((await session.prompt("Next")).text).toBe("Done.")
  expect(compactionsIn(await session.messages())).toEqual([])
  await assertValid(session)
})

test.each([
  { what: "the provider has asked for it", script: [tooLong], context: 0 },
  { what: "the window has", script: [], context: 20_000 },
])("a compaction because $what that is cut off by a close is continued", async ({ script, context }) => {
  await using scene = await runScene({
    limit: { context, output: 2_000 },
    script: [...script, { text: "Done." }, { ...stalled[0]! }, ...summaries()],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  const prompt = session.prompt("And now?").then(
    ({ message }) => message.finish,
    () => "closed",
  )
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await Promise.all([scene.stemma.close(), scene.stemma.close()])
  expect(["interrupted", "closed"]).toContain(await prompt)
  const next = await scene.again({ recover: true })
  const again = await next.sessions.get(session.id)
  await until("it is answered", async () => (await again.text()).includes("Done."))
  await until("it is idle", () => next.status(session.id).type === "idle")
  const items = await again.messages()
  const prompts = items.filter(({ parts }) =>
    parts.some((part) => part.type === "text" && part.text === "And now?"),
  )
  expect(prompts).toHaveLength(1)
  const finishes = endsOf(items, prompts[0]!.message.id).map(({ finish }) => finish)
  expect(finishes.filter((finish) => finish === "stop")).toHaveLength(1)
  expect((await again.info()).time.compacting).toBeUndefined()
  await assertValid(again)
})

describe.each(packages)("%s", (npm) => {
  test("a context that the provider refuses is compacted, and the run continues", async () => {
    await using scene = await faultScene(npm, {
      answers: [{ fault: "context-length" }, { text: "A summary." }, { text: "Gone on." }],
    })
    await fillTurns(scene.session, { turns: 30 })
    const reply = await scene.ask("And now?").reply
    expect([reply.text, reply.error]).toEqual(["Gone on.", undefined])
    expect(scene.server.requests).toHaveLength(3)
    expect(JSON.stringify(scene.server.requests[2]!.body)).toContain("A summary.")
    for (const request of scene.server.requests) assertPaired(request)
    expect(compactionsIn(await scene.session.messages())).toHaveLength(1)
    await scene.settled()
  })
})
