import { expect, test } from "vitest"
import { runScene } from "../support/run-scene.ts"

const limit = { context: 40_000, output: 8_000 }
const words = (count: number) => Array.from({ length: count }, (_, at) => `word${at}`).join(" ")

test("the report has the sources of the tokens and the fullness of the window", async () => {
  await using scene = await runScene({
    limit,
    files: { "a.txt": words(1000).replaceAll(" ", "\n") },
    script: [{ calls: [{ tool: "read", input: { filePath: "a.txt" } }] }, { text: "Read." }],
  })
  const session = await scene.stemma.sessions.create()
  const before = await session.context()
  expect(before).toMatchObject({ agent: "build", model: "scripted/m", messages: 0, hidden: [] })
  expect(before.tokens).toMatchObject({ summary: 0, ledger: 0, messages: 0, toolOutput: 0 })
  expect(before.tokens.system).toBeGreaterThan(50)
  expect(before.tokens.tools).toBeGreaterThan(500)
  await session.prompt("Read a.txt.")
  const after = await session.context()
  expect(after.tokens.toolOutput).toBeGreaterThan(1000)
  const { total, ...parts } = after.tokens
  expect(Object.values(parts).reduce((sum, count) => sum + count, 0)).toBe(total)
  expect(after.window).toEqual({ context: 40_000, usable: 32_000, limit: 32_000, fullness: total / 32_000 })
})

test("the report has what is hidden, how much and why", async () => {
  await using scene = await runScene({ script: [{ for: "compaction", text: "A summary." }] })
  const session = await scene.stemma.sessions.create()
  for (let turn = 0; turn < 40; turn++) {
    await session.append({ role: "user", text: `Question ${turn} ${words(300)}` })
    await session.append({ role: "assistant", text: "Answered." })
  }
  scene.model.add({ for: "compaction", text: "A summary." }, { for: "compaction", text: "A summary." })
  await session.compact()
  const { tokens, hidden } = await session.context()
  expect(tokens.summary).toBeGreaterThan(0)
  expect(tokens.ledger).toBeGreaterThan(0)
  expect(hidden).toMatchObject([{ reason: "compaction" }])
  expect(hidden[0]!.messages).toBeGreaterThan(20)
  expect(hidden[0]!.tokens).toBeGreaterThan(8_000)
  const items = await session.messages()
  const last = items.findLast(({ message }) => message.role === "user")!
  await scene.stemma.sessions.revert(session.id, { messageID: last.message.id })
  const reverted = await session.context()
  // The compaction came after the reverted message, so the revert undoes it too.
  expect(reverted.hidden).toMatchObject([{ reason: "revert", messages: 3 }])
  await scene.stemma.sessions.unrevert(session.id)
  await scene.stemma.sessions.update(session.id, { maxHistory: 4 })
  expect((await session.context()).hidden.map(({ reason }) => reason)).toEqual(["compaction", "trim"])
})

test("the estimate is corrected by the provider's last count", async () => {
  const usage = (input: number) => ({ input, output: 5, reasoning: 0, cache: { read: 0, write: 0 } })
  await using scene = await runScene({ limit, script: [{ text: "One.", usage: usage(100) }] })
  const session = await scene.stemma.sessions.create()
  const { tokens } = await session.context()
  scene.model.add({ text: "Two.", usage: usage(Math.round(tokens.total * 1.5)) })
  await session.prompt("Hello")
  await session.prompt("Hello again")
  const { total } = (await session.context()).tokens
  expect(total / tokens.total).toBeGreaterThan(1.35)
  expect(total / tokens.total).toBeLessThan(1.7)
})

test("tokens and cost are summed exactly, for a session and for its tree", async () => {
  const tokens = { input: 1_000_003, output: 7, reasoning: 2, cache: { read: 11, write: 13 } }
  await using scene = await runScene({
    price: { input: 0.1, output: 0.7 },
    script: () => ({ text: "Done.", usage: tokens }),
  })
  const { sessions } = scene.stemma
  const session = await sessions.create()
  const child = await sessions.create({ parentID: session.id })
  const grandchild = await sessions.create({ parentID: child.id })
  for (const one of [session, session, child, grandchild]) await one.prompt("Go")
  const usage = await session.usage()
  // 1,000,003 x 0.1 + 9 x 0.7, per million.
  expect(usage.cost).toBe(0.2000132)
  expect(usage.tree).toEqual({
    sessions: 3,
    cost: 0.4000264,
    tokens: { input: 4_000_012, output: 28, reasoning: 8, cache: { read: 44, write: 52 } },
  })
})
