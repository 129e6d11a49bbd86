import { setTimeout as delay } from "node:timers/promises"
import { expect, test } from "vitest"
import { assertValid, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, task, taskMetadata } from "../support/task-script.ts"

const done = { text: "Done." }
const never = { text: "Never.", delayMs: Number.POSITIVE_INFINITY }
const nesting = { mode: "subagent", tools: { task: true } } as const
const write = { calls: [{ tool: "write", input: { filePath: "new.txt", content: "new" } }] }

test("a task that exceeds its time limit ends with an error, and its session can be continued", async () => {
  const ids = { child: "" }
  await using scene = await runScene({
    config: { task: { deadlineMs: 2500, depth: 2 }, agent: { nesting } },
    script: answersTo({
      Go: [{ calls: [task("slow", { agent: "nesting" }), task("quick")] }, done],
      slow: [{ text: "So far so good.", calls: [{ tool: "list", input: {} }] }, { calls: [task("leaf")] }],
      leaf: [never],
      quick: [{ text: "Quick." }],
      Again: [() => ({ calls: [task("go on", { session_id: ids.child })] }), done],
      "go on": [{ text: "Now I have it." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
  const [slow, quick] = await childrenOf(scene, session)
  const [late, inTime] = await results(session)
  expect(late).toContain("The task exceeded its time limit of 3 s.")
  expect(late).toContain(`<task_metadata>\nsession_id: ${slow!.id}\n</task_metadata>`)
  expect(inTime).toMatch(/^Quick\./)
  expect((await taskMetadata(session))[0]).toMatchObject({
    sessionId: slow!.id,
    summary: [
      { tool: "list", state: { status: "completed" } },
      { tool: "task", state: { status: "error" } },
    ],
  })
  const [leaf] = await childrenOf(scene, slow!)
  for (const one of [slow!, quick!, leaf!, session]) {
    await until("it is idle", () => scene.stemma.status(one.id).type === "idle")
    await assertValid(one)
  }
  ids.child = slow!.id
  await session.prompt("Again")
  expect((await results(session)).at(-1)).toMatch(/^Now I have it\./)
})

test("the time limit of a task does not run while the task waits for a slot", async () => {
  await using scene = await runScene({
    config: { task: { deadlineMs: 2500, concurrency: 1 } },
    script: answersTo({
      Go: [{ calls: [task("slow"), task("after it")] }, done],
      slow: [never],
      "after it": [{ text: "In time." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect(await results(session)).toEqual([
    expect.stringContaining("The task exceeded its time limit"),
    expect.stringMatching(/^In time\./),
  ])
})

test("the time limit pauses while the child or one of its descendants has an open question", async () => {
  await using scene = await runScene({
    interactive: true,
    config: { permission: { edit: "ask" }, task: { deadlineMs: 2500, depth: 2 }, agent: { nesting } },
    script: answersTo({
      Go: [{ calls: [task("child"), task("middle", { agent: "nesting" })] }, done],
      child: [write, { text: "Child." }],
      middle: [{ calls: [task("leaf")] }, { text: "Middle." }],
      leaf: [write, { text: "Leaf." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("both are asked", async () => (await session.questions()).length === 2)
  await delay(4000)
  const questions = await session.questions()
  expect(questions.map(({ path }) => path!.length).sort()).toEqual([2, 3])
  for (const { id } of questions) await scene.stemma.permissions.reply(session.id, id, { reply: "once" })
  expect((await run).text).toBe("Done.")
  expect((await results(session)).map((result) => result.split("\n")[0])).toEqual(["Child.", "Middle."])
})

test("the time limit runs again after the answer", async () => {
  await using scene = await runScene({
    interactive: true,
    config: { permission: { edit: "ask" }, task: { deadlineMs: 2500 } },
    script: answersTo({ Go: [{ calls: [task("child")] }, done], child: [write, never] }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  await scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" })
  expect((await run).text).toBe("Done.")
  expect(await results(session)).toEqual([
    expect.stringContaining("The task exceeded its time limit of 3 s."),
  ])
  expect(requestsFor(scene, "child")).toHaveLength(2)
})
