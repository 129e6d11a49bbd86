import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { HistoryItem, SessionHandle, Stemma } from "../../src/index.ts"
import { partsOf, runScene, until } from "../support/run-scene.ts"

/** A message in the store without its notes, which may be added later. */
function frozen(items: readonly HistoryItem[]): Map<string, string> {
  return new Map(
    items
      .filter(({ sealed }) => sealed)
      .map(({ message, parts }) => {
        const bare = parts.map(({ sessionID: _, ...part }) => part)
        return [message.id, JSON.stringify({ ...message, sessionID: "", parts: bare })]
      }),
  )
}

async function stored(stemma: Stemma, session: SessionHandle): Promise<Map<string, string>> {
  return frozen((await stemma.store.history(session.id, { take: "start", limit: 1000 })).items)
}

test("sealed messages do not change: not by later prompts, an abort, a revert and unrevert, a fork, a title or a trim", async () => {
  await using scene = await runScene({
    git: true,
    files: { "a.txt": "one\n" },
    config: { title: true },
    script: (request, n) => {
      const said = JSON.stringify(request.messages.at(-1))
      if (said.includes("Slowly")) return { text: "Slow.", delayMs: 20_000 }
      if (request.messages.at(-1)!.role === "user" && n < 3) {
        return {
          text: "Writing.",
          calls: [{ tool: "bash", input: { command: `echo ${n} > a.txt` } }],
        }
      }
      return { text: `Answer ${n}.` }
    },
  })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  const known = new Map<string, string>()
  const check = async (what: string) => {
    const now = await stored(stemma, session)
    for (const [id, text] of known) expect(now.get(id), `${what}: ${id}`).toBe(text)
    for (const [id, text] of now) known.set(id, text)
  }
  await session.prompt("Read, then write a.txt")
  await check("the first prompt")
  await session.prompt("Again")
  await check("a second prompt")
  const slow = session.prompt("Slowly")
  await until("it runs", () =>
    scene.model.requests.some((one) => JSON.stringify(one.messages).includes("Slowly")),
  )
  await session.abort()
  await slow
  await check("an abort")
  const first = (await session.messages())[0]!.message.id
  await stemma.sessions.revert(session.id, { messageID: first })
  await check("a revert")
  await stemma.sessions.unrevert(session.id)
  await check("an unrevert")
  const fork = await stemma.sessions.fork(session.id)
  await fork.prompt("In the fork")
  await check("a fork")
  await stemma.sessions.update(session.id, { title: "Mine", maxHistory: 2 })
  await session.prompt("Short")
  await check("a trim")
  await session.append({ role: "user", text: "A note." })
  await check("an append")
  expect(known.size).toBeGreaterThan(10)
  expect(partsOf(await session.messages(), "patch").length).toBeGreaterThan(0)
})

test("messages that an applied revert left behind stay readable and can be forked", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const { stemma } = scene
  const session = await stemma.sessions.create()
  await session.prompt("One")
  const before = await stemma.sessions.fork(session.id)
  await session.prompt("Two")
  const kept = await stemma.sessions.fork(session.id)
  const expected = await stored(stemma, kept)
  const messageID = (await session.messages())[2]!.message.id
  await stemma.sessions.revert(session.id, { messageID })
  await session.prompt("Instead")
  expect(await session.text()).toContain("Answer 2.")
  expect(await session.text()).not.toContain("Answer 1.")
  expect(await stored(stemma, kept)).toEqual(expected)
  expect(await before.text()).toContain("Answer 0.")
  const { left } = (await session.info()).history
  expect(left.length).toBeGreaterThan(0)
})

test("a prompt, a title and a summary write only their own fields of the session", async () => {
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    config: { title: true },
    files: { "a.txt": "one\n" },
    script: async () => {
      await gate.promise
      return { text: "Done." }
    },
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("First words of the prompt")
  await until("the model is asked", () => scene.model.requests.length === 1)
  await scene.stemma.sessions.update(session.id, { title: "Mine", maxHistory: 7, budget: 3, key: "k" })
  gate.resolve()
  await run
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  await scene.stemma.close()
  const other = await scene.again()
  const info = await (await other.sessions.get(session.id)).info()
  expect(info).toMatchObject({ title: "Mine", maxHistory: 7, budget: 3, key: "k" })
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("one\n")
})

test("a revert to a part after a file change keeps the files, and a revert to a part before it restores them", async () => {
  await using scene = await runScene({
    git: true,
    files: { "a.txt": "one\n" },
    script: [{ calls: [{ tool: "bash", input: { command: "echo two > a.txt" } }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const { message, parts } = (await session.messages())[1]!
  const behind = parts.at(-1)!
  expect(parts.some(({ type }) => type === "patch")).toBe(true)
  await scene.stemma.sessions.revert(session.id, { messageID: message.id, partID: behind.id })
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("two\n")
  const call = parts.find(({ type }) => type === "tool")!
  await scene.stemma.sessions.revert(session.id, { messageID: message.id, partID: call.id })
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("one\n")
})
