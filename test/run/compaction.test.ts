import { expect, test } from "vitest"
import type { SessionHandle } from "../../src/index.ts"
import { contextProblems } from "../support/context-problems.ts"
import { assertValid, partsOf, type RunScene, runScene } from "../support/run-scene.ts"

const limit = { context: 12_000, output: 2_000 }
const long = (words: number) => Array.from({ length: words }, (_, at) => `word${at}`).join(" ")

async function fill(session: SessionHandle, turns: number, words = 300): Promise<void> {
  for (let turn = 0; turn < turns; turn++) {
    await session.append({ role: "user", text: `Question ${turn}: ${long(words)}` })
    await session.append({ role: "assistant", text: `Answer ${turn}.` })
  }
}

function steps(scene: RunScene) {
  return scene.model.requests.filter(({ purpose }) => purpose === "step")
}

function shown(scene: RunScene): string {
  return JSON.stringify(steps(scene).at(-1)!.messages)
}

const text = "## Goal\nTo be kept in mind."
/** Enough for a history that is summarised in pieces. */
const summaries = Array.from({ length: 12 }, () => ({ for: "compaction" as const, text }))

test("a context that would not fit is compacted before the call: summary and ledger first, recent turns whole", async () => {
  await using scene = await runScene({ limit, script: [...summaries, { text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  await fill(session, 30)
  const reply = await session.prompt("And now?")
  expect(reply.text).toBe("Done.")
  expect(reply.error).toBeUndefined()
  expect(shown(scene)).toContain("To be kept in mind.")
  expect(shown(scene)).toContain("Question 29:")
  expect(shown(scene)).toContain("And now?")
  expect(shown(scene)).not.toContain(`Question 0: ${long(300)}`)
  expect(contextProblems(steps(scene).at(-1)!.messages)).toEqual([])
  const items = await session.messages()
  const [part] = partsOf(items, "compaction")
  expect(part).toMatchObject({ auto: true, summary: text })
  expect(part!.tokensAfter).toBeLessThan(part!.tokensBefore!)
  expect(part!.tokensAfter).toBeLessThan(10_000)
  const kept = items.find(({ message }) => message.id === part!.firstKeptEntryId)
  expect(kept!.message.role).toBe("user")
  expect(items.filter(({ message }) => message.role === "user")).toHaveLength(31)
  expect((await session.info()).time.compacting).toBeUndefined()
  await assertValid(session)
})

test("a person may request a compaction with instructions, and the whole history stays readable", async () => {
  await using scene = await runScene({ script: [...summaries, { text: "Done." }] })
  const session = await scene.stemma.sessions.create()
  await fill(session, 80)
  const events: string[] = []
  const listening = new AbortController()
  const told = (async () => {
    for await (const { type } of session.events({ signal: listening.signal })) events.push(type)
  })().catch(() => {})
  const done = await session.compact("Mind the numbers.")
  expect(done).toMatchObject({ summary: text })
  expect(done.tokensAfter).toBeLessThan(done.tokensBefore)
  const asked = scene.model.requests.at(-1)!
  expect(asked.purpose).toBe("compaction")
  expect(JSON.stringify(asked.messages)).toContain("Mind the numbers.")
  expect(await session.text()).toContain("Question 0:")
  await session.prompt("Next")
  expect(shown(scene)).toContain("To be kept in mind.")
  expect(shown(scene)).not.toContain("summarised to make room")
  listening.abort()
  await told
  expect(events).toContain("session.compacted")
})

test("after a compaction within a turn the run continues, and the prompt gets one answer", async () => {
  await using scene = await runScene({
    limit,
    files: { "big.txt": `${long(200)}\n`.repeat(20) },
    script: (_, n) =>
      n < 6
        ? { calls: [{ tool: "read", input: { filePath: "big.txt", offset: n, limit: 5 } }] }
        : { text: "All read." },
  })
  scene.model.add(...summaries)
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Read it six times.")
  expect(reply.text).toBe("All read.")
  const items = await session.messages()
  const compactions = partsOf(items, "compaction")
  expect(compactions.length).toBeGreaterThan(0)
  for (const { messages } of steps(scene)) expect(contextProblems(messages)).toEqual([])
  const goingOn = items.filter(({ parts }) => parts.some((part) => part.type === "text" && part.synthetic))
  expect(goingOn.length).toBeGreaterThan(0)
  // Every answer belongs to the prompt, not to the synthetic prompt after the compaction.
  const prompt = items[0]!.message.id
  for (const { message } of items) if (message.role === "assistant") expect(message.parentID).toBe(prompt)
  await assertValid(session)
})
