import { expect, test } from "vitest"
import { lastStepReminder } from "../../src/run/step/system-prompt.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

const again = { calls: [{ tool: "read", input: { filePath: "a.txt" } }] }

test("without a person present, the same call with the same result three times in a row ends the run", async () => {
  await using scene = await runScene({ files: { "a.txt": "a" }, script: () => again })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Go")
  expect(reply.message).toMatchObject({
    finish: "error",
    error: { name: "DoomLoopError", data: { tool: "read" } },
  })
  expect(scene.model.requests).toHaveLength(3)
  await assertValid(session)
})

test("a person may let a doom loop continue once", async () => {
  let asked = 0
  await using scene = await runScene({
    files: { "a.txt": "a" },
    onPermission: async (request) => {
      expect(request).toMatchObject({ permission: "doom_loop", always: [] })
      return { reply: ++asked === 1 ? "always" : "reject" }
    },
    script: () => again,
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).error?.name).toBe("DoomLoopError")
  expect(asked).toBe(2)
  expect(scene.model.requests).toHaveLength(6)
})

test("a doom loop of calls with long inputs is found, and its question shows the start of the input", async () => {
  const call = (end: string) => ({
    calls: [{ tool: "read", input: { filePath: "a.txt", note: `${"long ".repeat(10_000)}${end}` } }],
  })
  const asked: unknown[] = []
  await using scene = await runScene({
    files: { "a.txt": "a" },
    onPermission: async ({ metadata }) => {
      asked.push(metadata)
      return { reply: "reject" }
    },
    script: [call("one"), call("two"), call("one"), call("one"), call("one"), { text: "No loop." }],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).error?.name).toBe("DoomLoopError")
  expect(scene.model.requests).toHaveLength(5)
  expect(asked).toMatchObject([
    { tool: "read", input: expect.stringMatching(/^\{"filePath":"a.txt".{950,1100}$/s) },
  ])
})

test("calls with different results are no doom loop", async () => {
  await using scene = await runScene({
    script: (_, n) =>
      n < 6 ? { calls: [{ tool: "todowrite", input: { todos: [todo(n)] } }] } : { text: "Done." },
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
})

function todo(n: number) {
  return { id: "1", content: `Look ${n}`, status: "pending", priority: "high" }
}

test("the last step has no tools and gets the last-step reminder", async () => {
  await using scene = await runScene({
    files: { "a.txt": "a" },
    config: { stepsMax: 3 },
    script: (request, n) =>
      request.toolChoice === "none"
        ? { text: "Out of steps." }
        : {
            calls: [
              { tool: "list", input: { path: "." }, id: `c${n}` },
              { tool: "glob", input: { pattern: `${n}` } },
            ],
          },
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Out of steps.")
  expect(scene.model.requests).toHaveLength(3)
  expect(scene.model.requests[2]!.system.at(-1)).toBe(lastStepReminder)
})

test("a tool call in the last step gets an error", async () => {
  await using scene = await runScene({
    files: { "a.txt": "a" },
    config: { stepsMax: 1 },
    script: () => again,
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).message.finish).toBe("limit")
  expect(partsOf(await session.messages(), "tool")[0]!.state).toMatchObject({ status: "error" })
})

const usage = { input: 1_000_000, output: 0, reasoning: 0, cache: { read: 0, write: 0 } }

test("cost and tokens are counted exactly, per message and session", async () => {
  await using scene = await runScene({
    price: { input: 0.1, output: 0.2 },
    script: [
      { text: "One.", usage },
      { text: "Two.", usage: { ...usage, input: 3, output: 7, reasoning: 2 } },
    ],
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).message).toMatchObject({ cost: 0.1, tokens: usage })
  expect((await session.prompt("Go")).message.cost).toBe(0.0000021)
  expect(await session.info()).toMatchObject({
    cost: 0.1000021,
    tokens: { input: 1_000_003, output: 7, reasoning: 2 },
  })
})

test("a session that has used up its budget does not ask the model unless a person allows it", async () => {
  await using scene = await runScene({
    price: { input: 1, output: 1 },
    config: { budget: 1 },
    script: (_, n) => ({ text: `Answer ${n}.`, usage }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Answer 0.")
  const refused = await session.prompt("Go on")
  expect(refused.message).toMatchObject({ finish: "budget", error: { name: "BudgetError" } })
  expect(scene.model.requests).toHaveLength(1)
  await scene.stemma.sessions.update(session.id, { budget: 5 })
  expect((await session.prompt("Go on")).text).toBe("Answer 1.")
  await assertValid(session)
})

test("a person may let a session exceed its budget", async () => {
  await using scene = await runScene({
    price: { input: 1, output: 1 },
    config: { budget: 1 },
    interactive: true,
    script: (_, n) => ({ text: `Answer ${n}.`, usage }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const run = session.prompt("Go on")
  await until("there is a question", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  expect(question).toMatchObject({ permission: "budget", metadata: { cost: 1, budget: 1 } })
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  expect((await run).text).toBe("Answer 1.")
})
