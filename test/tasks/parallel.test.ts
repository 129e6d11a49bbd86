import { expect, test } from "vitest"
import type { ModelRequest } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, shownIn, task } from "../support/task-script.ts"

const done = { text: "Done." }

/** Answers that wait until the test releases them, and how many waited at once. */
function crowd() {
  const gates = new Map<string, () => void>()
  let most = 0
  return {
    answer: (name: string) => async () => {
      const gate = Promise.withResolvers<void>()
      gates.set(name, gate.resolve)
      most = Math.max(most, gates.size)
      await gate.promise
      return { text: `${name}-result` }
    },
    get inside() {
      return gates.size
    },
    get most() {
      return most
    },
    letOneGo() {
      const [name, letGo] = gates.entries().next().value!
      gates.delete(name)
      letGo()
    },
  }
}

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `child-${index}`)
}

function hasTask({ tools }: ModelRequest): boolean {
  return tools.some(({ name }) => name === "task")
}

test("all tasks of a step run at once, by default up to eight", async () => {
  const all = crowd()
  const prompts = names(9)
  await using scene = await runScene({
    script: answersTo({
      Go: [{ calls: prompts.map((name) => task(name)) }, done],
      ...Object.fromEntries(prompts.map((name) => [name, [all.answer(name)]])),
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("eight are at work", () => all.inside === 8)
  const running = partsOf(await session.messages(), "tool")
  expect(running.map(({ state }) => state.status)).toEqual(prompts.map(() => "running"))
  expect(await childrenOf(scene, session)).toHaveLength(8)
  all.letOneGo()
  await until("the ninth has its place", async () => (await childrenOf(scene, session)).length === 9)
  await until("it is at work", () => all.inside === 8)
  while (all.inside > 0) all.letOneGo()
  expect((await run).text).toBe("Done.")
  expect(all.most).toBe(8)
  expect((await results(session)).map((result) => result.split("\n")[0])).toEqual(
    prompts.map((name) => `${name}-result`),
  )
})

test("at most the configured number of tasks run at once, counted for each parent", async () => {
  const mine = crowd()
  const other = crowd()
  const prompts = names(5)
  await using scene = await runScene({
    config: { task: { concurrency: 2 } },
    script: answersTo({
      Mine: [{ calls: prompts.map((name) => task(`mine-${name}`)) }, done],
      Other: [{ calls: prompts.map((name) => task(`other-${name}`)) }, done],
      ...Object.fromEntries(prompts.map((name) => [`mine-${name}`, [mine.answer(name)]])),
      ...Object.fromEntries(prompts.map((name) => [`other-${name}`, [other.answer(name)]])),
    }),
  })
  const [first, second] = [await scene.stemma.sessions.create(), await scene.stemma.sessions.create()]
  const runs = [first.prompt("Mine"), second.prompt("Other")]
  await until("both have two at work", () => mine.inside === 2 && other.inside === 2)
  for (let left = 5; left > 0; left--) {
    await until("as many as may are at work", () => mine.inside === Math.min(2, left))
    mine.letOneGo()
  }
  expect((await runs[0]!).text).toBe("Done.")
  expect(other.inside).toBe(2)
  for (let left = 5; left > 0; left--) {
    await until("as many as may are at work", () => other.inside === Math.min(2, left))
    other.letOneGo()
  }
  expect((await runs[1]!).text).toBe("Done.")
  expect([mine.most, other.most]).toEqual([2, 2])
  for (const session of [first, second]) expect(await childrenOf(scene, session)).toHaveLength(5)
})

test("a task that fails, stalls or asks does not delay the other tasks", async () => {
  await using scene = await runScene({
    interactive: true,
    files: { "a.txt": "alpha" },
    config: { permission: { edit: "ask" } },
    script: answersTo({
      Go: [{ calls: ["fail", "stall", "ask", "work", "work too"].map((name) => task(name)) }, done],
      fail: [{ error: { kind: "refused", message: "The provider said no." } }],
      stall: [{ text: "Never.", delayMs: Number.POSITIVE_INFINITY }],
      ask: [
        { calls: [{ tool: "write", input: { filePath: "new.txt", content: "new" } }] },
        { text: "Wrote it." },
      ],
      work: [{ calls: [{ tool: "read", input: { filePath: "a.txt" } }] }, { text: "Worked." }],
      "work too": [{ text: "Worked too." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const statuses = async () => partsOf(await session.messages(), "tool").map(({ state }) => state.status)
  const settled = "error running running completed completed"
  await until("the others are done", async () => (await statuses()).join(" ") === settled)
  const [, stall, ask] = await childrenOf(scene, session)
  await until("it is asked", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  expect(question).toMatchObject({ sessionID: ask!.id, path: [session.id, ask!.id], permission: "edit" })
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  await until("that one is done too", async () => (await statuses())[2] === "completed")
  expect((await statuses())[1]).toBe("running")
  await stall!.abort("Too slow.")
  expect((await run).text).toBe("Done.")
  expect(await results(session)).toEqual([
    expect.stringContaining("The provider said no."),
    expect.stringContaining("The agent was aborted: Too slow."),
    expect.stringMatching(/^Wrote it\./),
    expect.stringMatching(/^Worked\./),
    expect.stringMatching(/^Worked too\./),
  ])
  await assertValid(session)
})

test("a rejected child ends alone; its parent and its sibling continue", async () => {
  await using scene = await runScene({
    onPermission: async () => ({ reply: "reject" }),
    config: { permission: { edit: "ask" } },
    script: answersTo({
      Go: [{ calls: [task("ask"), task("work")] }, done],
      ask: [{ calls: [{ tool: "write", input: { filePath: "new.txt", content: "new" } }] }],
      work: [{ calls: [{ tool: "list", input: {} }] }, { text: "Worked." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
  expect(await results(session)).toEqual([
    expect.stringContaining("a person rejected"),
    expect.stringMatching(/^Worked\./),
  ])
})

const nesting = { mode: "subagent", tools: { task: true } } as const

test("by default tasks are one level deep: a child is not offered the tool, and a call of it is refused", async () => {
  await using scene = await runScene({
    config: { agent: { nesting } },
    script: answersTo({
      root: [{ calls: [task("child", { agent: "nesting" })] }, done],
      child: [{ calls: [task("grandchild", { agent: "nesting" })] }, { text: "I could not." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("root")
  expect(requestsFor(scene, "root").map(hasTask)).toEqual([true, true])
  expect(requestsFor(scene, "child").map(hasTask)).toEqual([false, false])
  const [child] = await childrenOf(scene, session)
  expect(await results(child!)).toEqual([expect.stringMatching(/There is no tool task|Tasks may be nested/)])
  expect(await scene.stemma.sessions.tree(session.id)).toHaveLength(2)
})

test("with depth 2 a grandchild may exist if its parent's agent has the tool, and nothing below it", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2, concurrency: 1 }, agent: { nesting } },
    script: answersTo({
      root: [{ calls: [task("child", { agent: "nesting" }), task("plain")] }, done],
      plain: [{ text: "I have no such tool." }],
      child: [
        { calls: [task("left", { agent: "nesting" }), task("right", { agent: "nesting" })] },
        { text: "child-result" },
      ],
      left: [{ calls: [task("too deep", { agent: "nesting" })] }, { text: "left-result" }],
      right: [{ text: "right-result" }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("root")).text).toBe("Done.")
  expect(requestsFor(scene, "child").map(hasTask)).toEqual([true, true])
  expect([...requestsFor(scene, "left"), ...requestsFor(scene, "plain")].some(hasTask)).toBe(false)
  const [child] = await childrenOf(scene, session)
  const [left, right] = await childrenOf(scene, child!)
  expect((await results(child!)).map((result) => result.split("\n")[0])).toEqual([
    "left-result",
    "right-result",
  ])
  expect(await results(left!)).toEqual([expect.stringMatching(/There is no tool task|Tasks may be nested/)])
  expect((await scene.stemma.sessions.parents(right!.id)).map(({ id }) => id)).toEqual([
    child!.id,
    session.id,
  ])
  expect(await scene.stemma.sessions.tree(session.id)).toHaveLength(5)
  expect(shownIn(scene.model.requests)).not.toContain("too deep (@")
})

test("many parents whose prompts contain tasks do not wait for one another", async () => {
  const answers = Object.fromEntries(names(6).map((name) => [name, [{ text: `${name}-result` }]]))
  await using scene = await runScene({
    script: async (request) => {
      const isParent = request.messages.some(({ role }) => role === "tool")
      return isParent ? done : answersTo(answers)(request)
    },
  })
  const runs = names(6).map(async (name) => {
    const session = await scene.stemma.sessions.create()
    await session.prompt([{ type: "subtask", description: name, prompt: name, agent: "general" }])
    return results(session)
  })
  const outputs = (await Promise.all(runs)).flat().map((result) => result.split("\n")[0])
  expect(outputs).toEqual(names(6).map((name) => `${name}-result`))
})

test("children whose prompts need permission do not delay a child whose prompt does not", async () => {
  const asking = names(5).map((name) => `${name}: !\`echo ${name}\``)
  await using scene = await runScene({
    interactive: true,
    config: { permission: { bash: "ask" } },
    script: answersTo({
      Go: [{ calls: [...asking.map((prompt) => task(prompt)), task("plain")] }, done],
      ...Object.fromEntries(asking.map((prompt) => [prompt, [{ text: "Asked." }]])),
      plain: [{ text: "Not asked." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until(
    "the plain one is done",
    async () => (await results(session))[5]?.startsWith("Not asked.") === true,
  )
  await until("all others ask", async () => (await session.questions()).length === 5)
  for (const { id } of await session.questions()) {
    await scene.stemma.permissions.reply(session.id, id, { reply: "once" })
  }
  expect((await run).text).toBe("Done.")
})
