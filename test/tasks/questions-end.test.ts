import { expect, test } from "vitest"
import type { PermissionRequest, SessionHandle } from "../../src/index.ts"
import { askEdit, askingScene, question, questionEvents } from "../support/asking-scene.ts"
import { filesIn } from "../support/rights-scene.ts"
import { until } from "../support/run-scene.ts"
import { childrenOf, results } from "../support/task-script.ts"

test("a question can be answered once: a second answer from any process is a conflict", async () => {
  await using scene = await askingScene()
  const other = await scene.again()
  const root = await scene.stemma.sessions.create(askEdit)
  const run = root.prompt("Go")
  const { id, sessionID } = await question(root)
  await other.permissions.reply(root.id, id, { reply: "reject", feedback: "No." })
  const { id: next } = await nextQuestion(root, id)
  for (const stemma of [scene.stemma, other]) {
    for (const from of [root.id, sessionID]) {
      await expect(stemma.permissions.reply(from, id, { reply: "once" })).rejects.toMatchObject({
        code: "conflict",
      })
    }
  }
  await other.permissions.reply(root.id, next, { reply: "reject", feedback: "No." })
  await run
  expect(await filesIn(scene.directory)).toEqual({})
})

async function nextQuestion(session: SessionHandle, before: string): Promise<PermissionRequest> {
  const find = async () => (await session.questions()).find(({ id }) => id !== before)
  await until("it asks again", async () => (await find()) !== undefined)
  return (await find())!
}

test("an abort of the root closes its children's questions, and subscribers are notified", async () => {
  await using scene = await askingScene()
  const root = await scene.stemma.sessions.create(askEdit)
  const run = root.prompt("Go deep")
  const { received, done } = questionEvents(run)
  const { id, path } = await question(root)
  await root.abort()
  await run
  await until("the question is closed", async () => (await root.questions()).length === 0)
  await done
  expect(received).toEqual([`asked ${id} ${path!.join(" ")}`, `reject ${id}`])
  expect(await filesIn(scene.directory)).toEqual({})
})

test("a handler gets the path of a child's question and answers it", async () => {
  const asked: PermissionRequest[] = []
  await using scene = await askingScene({
    interactive: false,
    onPermission: async (request) => {
      asked.push(request)
      return { reply: "once" }
    },
  })
  const root = await scene.stemma.sessions.create(askEdit)
  await root.prompt("Go")
  const [child] = await childrenOf(scene, root)
  expect(asked.map(({ patterns, path }) => [patterns, path])).toEqual([
    [["a.txt"], [root.id, child!.id]],
    [["b.txt"], [root.id, child!.id]],
  ])
  expect(Object.keys(await filesIn(scene.directory)).sort()).toEqual(["a.txt", "b.txt"])
})

test("after a person leaves, later questions are refused", async () => {
  await using scene = await askingScene({ interactive: false })
  const { permissions, sessions } = scene.stemma
  const listening = permissions.listen()
  const root = await sessions.create(askEdit)
  const run = root.prompt("Go")
  const { id } = await question(root)
  listening[Symbol.dispose]()
  await permissions.reply(root.id, id, { reply: "once" })
  expect((await run).text).toBe("I see.")
  const [child] = await childrenOf(scene, root)
  expect((await results(child!))[1]).toMatch(/^Not allowed: edit b.txt .*no person is there to ask/)
  expect(await filesIn(scene.directory)).toEqual({ "a.txt": "x" })
})

test("with continue_loop_on_deny a rejection without feedback ends neither the child nor its parent", async () => {
  await using scene = await askingScene({ config: { experimental: { continue_loop_on_deny: true } } })
  const root = await scene.stemma.sessions.create(askEdit)
  const run = root.prompt("Go")
  const { id } = await question(root)
  await scene.stemma.permissions.reply(root.id, id, { reply: "reject" })
  const next = await nextQuestion(root, id)
  await scene.stemma.permissions.reply(root.id, next.id, { reply: "once" })
  expect((await run).text).toBe("I see.")
  expect((await results(root))[0]).toContain("I wrote.")
  expect(await filesIn(scene.directory)).toEqual({ "b.txt": "x\n" })
})

test("a question of the child's own rules also reaches the root, even if the parent need not ask", async () => {
  const shy = { mode: "subagent" as const, permission: { edit: "ask" as const } }
  await using scene = await askingScene({ config: { agent: { worker: shy } } })
  const root = await scene.stemma.sessions.create()
  const run = root.prompt("Go")
  const first = await question(root)
  expect(first.path).toEqual([root.id, first.sessionID])
  await scene.stemma.permissions.reply(root.id, first.id, { reply: "once" })
  const second = await nextQuestion(root, first.id)
  await scene.stemma.permissions.reply(root.id, second.id, { reply: "once" })
  await run
  expect(Object.keys(await filesIn(scene.directory)).sort()).toEqual(["a.txt", "b.txt"])
})
