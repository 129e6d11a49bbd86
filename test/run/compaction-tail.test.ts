import { describe, expect, test } from "vitest"
import { z } from "zod"
import type { Tool } from "../../src/index.ts"
import { contextProblems } from "../support/context-problems.ts"
import {
  compactionPart,
  compactionsIn,
  filler,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
} from "../support/run/compactions.ts"
import { assertValid, type RunScene, type RunSceneOptions, runScene } from "../support/run-scene.ts"

/** The questions of `fillTurns` that the model is shown unchanged in the last step. */
function wholeTurns(scene: RunScene): number[] {
  // The first message has the summary and the ledger, which may quote the questions.
  const text = JSON.stringify(requestsFor(scene, "step").at(-1)!.messages.slice(1))
  return [...text.matchAll(/Question (\d+): alpha/g)].map(([, number]) => Number(number))
}

async function keptOf(
  options: RunSceneOptions,
  { turns, tokens }: { turns: number; tokens: number },
): Promise<number[]> {
  await using scene = await runScene({ ...options, script: [{ text: "Done." }, ...summaries()] })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns, tokens })
  await session.prompt("And now?")
  const [found] = compactionsIn(await session.messages())
  const kept = compactionPart(found!).firstKeptEntryId
  const items = await session.messages()
  expect(items.find(({ message }) => message.id === kept)?.message.role).toBe("user")
  expect(requestsFor(scene, "step").flatMap(({ messages }) => contextProblems(messages))).toEqual([])
  return wholeTurns(scene)
}

const last = (count: number, of: number) => Array.from({ length: count }, (_, index) => of - count + index)

describe("the kept tail by tokens", () => {
  test("is about a quarter of the usable window", async () => {
    const kept = await keptOf({ limit: { context: 44_000, output: 4_000 } }, { turns: 60, tokens: 1_000 })
    // A turn has a few more tokens than its question.
    expect(kept).toEqual(last(9, 60))
  })

  test("is at most 15,000 tokens", async () => {
    const kept = await keptOf({ limit: { context: 210_000, output: 10_000 } }, { turns: 110, tokens: 2_000 })
    expect(kept).toEqual(last(7, 110))
  })

  test("is 2,000 tokens if the window is small", async () => {
    const threshold = 7_900
    const config = { compaction: { threshold }, permission: { "*": "deny" as const } }
    const kept = await keptOf({ config }, { turns: 60, tokens: 900 })
    expect(kept).toEqual(last(2, 60))
  })
})

describe("keepTurns", () => {
  const limit = { context: 100_000, output: 10_000 }

  test.each([1, 3, 20])("%i in the config keeps exactly that many turns", async (keepTurns) => {
    const kept = await keptOf({ limit, config: { compaction: { keepTurns } } }, { turns: 60, tokens: 1_700 })
    expect(kept).toEqual(last(keepTurns, 60))
  })

  test("of the agent takes precedence over the config", async () => {
    const config = { compaction: { keepTurns: 2 }, agent: { build: { compaction: { keepTurns: 4 } } } }
    expect(await keptOf({ limit, config }, { turns: 60, tokens: 1_700 })).toEqual(last(4, 60))
  })

  test("keeps fewer turns if the configured number does not fit", async () => {
    const config = { compaction: { keepTurns: 20 } }
    const kept = await keptOf({ limit, config }, { turns: 20, tokens: 6_000 })
    expect(kept).toEqual(last(2, 20))
  })
})

function print(): Tool<{ n: number; tokens: number }> {
  return {
    name: "print",
    description: "Prints a lot.",
    input: z.object({ n: z.number(), tokens: z.number() }),
    replay: "safe",
    writes: false,
    wants: async () => [],
    execute: async ({ n, tokens }) => ({ title: "print", output: `Print ${n}: ${filler(tokens)}` }),
  }
}

test("a single turn that is too large is split between two steps, and no call loses its result", async () => {
  const steps = 14
  await using scene = await runScene({
    limit: { context: 30_000, output: 3_000 },
    tools: [print()],
    script: (_, n) =>
      n < steps
        ? {
            text: `Step ${n}.`,
            calls: [
              { tool: "print", input: { n, tokens: 1_500 } },
              { tool: "print", input: { n: n + 100, tokens: 500 } },
            ],
          }
        : { text: "Done." },
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Print everything.")
  expect([reply.text, reply.error]).toEqual(["Done.", undefined])
  const items = await session.messages()
  const found = compactionsIn(items)
  expect(found.length).toBeGreaterThan(0)
  for (const one of found) {
    const kept = items.find(({ message }) => message.id === compactionPart(one).firstKeptEntryId)!
    expect(kept.message).toMatchObject({ role: "assistant", finish: "tool-calls" })
  }
  for (const { messages } of requestsFor(scene, "step")) expect(contextProblems(messages)).toEqual([])
  expect(shownIn(scene)).toContain(`Print ${steps - 1}:`)
  expect(shownIn(scene)).toContain("Print everything")
  await assertValid(session)
})

test("a single step that is too large does not stop the run", async () => {
  await using scene = await runScene({
    limit: { context: 30_000, output: 3_000 },
    tools: [print()],
    script: (_, n) =>
      n === 0 ? { calls: [{ tool: "print", input: { n, tokens: 40_000 } }] } : { text: "Done." },
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Print everything.")
  expect([reply.text, reply.error]).toEqual(["Done.", undefined])
  expect(shownIn(scene)).toContain("Print everything")
  for (const { messages } of requestsFor(scene, "step")) expect(contextProblems(messages)).toEqual([])
  await assertValid(session)
})

test("a prompt that is too large by itself ends with an error, and the session stays usable", async () => {
  await using scene = await runScene({
    limit: { context: 12_000, output: 2_000 },
    script: (request) => {
      const size = JSON.stringify(request.messages).length
      return size > 60_000 ? { error: { kind: "context", message: "Too long." } } : { text: "Done." }
    },
  })
  scene.model.add(...summaries())
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 5 })
  await session.prompt(`Look: ${filler(40_000)}`)
  expect(scene.model.requests.length).toBeLessThanOrEqual(30)
  expect((await session.prompt("And now?")).text).toBe("Done.")
  await assertValid(session)
})

test("the full history stays readable, and can be forked from before the compaction", async () => {
  await using scene = await runScene({
    limit: { context: 20_000, output: 2_000 },
    script: [{ text: "Done." }, ...summaries(), { text: "From before." }],
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 40 })
  const before = await session.messages()
  await session.prompt("And now?")
  const after = await session.messages()
  expect(after.slice(0, before.length)).toEqual(before)
  const { id } = before[10]!.message
  const fork = await scene.stemma.sessions.fork(session.id, { messageID: id })
  await fork.prompt("A fork")
  expect(shownIn(scene)).toContain("Question 0:")
  expect(shownIn(scene)).not.toContain("To be kept in mind.")
})
