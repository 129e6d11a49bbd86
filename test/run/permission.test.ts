import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import type { PermissionRequest, SessionHandle, Tool } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

/** Needs the permission `thing` for each name, and returns the names. */
const thing: Tool<{ name: string }> = {
  name: "thing",
  description: "Does things.",
  input: z.object({ name: z.string() }),
  replay: "never",
  writes: false,
  wants: async ({ name }: { name: string }) => [
    { permission: "thing", patterns: [name], always: [`${name}*`] },
  ],
  execute: async ({ name }: { name: string }) => ({ title: name, output: `did ${name}` }),
}

function wish(...names: string[]) {
  return { calls: names.map((name) => ({ tool: "thing", input: { name } })) }
}

async function question(session: SessionHandle): Promise<PermissionRequest> {
  await until("there is a question", async () => (await session.questions()).length > 0)
  return (await session.questions())[0]!
}

async function results(session: SessionHandle): Promise<string[]> {
  return partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status,
  )
}

test("without a person present, a call that needs permission is refused at once with a reason, and the run continues", async () => {
  await using scene = await runScene({ tools: [thing], script: [wish("a"), { text: "I see." }] })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("I see.")
  expect((await results(session))[0]).toContain("no person is there to ask")
})

test("a question is a durable row with an event; the answer `once` permits this call only", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [wish("a"), wish("a"), { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const asked: PermissionRequest[] = []
  const types: string[] = []
  for await (const event of session.prompt("Go")) {
    types.push(event.type)
    if (event.type !== "permission.asked") continue
    const { request } = event.properties
    asked.push(request)
    expect(await scene.stemma.permissions.open(session.id)).toMatchObject([
      { id: request.id, patterns: ["a"] },
    ])
    await scene.stemma.permissions.reply(session.id, request.id, { reply: "once" })
  }
  expect(asked).toHaveLength(2)
  expect(types.filter((type) => type === "permission.replied")).toHaveLength(2)
  expect(await results(session)).toEqual(["did a", "did a"])
  await expect(
    scene.stemma.permissions.reply(session.id, asked[0]!.id, { reply: "reject" }),
  ).rejects.toMatchObject({ code: "conflict" })
})

test("an `always` answer is kept for the project, listed, revocable, and settles other open questions", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [
      wish("ab", "ac", "x"),
      { text: "Done." },
      wish("ad"),
      { text: "Done." },
      wish("ae"),
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("all three are asked", async () => (await session.questions()).length === 3)
  const ab = (await session.questions()).find(({ patterns }) => patterns[0] === "ab")!
  expect(ab.always).toEqual(["ab*"])
  const ac = (await session.questions()).find(({ patterns }) => patterns[0] === "ac")!
  await scene.stemma.permissions.reply(session.id, ab.id, { reply: "always" })
  await scene.stemma.permissions.reply(session.id, ac.id, { reply: "always" })
  await until("one is left", async () => (await session.questions()).length === 1)
  await scene.stemma.permissions.reply(session.id, (await question(session)).id, { reply: "once" })
  await run
  const granted = await scene.stemma.permissions.granted()
  expect(granted.map(({ permission, pattern }) => `${permission} ${pattern}`).sort()).toEqual([
    "thing ab*",
    "thing ac*",
  ])

  const other = await scene.again({ interactive: false })
  const elsewhere = await other.sessions.create({ permission: { thing: { "ad*": "allow" } } })
  expect((await elsewhere.prompt("Go")).text).toBe("Done.")
  for (const { id } of await other.permissions.granted()) await other.permissions.revoke(id)
  expect(await scene.stemma.permissions.granted()).toEqual([])
})

test("an `always` answer never overrides a deny", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [wish("a"), { text: "Done." }, wish("a"), { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await scene.stemma.permissions.reply(session.id, (await question(session)).id, { reply: "always" })
  await run
  await scene.stemma.sessions.update(session.id, { permission: { thing: "deny" } })
  await session.prompt("Again")
  expect((await results(session))[1]).toContain("There is no tool thing")
})

test("feedback of a rejection reaches the model, and the run continues", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [wish("a"), { text: "Then not." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const { id } = await question(session)
  await scene.stemma.permissions.reply(session.id, id, { reply: "reject", feedback: "Use b instead." })
  expect((await run).text).toBe("Then not.")
  expect((await results(session))[0]).toContain("Use b instead.")
})

test("a rejection without feedback ends the run and rejects all its open questions", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [wish("a", "b"), { text: "Not reached." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("both are asked", async () => (await session.questions()).length === 2)
  await scene.stemma.permissions.reply(session.id, (await question(session)).id, { reply: "reject" })
  expect((await run).message).toMatchObject({ finish: "rejected" })
  expect(scene.model.requests).toHaveLength(1)
  expect(await session.questions()).toEqual([])
  await assertValid(session)
})

test("with continue_loop_on_deny a rejection without feedback does not end the run", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    config: { experimental: { continue_loop_on_deny: true } },
    script: [wish("a"), { text: "Going on." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await scene.stemma.permissions.reply(session.id, (await question(session)).id, { reply: "reject" })
  expect((await run).text).toBe("Going on.")
})

test("a permission handler answers in place of a person", async () => {
  const asked: string[] = []
  await using scene = await runScene({
    tools: [thing],
    onPermission: async (request) => {
      asked.push(request.patterns[0]!)
      return request.patterns[0] === "a" ? { reply: "once" } : { reply: "reject", feedback: "No." }
    },
    script: [wish("a", "b"), { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect(asked.sort()).toEqual(["a", "b"])
  expect((await results(session))[0]).toBe("did a")
})

test("an answer from another process reaches the run", async () => {
  await using scene = await runScene({
    tools: [thing],
    interactive: true,
    script: [wish("a"), { text: "Done." }],
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const { id } = await question(session)
  await other.permissions.reply(session.id, id, { reply: "once" })
  expect((await run).text).toBe("Done.")
})

test("rules apply config, then agent, then session; a child may never do more than its parent", async () => {
  await using scene = await runScene({
    tools: [thing],
    config: {
      permission: { thing: { "*": "allow", "no*": "deny" } },
      agent: { careful: { mode: "all", permission: { thing: { "a*": "deny" } } } },
    },
    script: (_, n) => (n % 2 === 0 ? wish("a1", "b1", "no1") : { text: "Done." }),
  })
  const plain = await scene.stemma.sessions.create()
  await plain.prompt("Go")
  expect(await results(plain)).toEqual(["did a1", "did b1", expect.stringContaining("Not allowed")])

  const careful = await scene.stemma.sessions.create({
    agent: "careful",
    permission: { thing: { a1: "allow" } },
  })
  await careful.prompt("Go")
  expect((await results(careful)).slice(0, 2)).toEqual(["did a1", "did b1"])

  const parent = await scene.stemma.sessions.create({ permission: { thing: { "b*": "deny" } } })
  const child = await scene.stemma.sessions.create({
    parentID: parent.id,
    permission: { thing: { "b*": "allow", "no*": "allow" } },
  })
  await child.prompt("Go")
  expect(await results(child)).toEqual([
    "did a1",
    expect.stringContaining("Not allowed"),
    expect.stringContaining("Not allowed"),
  ])
})

test("with edit denied, neither a tool nor the shell writes files", async () => {
  await using scene = await runScene({
    files: { "a.txt": "one\n" },
    config: { permission: { edit: "deny", bash: "allow" } },
    script: [
      {
        calls: [
          { tool: "write", input: { filePath: "b.txt", content: "x" } },
          { tool: "bash", input: { command: "echo x > b.txt" } },
          { tool: "bash", input: { command: "sed -i s/one/two/ a.txt" } },
          { tool: "bash", input: { command: 'python3 -c \'open("b.txt","w")\'' } },
          { tool: "bash", input: { command: "cat a.txt" } },
        ],
      },
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const states = partsOf(await session.messages(), "tool").map(({ state }) => state.status)
  expect(states).toEqual(["error", "error", "error", "error", "completed"])
  expect(await readFile(join(scene.directory, "a.txt"), "utf8")).toBe("one\n")
  await expect(readFile(join(scene.directory, "b.txt"))).rejects.toMatchObject({ code: "ENOENT" })
})
