import { expect, test } from "vitest"
import { askEdit, askingScene, question, questionEvents } from "../support/asking-scene.ts"
import { filesIn } from "../support/rights-scene.ts"
import { assertValid, until } from "../support/run-scene.ts"
import { childrenOf, results, taskMetadata } from "../support/task-script.ts"

test.each([
  ["Go", 1],
  ["Go deep", 2],
])(
  "a child's question reaches the subscribers of its ancestors once, with the path: %s",
  async (go, depth) => {
    await using scene = await askingScene()
    const { stemma } = scene
    const root = await stemma.sessions.create(askEdit)
    const other = await stemma.sessions.create()
    const over = new AbortController()
    const { signal } = over
    const tree = { scope: { treeID: root.id }, signal }
    const above = {
      session: questionEvents(root.events({ signal })),
      tree: questionEvents(stemma.events(tree)),
      "another process": questionEvents((await scene.again()).events(tree)),
    }
    await until("all of them watch", async () => {
      await stemma.sessions.touch(root.id)
      return Object.values(above).every(({ count }) => count.events > 0)
    })
    const foreign = questionEvents(other.events({ signal }))
    const run = root.prompt(go)
    const watchers = { ...above, prompt: questionEvents(run) }
    const { id } = await question(root)
    const path = (await stemma.sessions.tree(root.id)).map((session) => session.id)
    expect(path).toHaveLength(depth + 1)
    expect(await root.questions()).toMatchObject([
      { id, sessionID: path.at(-1), path, permission: "edit", patterns: ["a.txt"] },
    ])
    for (const sessionID of path) {
      expect(await stemma.permissions.open(sessionID)).toEqual(await root.questions())
    }
    expect(await other.questions()).toEqual([])
    await expect(stemma.permissions.reply(other.id, id, { reply: "once" })).rejects.toMatchObject({
      code: "not_found",
    })

    await stemma.permissions.reply(path.at(-2)!, id, { reply: "once" })
    await until("it asks again", async () => (await root.questions()).some((one) => one.id !== id))
    const second = (await root.questions())[0]!
    await stemma.permissions.reply(root.id, second.id, { reply: "once" })
    expect((await run).text).toBe("I see.")
    expect(await filesIn(scene.directory)).toEqual({ "a.txt": "x", "b.txt": "x\n" })

    const expected = [id, second.id].flatMap((one) => [`asked ${one} ${path.join(" ")}`, `once ${one}`])
    for (const [name, { received }] of Object.entries(watchers)) {
      await until(`${name} received it all`, () => received.length >= expected.length)
    }
    over.abort()
    await Promise.all([...Object.values(watchers), foreign].map(({ done }) => done))
    for (const { received } of Object.values(watchers)) expect(received).toEqual(expected)
    expect(foreign.received).toEqual([])
  },
)

test("without a person present the question is refused: the child gets the reason, and its ancestors see the failure", async () => {
  await using scene = await askingScene({ interactive: false })
  const root = await scene.stemma.sessions.create(askEdit)
  expect((await root.prompt("Go deep")).text).toBe("I see.")
  expect(await filesIn(scene.directory)).toEqual({})
  const [middle] = await childrenOf(scene, root)
  const [child] = await childrenOf(scene, middle!)
  const told = await results(child!)
  expect(told).toHaveLength(2)
  for (const text of told) expect(text).toMatch(/^Not allowed: edit .*no person is there to ask/)
  expect(await scene.stemma.permissions.open(root.id)).toEqual([])
  const failed = { state: { status: "error" } }
  expect(await taskMetadata(middle!)).toMatchObject([
    {
      sessionId: child!.id,
      summary: [
        { tool: "write", ...failed },
        { tool: "bash", ...failed },
      ],
    },
  ])
  expect((await results(middle!))[0]).toContain("I wrote.")
  expect((await results(root))[0]).toContain("Passed on.")
})

test("after a rejection with feedback the child continues, and its parent gets the answer", async () => {
  await using scene = await askingScene()
  const root = await scene.stemma.sessions.create(askEdit)
  const run = root.prompt("Go")
  for (const feedback of ["Not that one.", "Nor that."]) {
    const { id } = await question(root)
    await scene.stemma.permissions.reply(root.id, id, { reply: "reject", feedback })
    await until("it is answered", async () => (await root.questions())[0]?.id !== id)
  }
  expect((await run).text).toBe("I see.")
  const [child] = await childrenOf(scene, root)
  expect(await results(child!)).toEqual([
    "A person rejected edit a.txt: Not that one.",
    "A person rejected edit b.txt: Nor that.",
  ])
  expect((await results(root))[0]).toContain("I wrote.")
  expect(await filesIn(scene.directory)).toEqual({})
})

