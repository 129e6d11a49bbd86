import { access, mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { describe, expect, test } from "vitest"
import { createID } from "../../src/index.ts"
import { promptParts } from "../support/prompt-parts.ts"
import { type RunScene, type RunSceneOptions, runScene } from "../support/run-scene.ts"

const scene = (options: RunSceneOptions = {}) => runScene({ script: () => ({ text: "Done." }), ...options })
/** In this scene, no person answers, so nothing that needs permission runs. */
const strict = { bash: "ask", edit: "allow", external_directory: "ask" } as const

const exists = (at: RunScene, name: string) =>
  access(join(at.directory, name)).then(
    () => true,
    () => false,
  )

async function writeUserFile(at: RunScene, name: string, text: string): Promise<void> {
  const path = join(dirname(at.directory), ".config/stemma/commands", name)
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}

describe("a command in the config", () => {
  test.each([
    ["fix", "Fix $1 in $2.", "a b c", "Fix a in b c."],
    ["fix", "Fix $ARGUMENTS!", "  it 'now'", "Fix   it 'now'!"],
    ["/fix", "Fix it.", "please", "Fix it.\n\nplease"],
    ["fix", "\n Fix it. \n", "", "Fix it."],
  ])("%s with the template %j and the arguments %j sends %j", async (name, template, args, expected) => {
    await using at = await scene({ config: { command: { fix: { template } } } })
    const session = await at.stemma.sessions.create()
    expect((await session.command(name, args)).text).toBe("Done.")
    expect((await promptParts(session)).parts).toMatchObject([{ type: "text", text: expected }])
  })

  test("is answered by its agent and model, unless the caller names others", async () => {
    await using at = await scene({
      config: {
        agent: { critic: { mode: "all" } },
        command: { fix: { template: "Fix it.", agent: "plan", model: "scripted/m" } },
        model: "other/x",
      },
    })
    const session = await at.stemma.sessions.create()
    expect((await session.command("fix")).message).toMatchObject({
      agent: "plan",
      providerID: "scripted",
      modelID: "m",
    })
    const other = await session.command("fix", "", { agent: "critic", model: "other/y" })
    expect(other.message).toMatchObject({ agent: "critic", providerID: "other", modelID: "y" })
  })

  test("takes the options of a prompt: the same messageID is the same prompt", async () => {
    await using at = await scene({ config: { command: { fix: { template: "Fix $1 !`echo x >> ran`" } } } })
    const session = await at.stemma.sessions.create()
    const messageID = createID("message", Date.now())
    const first = await session.command("fix", "it", { messageID })
    const second = await session.command("fix", "it", { messageID })
    expect(second.message.id).toBe(first.message.id)
    expect(await readFile(join(at.directory, "ran"), "utf8")).toBe("x\n")
    await expect(session.command("fix", "that", { messageID })).rejects.toMatchObject({ code: "conflict" })
  })

  test("with an unknown name is refused with the known names", async () => {
    await using at = await scene({ config: { command: { fix: { template: "x" }, test: { template: "y" } } } })
    const session = await at.stemma.sessions.create()
    await expect(session.command("fox")).rejects.toMatchObject({
      code: "not_found",
      message: "There is no command fox. There are: /fix, /test.",
    })
    await expect(session.command("__proto__")).rejects.toMatchObject({ code: "not_found" })
    expect(await session.messages()).toEqual([])
  })

  test("with an empty result, or with arguments that are no string, is refused", async () => {
    await using at = await scene({ config: { command: { say: { template: "$ARGUMENTS" } } } })
    const session = await at.stemma.sessions.create()
    await expect(session.command("say", " ")).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("makes an empty prompt without arguments"),
    })
    await expect(session.command("say", 3 as never)).rejects.toMatchObject({ code: "invalid" })
    await expect(session.command("say", "x", null as never)).rejects.toMatchObject({ code: "invalid" })
    await expect(session.command(undefined as never)).rejects.toMatchObject({ code: "invalid" })
    expect(await session.messages()).toEqual([])
  })
})

