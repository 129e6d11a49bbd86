import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import type { SessionHandle, Tool } from "../../src/index.ts"
import { partsOf, runScene, until } from "../support/run-scene.ts"

/** Needs the permission `thing` for its name, and asks for `more` while it runs. */
const thing: Tool<{ name: string; more?: string }> = {
  name: "thing",
  description: "Does things.",
  input: z.object({ name: z.string(), more: z.string().optional() }),
  replay: "never",
  writes: false,
  wants: async ({ name }) => [{ permission: "thing", patterns: [name], always: [`${name}*`] }],
  async execute({ name, more }, context) {
    if (more !== undefined) await context.ask({ permission: "more", patterns: [more] })
    return { title: name, output: `did ${name}` }
  },
}

const allowed = { thing: "allow", more: "allow" } as const
const refused = expect.stringMatching(/Not allowed|There is no tool/)

function wish(...inputs: { name: string; more?: string }[]) {
  return { calls: inputs.map((input) => ({ tool: "thing", input })) }
}

async function results(session: SessionHandle): Promise<string[]> {
  return partsOf(await session.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status,
  )
}

test("a rule of any ancestor binds a child, however far above and whatever the child's own rules say", async () => {
  await using scene = await runScene({
    tools: [thing],
    config: { permission: allowed },
    script: (_, n) => (n % 2 === 0 ? wish({ name: "a" }, { name: "b" }) : { text: "Done." }),
  })
  const { sessions } = scene.stemma
  const grandparent = await sessions.create({ permission: { thing: { a: "deny" } } })
  const parent = await sessions.create({ parentID: grandparent.id, permission: { thing: "allow" } })
  const child = await sessions.create({ parentID: parent.id, permission: { thing: "allow" } })
  await child.prompt("Go")
  expect(await results(child)).toEqual([refused, "did b"])
})

test("a child must ask where an ancestor must ask: without a person present the call is refused", async () => {
  await using scene = await runScene({
    tools: [thing],
    config: { permission: allowed },
    script: [wish({ name: "a" }), { text: "Done." }],
  })
  const parent = await scene.stemma.sessions.create({ permission: { thing: "ask" } })
  const child = await scene.stemma.sessions.create({
    parentID: parent.id,
    permission: { thing: "allow" },
  })
  await child.prompt("Go")
  expect(await results(child)).toEqual([expect.stringContaining("no person is there to ask")])
})

test("an ancestor's agent binds a child: by its rules and its tool switches", async () => {
  await using scene = await runScene({
    tools: [thing, { ...thing, name: "other" }],
    config: {
      permission: allowed,
      agent: { careful: { mode: "all", permission: { thing: { a: "deny" } }, tools: { other: false } } },
    },
    script: [
      { calls: [...wish({ name: "a" }, { name: "b" }).calls, { tool: "other", input: { name: "b" } }] },
      { text: "Done." },
    ],
  })
  const parent = await scene.stemma.sessions.create({ agent: "careful" })
  const child = await scene.stemma.sessions.create({ parentID: parent.id, agent: "build" })
  await child.prompt("Go")
  expect(await results(child)).toEqual([refused, "did b", refused])
})

test("a child of a session with an unknown agent may do nothing", async () => {
  await using scene = await runScene({
    tools: [thing],
    config: { permission: allowed, agent: { careful: { mode: "all", permission: { thing: "deny" } } } },
    script: [wish({ name: "a" }), { text: "Done." }],
  })
  const parent = await scene.stemma.sessions.create({ agent: "careful" })
  const child = await scene.stemma.sessions.create({ parentID: parent.id, agent: "build" })
  const other = await scene.again({ config: { agent: {} } })
  const again = await other.sessions.get(child.id)
  await again.prompt("Go")
  expect(await results(again)).toEqual([refused])
})