test("a rejection without feedback ends that child alone: its parent gets an error and continues, and its sibling still waits", async () => {
  await using scene = await askingScene()
  const root = await scene.stemma.sessions.create(askEdit)
  const run = root.prompt("Go twice")
  await question(root, 2)
  const asked = await root.questions()
  const first = asked.find(({ patterns }) => patterns[0] === "a.txt")!
  const second = asked.find(({ patterns }) => patterns[0] === "c.txt")!
  await scene.stemma.permissions.reply(root.id, first.id, { reply: "reject" })
  await until("one is left", async () => (await root.questions()).length === 1)
  expect((await root.questions())[0]!.id).toBe(second.id)
  await scene.stemma.permissions.reply(second.sessionID, second.id, { reply: "once" })
  expect((await run).text).toBe("I see.")
  const [stopped, done] = await childrenOf(scene, root)
  expect((await stopped!.messages({ last: 1 }))[0]!.message).toMatchObject({ finish: "rejected" })
  expect(await results(root)).toEqual([
    `The agent was stopped: a person rejected what it wanted to do.\n\n<task_metadata>\nsession_id: ${stopped!.id}\n</task_metadata>`,
    `I wrote too.\n\n<task_metadata>\nsession_id: ${done!.id}\n</task_metadata>`,
  ])
  expect(await filesIn(scene.directory)).toEqual({ "c.txt": "x" })
  for (const session of [root, stopped!, done!]) await assertValid(session)
})

test("an `always` answer to a child applies to the child, its siblings and its parent, and never overrides a deny", async () => {
  await using scene = await askingScene()
  const { stemma } = scene
  const root = await stemma.sessions.create(askEdit)
  const run = root.prompt("Go")
  const { id, always, sessionID } = await question(root)
  await stemma.permissions.reply(root.id, id, { reply: "always" })
  expect((await run).text).toBe("I see.")
  expect(await stemma.permissions.granted()).toMatchObject([
    { permission: "edit", pattern: always[0], sessionID },
  ])
  await root.prompt("Go twice")
  await root.prompt("Write yourself")
  const all = ["a.txt", "b.txt", "c.txt", "d.txt"]
  expect(Object.keys(await filesIn(scene.directory)).sort()).toEqual(all)

  await stemma.sessions.update(root.id, { permission: { edit: { "*": "ask", "e*": "deny" } } })
  await root.prompt("Go further")
  const last = (await childrenOf(scene, root)).at(-1)!
  expect(await results(last)).toEqual([expect.stringMatching(/^Not allowed: edit e.txt/)])
  expect(Object.keys(await filesIn(scene.directory)).sort()).toEqual(all)
})

test("an `always` answer to one child settles the same open questions of other sessions, unless a rule denies them", async () => {
  await using scene = await askingScene()
  const { stemma } = scene
  const root = await stemma.sessions.create(askEdit)
  const alone = await stemma.sessions.create(askEdit)
  const strict = await stemma.sessions.create(askEdit)
  const runs = [root.prompt("Go twice"), alone.prompt("Write yourself"), strict.prompt("Go further")]
  await question(root, 2)
  await question(alone)
  const { id: strictID } = await question(strict)
  await stemma.sessions.update(strict.id, { permission: { edit: "deny" } })
  const [first] = await root.questions()
  await stemma.permissions.reply(root.id, first!.id, { reply: "always" })
  await Promise.all(runs.slice(0, 2))
  expect(Object.keys(await filesIn(scene.directory)).sort()).toEqual(["a.txt", "b.txt", "c.txt", "d.txt"])
  expect(await strict.questions()).toMatchObject([{ id: strictID }])
  await stemma.permissions.reply(strict.id, strictID, { reply: "reject", feedback: "No." })
  await runs[2]
})

test("a rule that forbids a call while its question is open applies, whatever the answer is", async () => {
  await using scene = await askingScene()
  const { stemma } = scene
  const root = await stemma.sessions.create(askEdit)
  const run = root.prompt("Go deep")
  const { id } = await question(root)
  await stemma.sessions.update(root.id, { permission: { edit: "deny" } })
  await stemma.permissions.reply(root.id, id, { reply: "always" })
  expect((await run).text).toBe("I see.")
  const [middle] = await childrenOf(scene, root)
  const [child] = await childrenOf(scene, middle!)
  const told = await results(child!)
  expect(told).toHaveLength(2)
  for (const text of told) expect(text).toMatch(/^Not allowed: edit /)
  expect(await filesIn(scene.directory)).toEqual({})
})