describe("a reference in a trusted template", () => {
  const template = "Look at @.env and !`touch ran`. $ARGUMENTS"

  test.each([
    ["the program's config", async () => ({ config: { command: { look: { template } } } })],
    ["a file of the user", async () => ({ user: template })],
    ["a file of a project that is trusted", async () => ({ project: template })],
  ])("needs no permission question: %s", async (_, make) => {
    const { config, user, project } = (await make()) as {
      config?: object
      user?: string
      project?: string
    }
    await using at = await scene({
      files: { ".env": "SECRET=1", ...(project !== undefined && { ".stemma/commands/look.md": project }) },
      config: { ...config, permission: strict },
    })
    if (user !== undefined) await writeUserFile(at, "look.md", user)
    if (project !== undefined) await at.stemma.trust()
    const session = await at.stemma.sessions.create()
    await session.command("look")
    const { files, notes } = await promptParts(session)
    expect(files).toMatchObject([{ filename: ".env" }])
    expect(notes).toEqual(["Output of `touch ran`:\n(no output)"])
    expect(await exists(at, "ran")).toBe(true)
  })

  test.each([
    ["in the config", { permission: { ...strict, bash: "deny", read: { ".env": "deny" } } }, {}],
    ["in the session", { permission: strict }, { bash: "deny", read: { ".env": "deny" } }],
    ["as a switch", { permission: strict, tools: { bash: false, read: false } }, {}],
  ] as const)("stays forbidden if a rule forbids it, %s", async (_, config, permission) => {
    await using at = await scene({
      files: { ".env": "SECRET=1" },
      config: { ...config, command: { look: { template } } },
    })
    const session = await at.stemma.sessions.create({ permission })
    await session.command("look")
    const { files, notes } = await promptParts(session)
    expect(files).toEqual([])
    expect(notes).toEqual([
      expect.stringMatching(/^@\.env was left out\. Not allowed/),
      expect.stringMatching(/^!`touch ran` was left out\. Not allowed/),
    ])
    expect(await exists(at, "ran")).toBe(false)
  })

  test("stays forbidden in a child if a rule of its parent forbids it", async () => {
    await using at = await scene({ config: { permission: strict, command: { look: { template } } } })
    const parent = await at.stemma.sessions.create({ permission: { bash: "deny" } })
    const child = await at.stemma.sessions.create({ parentID: parent.id })
    await child.command("look")
    expect((await promptParts(child)).notes).toEqual([expect.stringContaining("Not allowed: bash")])
    expect(await exists(at, "ran")).toBe(false)
  })

  test("is asked about if a symlink of the project leads outside", async () => {
    const template = "@README.md @NOTES.md @plain.txt !`cat README.md` !`cat ../data/outside.txt`"
    await using at = await scene({
      files: { "secret/.env": "SECRET=1", "plain.txt": "plain" },
      config: { permission: strict, command: { look: { template } } },
    })
    await writeFile(join(at.data, "outside.txt"), "outside")
    await symlink(join(at.data, "outside.txt"), join(at.directory, "README.md"))
    await symlink("secret/.env", join(at.directory, "NOTES.md"))
    const session = await at.stemma.sessions.create()
    await session.command("look")
    const { files, notes } = await promptParts(session)
    expect(files.map(({ filename }) => filename)).toEqual(["plain.txt"])
    expect(notes).toEqual([
      expect.stringMatching(/^@README\.md was left out\. .*external_directory.*no person is there/),
      expect.stringMatching(/^@NOTES\.md was left out\. .*read secret\/\.env.*no person is there/),
      expect.stringMatching(/^!`cat README\.md` was left out\. .*external_directory.*no person is there/),
      expect.stringMatching(/^Output of .*\noutside$/),
    ])
  })

  test("is not run if the caller switches commands off", async () => {
    await using at = await scene({ config: { command: { look: { template } } } })
    const session = await at.stemma.sessions.create()
    await session.command("look", "", { references: "files" })
    expect(await exists(at, "ran")).toBe(false)
  })
})

