import { expect, test } from "vitest"
import { z } from "zod"
import { createID, type HistoryItem, type SessionHandle, type Tool } from "../../src/index.ts"
import { rejection } from "../support/rejection.ts"
import {
  compactionPart,
  compactionsIn,
  endsOf,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
} from "../support/run/compactions.ts"
import { assertValid, type RunScene, runScene, until } from "../support/run-scene.ts"

/** A tool that ends when the test releases it. */
function gate(): { tool: Tool<object>; begun: Promise<void>; open: () => void } {
  const begun = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  const tool: Tool<object> = {
    name: "gate",
    description: "Waits.",
    input: z.object({}),
    replay: "safe",
    writes: false,
    wants: async () => [],
    async execute() {
      begun.resolve()
      await opened.promise
      return { title: "gate", output: "The gate is open." }
    },
  }
  return { tool, begun: begun.promise, open: opened.resolve }
}

const callGate = { calls: [{ tool: "gate", input: {} }] }

async function filled(scene: RunScene): Promise<SessionHandle> {
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  return session
}

const ids = (items: readonly HistoryItem[]) => items.map(({ message }) => message.id)

test("a request during a turn is met between two steps, and the turn continues", async () => {
  const { tool, begun, open } = gate()
  await using scene = await runScene({ tools: [tool], script: [callGate, { text: "Done." }, ...summaries()] })
  const session = await filled(scene)
  const prompt = session.prompt("Wait for it.")
  await begun
  const compacting = session.compact("Mind the gate.")
  open()
  const done = await compacting
  expect(done).toMatchObject({ summary: expect.stringContaining("kept in mind") })
  const reply = await prompt
  expect([reply.text, reply.error]).toEqual(["Done.", undefined])
  expect(shownIn(scene)).toContain("The gate is open.")
  expect(shownIn(scene)).toContain("Wait for it.")
  const items = await session.messages()
  const [found] = compactionsIn(items)
  expect(found!.message.id).toBe(done.messageID)
  expect(compactionPart(found!).auto).toBe(false)
  expect(endsOf(items, reply.message.parentID)).toHaveLength(1)
  await assertValid(session)
})

test("a request from a second process on an idle session is met, and the first process sees it", async () => {
  await using scene = await runScene({ script: [...summaries(), { text: "Done." }] })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const done = await other.compact()
  expect(compactionsIn(await session.messages()).map(({ message }) => message.id)).toEqual([done.messageID])
  expect((await session.prompt("Next")).text).toBe("Done.")
  expect(shownIn(scene)).toContain("To be kept in mind.")
  expect(shownIn(scene)).not.toContain("Answer 0.")
})

test("a request from a second process is met while a turn runs in the first one", async () => {
  const { tool, begun, open } = gate()
  await using scene = await runScene({ tools: [tool], script: [callGate, { text: "Done." }, ...summaries()] })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const prompt = session.prompt("Wait for it.")
  await begun
  const compacting = other.compact()
  await until("it was admitted", async () => (await scene.stemma.store.inbox(session.id)).length > 0)
  open()
  const done = await compacting
  expect((await prompt).text).toBe("Done.")
  const items = await session.messages()
  expect(compactionsIn(items).map(({ message }) => message.id)).toEqual([done.messageID])
  await assertValid(session)
})

test("two requests at once both end and leave a valid session", async () => {
  await using scene = await runScene({ script: [...summaries(), { text: "Done." }] })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const ends = await Promise.allSettled([session.compact(), other.compact()])
  const won = ends.filter(({ status }) => status === "fulfilled")
  expect(won.length).toBeGreaterThanOrEqual(1)
  for (const end of ends) {
    if (end.status === "rejected")
      expect(end.reason).toMatchObject({ code: expect.stringMatching(/invalid|unavailable/) })
  }
  expect(await scene.stemma.store.inbox(session.id)).toEqual([])
  expect((await session.prompt("Next")).text).toBe("Done.")
  expect(shownIn(scene)).toContain("To be kept in mind.")
  await assertValid(session)
})

