import { expect, test } from "vitest"
import { contextProblems } from "../support/context-problems.ts"
import {
  compactionsIn,
  fillOutput,
  fillTurns,
  requestsFor,
  shownIn,
  summaries,
} from "../support/run/compactions.ts"
import { type RunScene, runScene } from "../support/run-scene.ts"

const done = () => ({ text: "Done." })

function shownQuestions(scene: RunScene): number[] {
  return [...shownIn(scene).matchAll(/Question (\d+)/g)].map(([, number]) => Number(number))
}

test("without maxHistory the whole history is shown", async () => {
  await using scene = await runScene({ script: done })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 120, tokens: 3 })
  await session.prompt("And now?")
  expect(shownQuestions(scene)).toHaveLength(120)
})

test("maxHistory of the config leaves out the oldest messages, and the rest begins with a user message", async () => {
  await using scene = await runScene({ script: done, config: { maxHistory: 10 } })
  const session = await scene.stemma.sessions.create()
  await fillOutput(session, { turns: 12, tokens: 5 })
  await session.prompt("And now?")
  const { messages } = requestsFor(scene, "step").at(-1)!
  expect(messages[0]!.role).toBe("user")
  expect(contextProblems(messages)).toEqual([])
  // Three whole turns of three messages, plus the prompt.
  expect(shownQuestions(scene)).toEqual([9, 10, 11])
})

test("maxHistory of the session takes precedence over the config", async () => {
  await using scene = await runScene({ script: done, config: { maxHistory: 10 } })
  const session = await scene.stemma.sessions.create({ maxHistory: 5 })
  await fillTurns(session, { turns: 12, tokens: 5 })
  await session.prompt("And now?")
  expect(shownQuestions(scene)).toEqual([10, 11])
})

test("maxHistory never cuts into the last turn", async () => {
  await using scene = await runScene({
    config: { maxHistory: 3 },
    files: { "a.txt": "heron\n" },
    script: (_, n) =>
      n < 6
        ? { text: `Step ${n}.`, calls: [{ tool: "read", input: { filePath: "a.txt", offset: 1 + n } }] }
        : { text: "Done." },
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 5, tokens: 5 })
  await session.prompt("Read it.")
  expect(shownIn(scene)).toContain("Read it.")
  expect(shownIn(scene)).toContain("Step 0.")
  expect(contextProblems(requestsFor(scene, "step").at(-1)!.messages)).toEqual([])
})

test("keepFirstMessage keeps the first prompt after a trim", async () => {
  await using scene = await runScene({ script: done, config: { maxHistory: 4, keepFirstMessage: true } })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 12, tokens: 5 })
  await session.prompt("And now?")
  expect(shownQuestions(scene)).toEqual([0, 11])
  const other = await (await scene.again()).sessions.get(session.id)
  await other.prompt("And then?")
  expect(shownQuestions(scene)[0]).toBe(0)
  expect(contextProblems(requestsFor(scene, "step").at(-1)!.messages)).toEqual([])
})

test("keepFirstMessage keeps the first prompt after a compaction", async () => {
  await using scene = await runScene({
    script: [{ text: "Done." }, { text: "Done." }, ...summaries()],
    limit: { context: 20_000, output: 2_000 },
    config: { keepFirstMessage: true },
  })
  const session = await scene.stemma.sessions.create()
  await session.append({ role: "user", text: "The very first words." })
  await session.append({ role: "assistant", text: "Yes." })
  await fillTurns(session, { turns: 35 })
  await session.prompt("And now?")
  const [first] = requestsFor(scene, "step")
  const users = first!.messages.filter(({ role }) => role === "user").slice(0, 2)
  expect(JSON.stringify(users[1])).toContain("The very first words.")
  await session.prompt("And then?")
  expect(JSON.stringify(requestsFor(scene, "step").at(-1)!.messages[1])).toContain("The very first words.")
})

test("trimmed messages are not counted: a long history with a short context is not compacted", async () => {
  await using scene = await runScene({
    script: done,
    limit: { context: 20_000, output: 2_000 },
    config: { maxHistory: 6 },
  })
  const session = await scene.stemma.sessions.create()
  await fillTurns(session, { turns: 60 })
  await session.prompt("And now?")
  await session.prompt("And then?")
  expect(compactionsIn(await session.messages())).toEqual([])
})