test.each(["parent", "child"])(
  "a rule that changes while a child runs applies to its next call: set in the %s",
  async (where) => {
    const changed = Promise.withResolvers<void>()
    const wait: Tool = {
      ...(thing as Tool),
      name: "wait",
      input: z.object({}),
      wants: async () => [],
      async execute(_, context) {
        await changed.promise
        await context.ask({ permission: "more", patterns: ["x"] })
        return { title: "wait", output: "was let through" }
      },
    }
    await using scene = await runScene({
      tools: [wait],
      config: { permission: allowed },
      script: [{ calls: [{ tool: "wait", input: {} }] }, { text: "Done." }],
    })
    const parent = await scene.stemma.sessions.create()
    const child = await scene.stemma.sessions.create({ parentID: parent.id })
    const run = child.prompt("Go")
    await until("it runs", async () => (await results(child))[0] === "running")
    const { id } = where === "parent" ? parent : child
    await scene.stemma.sessions.update(id, { permission: { more: "deny" } })
    changed.resolve()
    await run
    expect(await results(child)).toEqual([refused])
  },
)

test("a child in another directory is bound by the config of its parent's directory", async () => {
  await using scene = await runScene({
    tools: [thing],
    files: { "strict/stemma.json": JSON.stringify({ permission: { thing: { a: "deny" } } }) },
    config: { permission: allowed },
    script: (_, n) => (n % 2 === 0 ? wish({ name: "a" }, { name: "b" }) : { text: "Done." }),
  })
  const { sessions } = scene.stemma
  const parent = await sessions.create({ directory: join(scene.directory, "strict") })
  await parent.prompt("Go")
  expect(await results(parent)).toEqual([refused, "did b"])
  const child = await sessions.create({ parentID: parent.id, directory: scene.directory })
  await child.prompt("Go")
  expect(await results(child)).toEqual([refused, "did b"])
})

test("permissions that a tool asks for while it runs are checked like those before", async () => {
  await using scene = await runScene({
    tools: [thing],
    config: { permission: { thing: "allow", more: { ok: "allow", no: "deny" } } },
    script: [
      wish({ name: "a", more: "ok" }, { name: "b", more: "no" }, { name: "c", more: "ask" }),
      { text: "Done." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  expect(await results(session)).toEqual([
    "did a",
    refused,
    expect.stringContaining("no person is there to ask"),
  ])
})

test("an `always` answer overrides neither a deny of one pattern, nor a parent's deny, nor a permission that always asks", async () => {
  const floor: Tool<{ name: string; more?: string }> = {
    ...thing,
    name: "floor",
    wants: async ({ name }) => [{ permission: "thing", patterns: [name], floor: "ask" }],
  }
  await using scene = await runScene({
    tools: [thing, floor],
    interactive: true,
    config: { permission: { thing: "ask", more: "allow" } },
    script: (_, n) => {
      if (n === 0) return wish({ name: "a" })
      if (n % 2 === 1) return { text: "Done." }
      return {
        calls: [...wish({ name: "a1" }, { name: "a2" }).calls, { tool: "floor", input: { name: "a2" } }],
      }
    },
  })
  const { sessions, permissions } = scene.stemma
  const first = await sessions.create()
  const asked = first.prompt("Go")
  await until("it is asked", async () => (await first.questions()).length === 1)
  await permissions.reply(first.id, (await first.questions())[0]!.id, { reply: "always" })
  await asked
  expect(await permissions.granted()).toMatchObject([{ permission: "thing", pattern: "a*" }])

  const headless = await scene.again({ interactive: false })
  const own = await headless.sessions.create({ permission: { thing: { a1: "deny" } } })
  await own.prompt("Go")
  expect(await results(own)).toEqual([
    refused,
    "did a2",
    expect.stringContaining("no person is there to ask"),
  ])
  const parent = await headless.sessions.create({ permission: { thing: { a1: "deny" } } })
  const child = await headless.sessions.create({ parentID: parent.id })
  await child.prompt("Go")
  expect((await results(child)).slice(0, 2)).toEqual([refused, "did a2"])
})