test("a prompt after a request is answered once, after the compaction", async () => {
  await using scene = await runScene({
    script: [{ text: "Done." }, ...summaries({ text: "Short.", delayMs: 50 })],
  })
  const session = await filled(scene)
  const compacting = session.compact()
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  const reply = await session.prompt("Next")
  expect(reply.text).toBe("Done.")
  await compacting
  const items = await session.messages()
  expect(compactionsIn(items)).toHaveLength(1)
  expect(endsOf(items, reply.message.parentID)).toHaveLength(1)
  expect(shownIn(scene)).toContain("Short.")
})

test("a request is refused for an empty session and for one that is too short", async () => {
  await using scene = await runScene({ script: [{ text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  expect(await rejection(session.compact())).toMatchObject({ code: "invalid" })
  expect(await session.messages()).toEqual([])
  await session.prompt("Hello")
  expect(await rejection(session.compact())).toMatchObject({ code: "invalid" })
  expect(await session.messages()).toHaveLength(2)
  expect(requestsFor(scene, "compaction")).toHaveLength(0)
  expect(await scene.stemma.store.inbox(session.id)).toEqual([])
})

test("a request for an unknown session is not_found", async () => {
  await using scene = await runScene({ script: [] })
  const session = await scene.stemma.sessions.create()
  await scene.stemma.sessions.remove(session.id)
  expect(await rejection(session.compact())).toMatchObject({ code: "not_found" })
})

const stalled = summaries({ text: "Never.", delayMs: 60_000 })

test("an aborted compaction changes nothing, and its caller gets an error", async () => {
  await using scene = await runScene({ script: [{ text: "Done." }, ...stalled] })
  const session = await filled(scene)
  const before = ids(await session.messages())
  const compacting = rejection(session.compact())
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await session.abort("Not now.")
  expect(await compacting).toMatchObject({
    name: "StemmaError",
    message: expect.stringContaining("Not now."),
  })
  expect(ids(await session.messages())).toEqual(before)
  expect((await session.info()).time.compacting).toBeUndefined()
  expect(await scene.stemma.store.inbox(session.id)).toEqual([])
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  expect((await session.prompt("Next")).text).toBe("Done.")
  expect(shownIn(scene)).toContain("Question 0:")
})

test("a compaction can be aborted by another process", async () => {
  await using scene = await runScene({ script: [{ text: "Done." }, ...stalled] })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const compacting = rejection(session.compact())
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await other.abort("Not now.")
  expect(await compacting).toMatchObject({ name: "StemmaError" })
  expect((await session.info()).time.compacting).toBeUndefined()
  expect((await session.prompt("Next")).text).toBe("Done.")
})

test("an abort of a compaction within a turn ends the turn too", async () => {
  const { tool, begun, open } = gate()
  await using scene = await runScene({ tools: [tool], script: [callGate, { text: "Done." }, ...stalled] })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const prompt = session.prompt("Wait for it.")
  await begun
  const compacting = rejection(session.compact())
  open()
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await other.abort("Enough.")
  expect(await compacting).toMatchObject({ name: "StemmaError" })
  const reply = await prompt
  expect(reply.error).toMatchObject({ name: "MessageAbortedError", data: { message: "Enough." } })
  expect(requestsFor(scene, "step")).toHaveLength(1)
  expect((await session.prompt("Next")).text).toBe("Done.")
  await assertValid(session)
})

test("an automatic compaction within a turn can be aborted by another process", async () => {
  const { tool, begun, open } = gate()
  const counted = { input: 50_000, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  await using scene = await runScene({
    limit: { context: 50_000, output: 4_000 },
    tools: [tool],
    script: [{ ...callGate, usage: counted }, { text: "Done." }, ...stalled],
  })
  const session = await filled(scene)
  const other = await (await scene.again()).sessions.get(session.id)
  const prompt = session.prompt("Wait for it.")
  await begun
  open()
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await other.abort("Enough.")
  const reply = await prompt
  expect(reply.error).toMatchObject({ name: "MessageAbortedError", data: { message: "Enough." } })
  expect((await session.info()).time.compacting).toBeUndefined()
  expect(compactionsIn(await session.messages())).toEqual([])
  await assertValid(session)
})

test("a request that is interrupted by a close is kept and met when the session is opened again", async () => {
  await using scene = await runScene({ script: [stalled[0]!, ...summaries()] })
  const session = await filled(scene)
  const before = ids(await session.messages())
  const compacting = rejection(session.compact())
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await Promise.all([scene.stemma.close(), scene.stemma.close()])
  expect(await compacting).toMatchObject({ name: "StemmaError", code: "unavailable" })
  const other = await scene.again()
  const again = await other.sessions.get(session.id)
  expect(ids(await again.messages()).slice(0, before.length)).toEqual(before)
  const next = await scene.again({ recover: true })
  await until("it is done", async () => compactionsIn(await again.messages()).length === 1)
  await until("it is idle", () => next.status(session.id).type === "idle")
  expect((await again.info()).time.compacting).toBeUndefined()
})

test("a failed summary is an error, and the context stays as it was", async () => {
  await using scene = await runScene({
    script: [
      { text: "Before." },
      { text: "Done." },
      ...summaries({ error: { kind: "refused", message: "No." } }),
    ],
  })
  const session = await filled(scene)
  await session.prompt("One")
  const error = await rejection(session.compact())
  expect(error).toMatchObject({ code: "unavailable", message: expect.stringContaining("No.") })
  await session.prompt("Two")
  const [first, second] = requestsFor(scene, "step")
  expect(second!.messages.slice(0, first!.messages.length)).toEqual(first!.messages)
  expect(second!.messages).toHaveLength(first!.messages.length + 2)
  expect((await session.info()).time.compacting).toBeUndefined()
  const [failed] = compactionsIn(await session.messages())
  expect(failed!.message).toMatchObject({ finish: "error", error: { name: "UnknownError" } })
})

test("a failure while a turn runs does not end the turn", async () => {
  const { tool, begun, open } = gate()
  await using scene = await runScene({
    tools: [tool],
    script: [callGate, { text: "Done." }, ...summaries({ error: { kind: "refused", message: "No." } })],
  })
  const session = await filled(scene)
  const prompt = session.prompt("Wait for it.")
  await begun
  const compacting = rejection(session.compact())
  open()
  expect(await compacting).toMatchObject({ code: "unavailable" })
  expect((await prompt).text).toBe("Done.")
  expect(shownIn(scene)).toContain("Question 0:")
  await assertValid(session)
})

test("messages hidden by a revert are in neither the summary nor the context", async () => {
  await using scene = await runScene({ script: [{ text: "Done." }, ...summaries()] })
  const session = await filled(scene)
  const hidden = await session.append({ role: "user", text: "The password of the safe is heron-42." })
  await session.append({ role: "assistant", text: "I will mind heron-42." })
  await scene.stemma.sessions.revert(session.id, { messageID: hidden.message.id })
  const done = await session.compact()
  expect(JSON.stringify(scene.model.requests)).not.toContain("heron-42")
  expect(JSON.stringify(done)).not.toContain("heron-42")
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  await session.prompt("Next")
  expect(shownIn(scene)).toContain("To be kept in mind.")
  expect(shownIn(scene)).not.toContain("heron-42")
  expect(await session.text()).not.toContain("heron-42")
})

test("a request that is refused for too little history leaves a revert as it was", async () => {
  await using scene = await runScene({ script: () => ({ text: `Long. ${"word ".repeat(2000)}` }) })
  const session = await scene.stemma.sessions.create()
  await session.prompt("First")
  await session.prompt("Second")
  const [first] = await session.messages()
  const { session: marked } = await scene.stemma.sessions.revert(session.id, { messageID: first!.message.id })
  await expect(session.compact()).rejects.toMatchObject({ code: "invalid" })
  const { revert, history } = await session.info()
  expect({ revert, epoch: history.epoch }).toEqual({ revert: marked.revert, epoch: marked.history.epoch })
  await scene.stemma.sessions.unrevert(session.id)
  expect(await session.messages()).toHaveLength(4)
})

test("an automatic compaction does not summarise messages hidden by a revert", async () => {
  await using scene = await runScene({
    limit: { context: 20_000, output: 2_000 },
    script: [{ text: "Done." }, ...summaries()],
  })
  const session = await filled(scene)
  const hidden = await session.append({ role: "user", text: "The password of the safe is heron-42." })
  await session.append({ role: "assistant", text: "I will mind heron-42." })
  await scene.stemma.sessions.revert(session.id, { messageID: hidden.message.id })
  const reply = await session.prompt("Next")
  expect([reply.text, reply.error]).toEqual(["Done.", undefined])
  expect(JSON.stringify(scene.model.requests)).not.toContain("heron-42")
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  expect(shownIn(scene)).toContain("To be kept in mind.")
})

test("after a compaction behind an interrupted answer, that answer can still be awaited", async () => {
  await using scene = await runScene({ script: [{ text: "Half", delayMs: 60_000 }, ...summaries()] })
  const session = await filled(scene)
  const messageID = "msg_cutoff000000000000000000001"
  const prompt = rejection(session.prompt("One", { messageID }).then(({ error }) => Promise.reject(error)))
  await until("it is asked", () => requestsFor(scene, "step").length === 1)
  await Promise.all([scene.stemma.close(), scene.stemma.close()])
  await prompt
  const other = await scene.again()
  const again = await other.sessions.get(session.id)
  await again.compact()
  const reply = await again.prompt("One", { messageID })
  expect(reply.message).toMatchObject({ finish: "interrupted", parentID: messageID })
})

test("an appended synthetic message does not start a model call", async () => {
  await using scene = await runScene({ script: () => ({ text: "Unasked." }) })
  const session = await filled(scene)
  await session.append({ role: "user", text: "A note of a program.", synthetic: true })
  const next = await scene.again({ recover: true })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(next.status(session.id).type).toBe("idle")
  expect(scene.model.requests).toHaveLength(0)
})

test("an abort right after a request aborts the compaction, even if it has not begun", async () => {
  await using scene = await runScene({ script: [{ text: "Done." }, ...summaries()] })
  const session = await filled(scene)
  const { store } = scene.stemma
  const time = Date.now()
  await store.admit({ type: "compact", id: createID("message", time), sessionID: session.id, time })
  await session.abort("Never mind.")
  expect((await session.prompt("Next")).text).toBe("Done.")
  expect(compactionsIn(await session.messages())).toEqual([])
  expect(await store.inbox(session.id)).toEqual([])
})

test("if the session is removed during the compaction, the caller gets an error", async () => {
  await using scene = await runScene({ script: stalled })
  const session = await filled(scene)
  const other = await scene.again()
  const compacting = rejection(session.compact())
  await until("it compacts", async () => (await session.info()).time.compacting !== undefined)
  await other.sessions.remove(session.id)
  expect(await compacting).toMatchObject({ code: "not_found" })
})

test("a prompt that steers during a compaction is answered within the turn", async () => {
  const { tool, begun, open } = gate()
  const counted = { input: 50_000, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }
  await using scene = await runScene({
    limit: { context: 50_000, output: 4_000 },
    tools: [tool],
    script: [{ ...callGate, usage: counted }, { text: "Both." }, ...summaries()],
  })
  const session = await filled(scene)
  const first = session.prompt("Wait for it.")
  await begun
  const second = session.prompt("And mind the gap.", { delivery: "steer" })
  await second.admitted
  open()
  expect((await first).text).toBe("Both.")
  expect((await second).text).toBe("Both.")
  expect(shownIn(scene)).toContain("And mind the gap.")
  expect(shownIn(scene)).toContain("Wait for it.")
  expect(compactionsIn(await session.messages())).toHaveLength(1)
  expect(requestsFor(scene, "step")).toHaveLength(2)
  await assertValid(session)
})

test("a session can be compacted many times, and is smaller after each", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  for (let cycle = 0; cycle < 5; cycle++) {
    await fillTurns(session, { turns: 35, from: cycle * 100 })
    const { tokensBefore, tokensAfter } = await session.compact()
    expect(tokensAfter).toBeLessThan(tokensBefore)
    await session.prompt("Next")
    expect(shownIn(scene).split("To be kept in mind.")).toHaveLength(2)
  }
  expect(compactionsIn(await session.messages())).toHaveLength(5)
  await assertValid(session)
})
