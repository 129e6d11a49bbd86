import { access, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { CommandConfig } from "../../src/config/files/schema.ts"
import type { ModelRequest } from "../../src/index.ts"
import { promptParts } from "../support/prompt-parts.ts"
import { partsOf, type RunScene, runScene } from "../support/run-scene.ts"
import { childrenOf, results, task } from "../support/task-script.ts"

const strict = { bash: "ask", edit: "allow", external_directory: "ask" } as const
const isParent = ({ messages }: ModelRequest) => messages.some(({ role }) => role === "tool")
const script = (request: ModelRequest) => ({ text: isParent(request) ? "Summed up." : "Child's answer." })

function scene(look: CommandConfig, more: Parameters<typeof runScene>[0] = {}) {
  return runScene({ script, ...more, config: { permission: strict, command: { look }, ...more.config } })
}

const exists = (at: RunScene, name: string) =>
  access(join(at.directory, name)).then(
    () => true,
    () => false,
  )

describe("a command for a subagent becomes a task", () => {
  test.each([
    ["with subtask: true", { template: "Look at $1.", subtask: true }, "general"],
    ["for an agent that only answers agents", { template: "Look at $1.", agent: "explore" }, "explore"],
  ])("%s", async (_, look, agent) => {
    await using at = await scene({ ...look, description: "Looks at things" })
    const session = await at.stemma.sessions.create()
    expect((await session.command("/look", "all")).text).toBe("Summed up.")
    expect((await promptParts(session)).parts).toMatchObject([
      { type: "subtask", prompt: "Look at all.", description: "Looks at things", agent, command: "look" },
    ])
    const [call] = partsOf(await session.messages(), "tool")
    expect(call).toMatchObject({ state: { status: "completed", metadata: { command: "look" } } })
    const [child] = await childrenOf(at, session)
    expect(await child!.info()).toMatchObject({ agent, title: `Looks at things (@${agent} subagent)` })
    expect((await session.messages())[1]!.message).toMatchObject({ agent: "build" })
  })

  test("with the command's model, and its name as title if it has no description", async () => {
    await using at = await scene({ template: "Look.", subtask: true, model: "scripted/x", description: " " })
    const session = await at.stemma.sessions.create()
    await session.command("look")
    const [child] = await childrenOf(at, session)
    expect(await child!.info()).toMatchObject({
      title: "look (@general subagent)",
      model: { modelID: "x" },
    })
  })

  test("also with a very long description", async () => {
    await using at = await scene({ template: "Look.", subtask: true, description: "long ".repeat(100) })
    const session = await at.stemma.sessions.create()
    await session.command("look")
    expect(await results(session)).toEqual([expect.stringContaining("Child's answer.")])
  })

  test.each([
    ["with subtask: false", { template: "Look.", subtask: false, agent: "critic" }],
    ["for an agent that answers people too", { template: "Look.", agent: "critic" }],
  ])("but not %s", async (_, look) => {
    await using at = await scene(look, { config: { agent: { critic: { mode: "all" } } } })
    const session = await at.stemma.sessions.create()
    expect((await session.command("look")).message.agent).toBe("critic")
    expect((await promptParts(session)).parts).toMatchObject([{ type: "text", text: "Look." }])
  })

  test("with an unknown agent, the model gets an error and continues", async () => {
    await using at = await scene({ template: "Look.", subtask: true, agent: "nobody" })
    const session = await at.stemma.sessions.create()
    expect((await session.command("look")).text).toBe("Summed up.")
    expect(await results(session)).toEqual([expect.stringContaining("Unknown agent type: nobody")])
  })
})

describe("the references of a command for a subagent", () => {
  test("are resolved in the child, and those of the template without a question", async () => {
    await using at = await scene(
      { template: "\n\n  Look at @.env, !`touch ran` and $1", subtask: true },
      { files: { ".env": "SECRET=1", "a.txt": "a" } },
    )
    const session = await at.stemma.sessions.create()
    await session.command("look", "@a.txt")
    expect((await promptParts(session)).parts).toHaveLength(1)
    const [child] = await childrenOf(at, session)
    const { files, notes } = await promptParts(child!)
    expect(files.map(({ filename }) => filename)).toEqual([".env", "a.txt"])
    expect(notes).toEqual(["Output of `touch ran`:\n(no output)"])
    expect(await exists(at, "ran")).toBe(true)
  })

  test.each([
    ["$1 !`echo ok12`", "'!`touch bad`'"],
    ["!`echo ok12` $1", "'!`touch bad`'"],
    // A task trims its prompt. The spans of the trusted template must not move onto the arguments.
    [`${" ".repeat(13)}!\`echo ok12\` $1`, "'!`touch bad`'"],
    [`${"\n".repeat(15)}!\`echo ok12\` $1`, "'x !`touch bad`'"],
  ])("%j: references in the arguments %j are asked about", async (template, args) => {
    await using at = await scene({ template, subtask: true })
    const session = await at.stemma.sessions.create()
    await session.command("look", args)
    const [child] = await childrenOf(at, session)
    const { notes } = await promptParts(child!)
    expect(notes).toHaveLength(2)
    expect(notes.filter((note) => note.startsWith("Output of"))).toHaveLength(1)
    expect(notes.filter((note) => note.includes("no person is there to ask"))).toEqual([
      expect.stringContaining("!`touch"),
    ])
    expect(await exists(at, "bad")).toBe(false)
  })

  test("stay forbidden if the parent's rules forbid them", async () => {
    await using at = await scene(
      { template: "!`touch ran` @.env", subtask: true },
      { files: { ".env": "S=1" } },
    )
    const session = await at.stemma.sessions.create({
      permission: { bash: "deny", read: { ".env": "deny" } },
    })
    await session.command("look")
    const [child] = await childrenOf(at, session)
    expect((await promptParts(child!)).notes).toEqual([
      expect.stringContaining("Not allowed: bash"),
      expect.stringContaining("Not allowed: read .env"),
    ])
    expect(await exists(at, "ran")).toBe(false)
  })

  test("are all asked about if the project is not trusted, and the command is no task", async () => {
    await using at = await runScene({
      script: () => ({ text: "Done." }),
      files: { ".stemma/commands/see.md": "---\nsubtask: true\n---\n!`touch ran`" },
      config: { permission: strict },
    })
    const session = await at.stemma.sessions.create()
    await session.command("see")
    expect((await promptParts(session)).notes).toEqual([expect.stringContaining("no person is there to ask")])
    expect(await exists(at, "ran")).toBe(false)
  })
})

test("a model call with the id of a trusted task gets none of the task's rights", async () => {
  let forged = false
  await using at = await runScene({
    config: {
      permission: strict,
      command: { look: { template: "!`cat a.txt`", subtask: true, model: "scripted/x" } },
    },
    script: (request) => {
      if (!isParent(request)) return { text: "Child's answer." }
      if (forged) return { text: "Summed up." }
      forged = true
      const [id] = request.messages.flatMap((message) =>
        message.role === "tool" ? message.content.map(({ callID }) => callID) : [],
      )
      return { calls: [{ ...task("!`touch bad`"), id: id! }] }
    },
  })
  await writeFile(join(at.directory, "a.txt"), "a")
  const session = await at.stemma.sessions.create()
  expect((await session.command("look")).text).toBe("Summed up.")
  const callIDs = partsOf(await session.messages(), "tool").map(({ callID }) => callID)
  expect(new Set(callIDs).size).toBe(1)
  const children = await childrenOf(at, session)
  expect(children).toHaveLength(2)
  expect((await promptParts(children[0]!)).notes).toEqual(["Output of `cat a.txt`:\na"])
  expect((await promptParts(children[1]!)).notes).toEqual([
    expect.stringContaining("no person is there to ask"),
  ])
  expect((await children[1]!.info()).model).toMatchObject({ modelID: "m" })
  expect(await exists(at, "bad")).toBe(false)
})