describe("a reference in the arguments is asked about", () => {
  test.each([
    ["Say $ARGUMENTS", "!`touch bad`"],
    ["Say $1, then !`echo own`", "!`touch bad`"],
    ["!`echo own` $ARGUMENTS", "x !`touch bad`"],
    ["Run !`echo $1`", "a; touch bad"],
    ["Run !`echo $1`", "a`` !`touch bad"],
    ["Run !`echo own`$1", "!`touch bad`"],
    ["Run !`echo $1` and `$2`", "a `!`touch bad`"],
    ["Run `$1` !`echo own`", "x` !`touch bad` `"],
    ["Run ``$1`echo own`", "x` !`touch bad` !"],
    ["!`echo own`", "!`touch bad`"],
    ["$1 !`echo own` $2", "!`touch bad` !`echo own`"],
    [`${" ".repeat(8)}!\`echo own\` $1`, "!`touch bad`"],
  ])("%j with %j", async (template, args) => {
    await using at = await scene({ config: { permission: strict, command: { go: { template } } } })
    const session = await at.stemma.sessions.create()
    expect((await session.command("go", args)).text).toBe("Done.")
    expect(await exists(at, "bad")).toBe(false)
    for (const note of (await promptParts(session)).notes) {
      expect(note).toMatch(/^(Output of `echo own`:\nown\n$|!`[^`]*` was left out\. Not allowed)/)
    }
  })

  test("also a secret file, while the template's own file is shown", async () => {
    await using at = await scene({
      files: { ".env": "A=1", "b.env": "B=1" },
      config: { permission: strict, command: { go: { template: "@b.env $ARGUMENTS" } } },
    })
    const session = await at.stemma.sessions.create()
    await session.command("go", "@.env")
    const { files, notes } = await promptParts(session)
    expect(files).toMatchObject([{ filename: "b.env" }])
    expect(notes).toEqual([expect.stringContaining("no person is there to ask")])
  })

  test("a command that is in the template and in the arguments runs once, without a question", async () => {
    await using at = await scene({
      config: { permission: strict, command: { go: { template: "$1 then !`echo x >> ran; cat ran`" } } },
    })
    const session = await at.stemma.sessions.create()
    await session.command("go", "'!`echo x >> ran; cat ran`'")
    expect((await promptParts(session)).notes).toEqual([expect.stringMatching(/:\nx\n$/)])
  })

  test('and runs after the answer "once"', async () => {
    const asked: unknown[] = []
    await using at = await scene({
      config: { permission: strict, command: { go: { template: "!`echo own` $1" } } },
      onPermission: async ({ metadata }) => {
        asked.push(metadata.command)
        return { reply: "once" }
      },
    })
    const session = await at.stemma.sessions.create()
    await session.command("go", "'!`touch good`'")
    expect(asked).toEqual(["touch good"])
    expect(await exists(at, "good")).toBe(true)
  })
})

test("a command file of an untrusted project is plain text: all its references are asked about", async () => {
  await using at = await scene({
    files: {
      ".env": "SECRET=1",
      ".stemma/commands/look.md": "---\nagent: plan\nsubtask: true\n---\n@.env !`touch ran` $1",
    },
    config: { permission: strict },
  })
  const session = await at.stemma.sessions.create()
  expect((await session.command("look", "now")).message.agent).toBe("build")
  const { parts, files, notes } = await promptParts(session)
  expect(parts[0]).toMatchObject({ type: "text", text: "@.env !`touch ran` now" })
  expect(files).toEqual([])
  expect(notes).toEqual([
    expect.stringContaining("no person is there to ask"),
    expect.stringContaining("no person is there to ask"),
  ])
  expect(await exists(at, "ran")).toBe(false)
  await at.stemma.trust()
  await writeFile(join(at.directory, ".stemma/commands/look.md"), "!`touch changed`")
  const other = await at.again()
  await (await other.sessions.get(session.id)).command("look")
  expect((await promptParts(session)).notes).toEqual([expect.stringContaining("no person is there to ask")])
  expect(await exists(at, "changed")).toBe(false)
})
