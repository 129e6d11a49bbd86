import { expect, test } from "vitest"
import { type SessionHandle, StemmaError } from "../../src/index.ts"
import { requestTokens } from "../support/context-play/model.ts"
import { assertValid, partsOf, type RunScene, runScene } from "../support/run-scene.ts"

const limit = { context: 12_000, output: 2_000 }
const words = (count: number) => "plain words ".repeat(count / 2)

async function fill(session: SessionHandle, turns: number, wordsEach = 600): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await session.append({ role: "user", text: `Question ${turn}: ${words(wordsEach)}` })
    await session.append({ role: "assistant", text: `Answer ${turn}.` })
  }
}

function steps({ model }: RunScene) {
  return model.requests.filter(({ purpose }) => purpose === "step")
}

test("messages hidden by a revert are neither counted nor summarised, messages that it brings back are", async () => {
  await using scene = await runScene({ limit, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  await fill(session, 12)
  const secret = await session.append({ role: "user", text: `SECRET ${words(600)}` })
  await fill(session, 3)
  await session.compact()
  await scene.stemma.sessions.revert(session.id, { messageID: secret.message.id })
  scene.model.add({ for: "compaction", text: "Short." })
  const before = scene.model.requests.length
  const reply = await session.prompt(`Next: ${words(3000)}`)
  expect(reply.text).toBe("Done.")
  const asked = scene.model.requests.slice(before)
  expect(asked.map(({ purpose }) => purpose)).toContain("compaction")
  expect(JSON.stringify(asked.map(({ messages }) => messages))).not.toContain("SECRET")
  expect(requestTokens(asked.at(-1)!)).toBeLessThanOrEqual(10_000)
  await assertValid(session)
})

test("a session that was reverted in the middle of a turn can be prompted", async () => {
  await using scene = await runScene({
    files: { "a.txt": "a" },
    script: [
      { calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
      { text: "Read." },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Read it")
  const fork = await scene.stemma.sessions.fork(session.id, { messageID: reply.message.id })
  const [prompt] = await fork.messages()
  await scene.stemma.sessions.revert(fork.id, { messageID: prompt!.message.id })
  expect((await fork.prompt("Something else")).text).toBe("Done.")
})

test("a raised maxHistory counts before the call that it makes too long", async () => {
  await using scene = await runScene({ limit, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create({ maxHistory: 3 })
  await fill(session, 40)
  await session.prompt("Now")
  await scene.stemma.sessions.update(session.id, { maxHistory: null })
  expect((await session.prompt("And now")).text).toBe("Done.")
  for (const request of steps(scene)) expect(requestTokens(request)).toBeLessThanOrEqual(10_000)
})

test("a prune does not count output that maxHistory leaves out", async () => {
  const large = { context: 60_000, output: 2_000 }
  await using scene = await runScene({ limit: large, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create({ maxHistory: 12 })
  for (let turn = 0; turn < 12; turn++) {
    await session.append({ role: "user", text: `Question ${turn}` })
    await session.append({ role: "tool", tool: "read", output: words(15_000) })
    await session.append({ role: "assistant", text: "Read." })
  }
  expect((await session.prompt("Now")).text).toBe("Done.")
  for (const request of steps(scene)) expect(requestTokens(request)).toBeLessThanOrEqual(58_000)
})

test("the kept first prompt is counted in the size after a compaction", async () => {
  const config = { keepFirstMessage: true }
  await using scene = await runScene({ limit, config, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", text: `FIRST ${words(3500)}` })
  await session.append({ role: "assistant", text: "Yes." })
  await fill(session, 12)
  const last = await session.prompt("Now")
  expect(last.text).toBe("Done.")
  expect(JSON.stringify(steps(scene).at(-1)!.messages)).toContain("FIRST")
  for (const request of steps(scene)) expect(requestTokens(request)).toBeLessThanOrEqual(10_000)
})

test("few tools do not fill the estimate of a small window", async () => {
  const small = { context: 4_000, output: 1_000 }
  const config = { tools: { "*": false }, agent: { build: { prompt: "You work." } } }
  await using scene = await runScene({ limit: small, config, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  await fill(session, 2)
  expect((await session.prompt("Now")).text).toBe("Done.")
  expect(partsOf(await session.messages(), "compaction")).toEqual([])
  await fill(session, 6)
  expect((await session.prompt("And now")).text).toBe("Done.")
  expect(partsOf(await session.messages(), "compaction")).toHaveLength(1)
  expect(requestTokens(steps(scene).at(-1)!)).toBeLessThanOrEqual(3_000)
})

test("a prompt that does not fit is summarised like other messages, and the next prompt is answered", async () => {
  const tooLong = { error: { kind: "context" as const, message: "The prompt is too long." } }
  await using scene = await runScene({
    limit,
    script: (request) => (requestTokens(request) > limit.context ? tooLong : { text: "Done." }),
  })
  const session = await scene.stemma.sessions.create()
  await fill(session, 4)
  const reply = await session.prompt(`Mind the gap. ${words(30_000)}`)
  expect(reply.text).toBe("Done.")
  expect(requestTokens(steps(scene).at(-1)!)).toBeLessThanOrEqual(10_000)
  expect(JSON.stringify(steps(scene).at(-1)!.messages)).toContain("Mind the gap.")
  await assertValid(session)
  const next = await session.prompt("Never mind.")
  expect(next.text).toBe("Done.")
  expect(next.error).toBeUndefined()
})

test("an answer can be appended after a compaction that left no prompt", async () => {
  await using scene = await runScene({ limit, script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", text: words(6_000) })
  const prompt = (await session.messages())[0]!.message.id
  await session.compact()
  const { message } = await session.append({ role: "assistant", text: "By the way." })
  expect(message).toMatchObject({ role: "assistant", parentID: prompt })
  const empty = await scene.stemma.sessions.create()
  const refused = empty.append({ role: "assistant", text: "Nobody asked." })
  await expect(refused).rejects.toSatisfy((error) => StemmaError.is(error, "invalid"))
})

test("a fork of a session that is reverted to a part has the message up to that part", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  const time = { start: 1, end: 2 }
  await session.append({ role: "user", text: "Hello" })
  const answer = await session.append({
    role: "assistant",
    parts: [
      { type: "reasoning", text: "Hm.", time },
      { type: "text", text: "Kept." },
      { type: "text", text: "Hidden." },
    ],
  })
  const { message, parts } = answer
  await scene.stemma.sessions.revert(session.id, { messageID: message.id, partID: parts[2]!.id })
  const fork = await scene.stemma.sessions.fork(session.id)
  expect(await fork.text()).toContain("Kept.")
  expect(await fork.text()).not.toContain("Hidden.")
})
