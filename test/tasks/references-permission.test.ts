import { access, link, mkdir, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { describe, expect, test } from "vitest"
import type { PermissionRequest, PromptPart, SessionHandle } from "../../src/index.ts"
import { promptParts } from "../support/prompt-parts.ts"
import { type RunSceneOptions, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, task } from "../support/task-script.ts"

const scene = (options: RunSceneOptions = {}) => runScene({ script: () => ({ text: "Done." }), ...options })

async function question(session: SessionHandle): Promise<PermissionRequest> {
  await until("there is a question", async () => (await session.questions()).length > 0)
  return (await session.questions())[0]!
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

describe("a file reference", () => {
  test("needs the permission to read: it is left out if reading is denied, or asked with no person present", async () => {
    await using at = await scene({
      files: { "a.txt": "a", "b.txt": "b", "c.txt": "c" },
      config: { permission: { read: { "a.txt": "deny", "b.txt": "ask" } } },
    })
    const session = await at.stemma.sessions.create({ permission: { read: { "c.txt": "deny" } } })
    expect((await session.prompt("@a.txt @b.txt [[c.txt]]")).text).toBe("Done.")
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    expect(notes).toEqual([
      expect.stringMatching(/^@a\.txt was left out\. Not allowed: read a\.txt\./),
      expect.stringMatching(/^@b\.txt was left out\. .*no person is there to ask/),
      expect.stringMatching(/^\[\[c\.txt\]\] was left out\. Not allowed/),
    ])
  })

  test("to a secret is asked about, and the answer `once` shows the file this once", async () => {
    await using at = await scene({ files: { ".env": "SECRET=1" }, interactive: true })
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See @.env")
    const asked = await question(session)
    expect(asked).toMatchObject({ permission: "read", patterns: [".env"], metadata: { tool: "read" } })
    expect(at.model.requests).toHaveLength(0)
    await at.stemma.permissions.reply(session.id, asked.id, { reply: "once" })
    await run
    expect((await promptParts(session)).files).toMatchObject([{ filename: ".env" }])
    const again = session.prompt("See @.env once more")
    await at.stemma.permissions.reply(session.id, (await question(session)).id, {
      reply: "reject",
      feedback: "Not today.",
    })
    expect((await again).text).toBe("Done.")
    expect((await promptParts(session)).notes).toEqual([expect.stringContaining("Not today.")])
  })

  test("that leads outside is asked about once, whether or not the file exists", async () => {
    const asked: string[] = []
    await using at = await scene({
      onPermission: async ({ permission, patterns }) => {
        asked.push(`${permission} ${patterns.join()}`)
        return { reply: "once" }
      },
    })
    const outside = join(dirname(at.directory), "outside")
    await mkdir(outside)
    await writeFile(join(outside, "a.txt"), "outside")
    await symlink(join(outside, "a.txt"), join(at.directory, "link.txt"))
    await symlink(outside, join(at.directory, "folder"))
    const session = await at.stemma.sessions.create()
    for (const name of ["../outside/a.txt", `${outside}/a.txt`, "link.txt", "folder/a.txt"]) {
      asked.length = 0
      await session.prompt(`See @${name}里的`)
      expect(asked).toEqual([`external_directory ${outside}/*`])
      expect((await promptParts(session)).files).toMatchObject([{ filename: `${outside}/a.txt` }])
    }
    asked.length = 0
    await session.prompt("See @../outside/missing.txt")
    expect(asked).toEqual([`external_directory ${outside}/*`])
    expect((await promptParts(session)).parts).toHaveLength(1)
  })

  test("reveals nothing about files outside without permission", async () => {
    await using at = await scene()
    const outside = dirname(at.directory)
    await writeFile(join(outside, "there.txt"), "outside")
    await symlink(join(outside, "there.txt"), join(at.directory, "link"))
    const session = await at.stemma.sessions.create()
    await session.prompt("@../there.txt @../absent.txt @../project/../there.txt @link")
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    const reasons = new Set(notes.map((note) => note.replace(/^\S+/, "")))
    expect(notes).toHaveLength(4)
    expect([...reasons]).toEqual([expect.stringContaining("external_directory")])
  })

  test("never shows Stemma's own token, under any name or rule", async () => {
    await using at = await scene({
      config: { permission: { read: "allow", external_directory: "allow", edit: "allow", bash: "allow" } },
    })
    const token = join(at.data, "token")
    await writeFile(token, "the-token")
    await symlink(token, join(at.directory, "soft"))
    await link(token, join(at.directory, "hard"))
    const session = await at.stemma.sessions.create()
    await session.prompt(`@${token} @../data/token @soft @hard [[hard]]`)
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    expect(notes).toHaveLength(5)
    for (const note of notes) expect(note).toContain("It is never shown to a model.")
  })

  test("reads nothing if reading is switched off", async () => {
    await using at = await scene({ files: { "a.txt": "a" } })
    const session = await at.stemma.sessions.create()
    await session.prompt("@a.txt", { tools: { read: false } })
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    expect(notes).toEqual([expect.stringContaining("Not allowed")])
  })
})

describe("a command", () => {
  test.each([
    ["bash is denied", { permission: { bash: "deny" } }, {}],
    ["bash must be asked and nobody is there", { permission: { bash: "ask" } }, {}],
    ["editing is denied", { permission: { bash: "allow", edit: "deny" } }, {}],
    ["bash is switched off for the prompt", {}, { tools: { bash: false } }],
    ["bash is switched off in the config", { tools: { bash: false } }, {}],
    ["the agent may not", {}, { agent: "careful" }],
  ] as const)("does not run if %s", async (_, config, options) => {
    const careful = { mode: "all", permission: { bash: "deny" } } as const
    await using at = await scene({ config: { agent: { careful }, ...config } })
    const session = await at.stemma.sessions.create()
    expect((await session.prompt("See !`touch ran`", options)).text).toBe("Done.")
    expect((await promptParts(session)).notes).toEqual([
      expect.stringMatching(/^!`touch ran` was left out\. Not allowed/),
    ])
    expect(await exists(join(at.directory, "ran"))).toBe(false)
  })

  test("asks a durable question before it runs, and runs after the answer `once`", async () => {
    await using at = await scene({
      config: { permission: { bash: "ask", edit: "allow" } },
      interactive: true,
    })
    const session = await at.stemma.sessions.create()
    const run = session.prompt("See !`touch ran`")
    const asked = await question(session)
    expect(asked).toMatchObject({
      permission: "bash",
      metadata: { tool: "bash", command: "touch ran" },
      tool: { messageID: await run.messageID },
    })
    const elsewhere = await at.again()
    expect(await elsewhere.permissions.open(session.id)).toMatchObject([{ id: asked.id }])
    expect(await exists(join(at.directory, "ran"))).toBe(false)
    await elsewhere.permissions.reply(session.id, asked.id, { reply: "once" })
    await run
    expect(await exists(join(at.directory, "ran"))).toBe(true)
    expect(await session.questions()).toEqual([])
  })

  test.each([
    [{ reply: "reject" }, "A person rejected bash"],
    [{ reply: "reject", feedback: "Use ls." }, "Use ls."],
  ] as const)(
    "that is answered with %j does not run, and the model gets the reason",
    async (answer, said) => {
      await using at = await scene({
        config: { permission: { bash: "ask", edit: "allow" } },
        interactive: true,
      })
      const session = await at.stemma.sessions.create()
      const run = session.prompt("See !`touch ran`")
      await at.stemma.permissions.reply(session.id, (await question(session)).id, answer)
      expect((await run).text).toBe("Done.")
      expect((await promptParts(session)).notes).toEqual([expect.stringContaining(said)])
      expect(await exists(join(at.directory, "ran"))).toBe(false)
    },
  )

  test("an open question of one prompt does not stop other sessions from starting", async () => {
    await using at = await scene({
      config: { permission: { bash: "ask", edit: "allow" } },
      interactive: true,
    })
    const asking: PromiseLike<unknown>[] = []
    const sessions: SessionHandle[] = []
    for (let count = 0; count < 6; count++) {
      const session = await at.stemma.sessions.create()
      sessions.push(session)
      asking.push(session.prompt("See !`date`"))
    }
    for (const session of sessions) await question(session)
    const other = await at.stemma.sessions.create()
    expect((await other.prompt("Hello")).text).toBe("Done.")
    for (const session of sessions) {
      const { id } = await question(session)
      await at.stemma.permissions.reply(session.id, id, { reply: "reject", feedback: "No." })
    }
    await Promise.all(asking)
  })
})

test("a file: part sent to a child obeys the rules of its parent", async () => {
  await using at = await scene({ files: { "a.txt": "a", "b.txt": "b" } })
  const parent = await at.stemma.sessions.create({ permission: { read: { "a.txt": "deny" } } })
  const child = await at.stemma.sessions.create({ parentID: parent.id, permission: { read: "allow" } })
  const part = (name: string): PromptPart => {
    const url = pathToFileURL(join(at.directory, name)).href
    return { type: "file", mime: "text/plain", filename: name, url }
  }
  await expect(child.prompt([part("a.txt")])).rejects.toMatchObject({ code: "denied" })
  await child.prompt([part("b.txt")])
  expect((await promptParts(child)).files.map(({ filename }) => filename)).toEqual(["b.txt"])
})

test("a prompt to a child obeys the rules of its parent", async () => {
  await using at = await scene({ files: { "a.txt": "a", "b.txt": "b" } })
  const parent = await at.stemma.sessions.create({
    permission: { read: { "a.txt": "deny" }, bash: "deny" },
  })
  const child = await at.stemma.sessions.create({
    parentID: parent.id,
    permission: { read: "allow", bash: "allow" },
  })
  await child.prompt("@a.txt @b.txt !`touch ran`")
  const { files, notes } = await promptParts(child)
  expect(files.map(({ filename }) => filename)).toEqual(["b.txt"])
  expect(notes).toEqual([
    expect.stringContaining("Not allowed: read a.txt"),
    expect.stringContaining("Not allowed: bash"),
  ])
  expect(await exists(join(at.directory, "ran"))).toBe(false)
})

test("references that a model writes into a task's prompt have the rights of the child", async () => {
  const prompt = "Look: @../../etc/passwd @.env @a.txt !`touch ran` !`cat .env`"
  await using at = await runScene({
    files: { ".env": "SECRET=1", "a.txt": "a" },
    config: { permission: { edit: "deny", bash: "allow" } },
    script: answersTo({ Go: [{ calls: [task(prompt)] }, { text: "Over." }], [prompt]: [{ text: "Seen." }] }),
  })
  const session = await at.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Over.")
  const [child] = await childrenOf(at, session)
  const { files, notes } = await promptParts(child!)
  expect(files.map(({ filename }) => filename)).toEqual(["a.txt"])
  expect(notes).toEqual([
    expect.stringContaining("external_directory"),
    expect.stringContaining("read .env"),
    expect.stringContaining("Editing is denied"),
    expect.stringContaining("read .env"),
  ])
  expect(notes.join()).not.toContain("SECRET=1")
  expect(await exists(join(at.directory, "ran"))).toBe(false)
})

test("the question of a child's reference reaches the root, with its path", async () => {
  const prompt = "See !`touch ran`"
  await using at = await runScene({
    config: { permission: { edit: "allow", bash: "ask" } },
    interactive: true,
    script: answersTo({ Go: [{ calls: [task(prompt)] }, { text: "Over." }], [prompt]: [{ text: "Seen." }] }),
  })
  const session = await at.stemma.sessions.create()
  const run = session.prompt("Go")
  const asked = await question(session)
  const [child] = await childrenOf(at, session)
  expect(asked).toMatchObject({ sessionID: child!.id, path: [session.id, child!.id], permission: "bash" })
  await at.stemma.permissions.reply(child!.id, asked.id, { reply: "once" })
  expect((await run).text).toBe("Over.")
  expect(await exists(join(at.directory, "ran"))).toBe(true)
})
