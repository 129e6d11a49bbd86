import { symlink } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { Command } from "../../src/config/agents/command.ts"
import { rejection } from "../support/rejection.ts"
import { configScene } from "./config-scene.ts"

describe("commands", () => {
  test("a Markdown file is a command: front matter and template", async () => {
    await using at = await configScene()
    await at.write({
      "user/commands/review.md":
        "---\ndescription: Reviews\nagent: plan\nmodel: a/b\nsubtask: true\n---\n\nReview $1.\n",
      "user/commands/plain.md": "Only {env:HOME} text.",
      "user/commands/notes.txt": "no command",
    })
    const { commands, notices } = await at.open().current()
    expect([...commands.values()]).toEqual([
      { name: "plain", template: "Only {env:HOME} text.", trusted: true },
      {
        name: "review",
        template: "Review $1.",
        description: "Reviews",
        agent: "plan",
        model: "a/b",
        subtask: true,
        trusted: true,
      },
    ] satisfies Command[])
    expect(notices).toEqual([])
  })

  test.each([
    ["---\nsubtask: often\n---\nx", "a.md:2:10: subtask: expected boolean"],
    ["---\nmodel: gpt\n---\nx", "a.md:2:8: model: expected a model as provider/model"],
    ["---\nagent: [\n---\nx", "a.md:"],
  ])("an invalid one (%j) is refused with file, line and column", async (text, expected) => {
    await using at = await configScene()
    await at.write({ "user/commands/a.md": text })
    expect(await rejection(at.open().current())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining(expected),
    })
  })

  test("an unknown field is a notice, and so is a template in the front matter", async () => {
    await using at = await configScene()
    await at.write({ "user/commands/a.md": "---\nagnet: plan\ntemplate: other\n---\nText." })
    const { commands, notices } = await at.open().current()
    expect(commands.get("a")).toEqual({ name: "a", template: "Text.", trusted: true })
    expect(notices).toEqual([
      expect.stringContaining('a.md:2:8: "agnet" is unknown and was ignored. Did you mean "agent"?'),
      expect.stringContaining('"template" is unknown and was ignored.'),
    ])
  })

  test("later sources override earlier ones: the user's config, its files, the program's, the project's", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": {
        command: {
          config: { template: "user config" },
          file: { template: "user config", agent: "plan" },
          program: { template: "user config" },
          project: { template: "user config", model: "a/b" },
        },
      },
      "user/commands/file.md": "user file",
      "user/commands/program.md": "user file",
      "project/stemma.json": { command: { project: { template: "project config" } } },
      "project/.stemma/commands/inner.md": "project file",
    })
    const inline = { command: { program: { template: "program" }, project: { template: "program" } } }
    const source = at.open({ inline })
    await source.trust()
    expect([...(await source.current()).commands.values()]).toEqual([
      { name: "config", template: "user config", trusted: true },
      { name: "file", template: "user file", agent: "plan", trusted: true },
      { name: "program", template: "program", trusted: true },
      { name: "project", template: "project config", model: "a/b", trusted: true },
      { name: "inner", template: "project file", trusted: true },
    ] satisfies Command[])
  })

  test("a name that cannot be typed is a notice", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": '{"command": {"two words": {"template": "x"}, "__proto__": {"template": "x"}}}',
      "user/commands/审查.md": "Ok.",
      "user/commands/-x.md": "Not.",
    })
    const { commands, notices } = await at.open().current()
    expect([...commands.keys()]).toEqual(["审查"])
    expect(notices).toEqual([
      expect.stringContaining('"two words" is not a valid command name'),
      expect.stringContaining('"-x" is not a valid command name'),
    ])
  })

  test("a changed file is read again", async () => {
    await using at = await configScene()
    await at.write({ "user/commands/a.md": "One." })
    const source = at.open()
    const first = await source.current()
    expect(first.commands.get("a")?.template).toBe("One.")
    expect(await source.current()).toBe(first)
    await at.write({ "user/commands/a.md": "Two." })
    expect((await source.current()).commands.get("a")?.template).toBe("Two.")
    await at.remove("user/commands/a.md")
    expect((await source.current()).commands.size).toBe(0)
  })
})

describe("commands of a project that is not trusted", () => {
  test("are plain text without effects until it is trusted", async () => {
    await using at = await configScene()
    const template = "See !`id`, !`cat $1`, @a.ts {env:OTHER}."
    await at.write({
      "project/stemma.json": { command: { go: { template: "Go.", agent: "build" } } },
      "project/.stemma/commands/run.md": `---
description: For {env:WHO}
agent: build
model: x/y
subtask: false
---
${template}`,
    })
    const source = at.open({ env: { WHO: "me" } })
    const before = await source.current()
    expect(before.project.trusted).toBe(false)
    expect([...before.commands.values()]).toEqual([
      { name: "go", template: "Go.", trusted: false },
      { name: "run", template, description: "For {env:WHO}", trusted: false },
    ] satisfies Command[])
    expect(before.config.command).toEqual({})
    expect(before.notices).toEqual([
      expect.stringMatching(/stemma\.json: agent of command \/go was ignored, since .* not trusted/),
      expect.stringMatching(/agent, model, subtask of command \/run were ignored, since .* not trusted/),
    ])

    const pending = (await source.pending())!
    expect(pending.files.map((file) => file.path)).toContain(join(at.project, ".stemma/commands/run.md"))
    expect(pending.grants).toEqual([
      "It reads the environment variable WHO.",
      "It adds the command /go.",
      "It sets agent of the command /go.",
      "It adds the command /run.",
      "It sets agent, model, subtask of the command /run.",
      "Its command /run runs id without asking.",
      "Its command /run reads a.ts without asking.",
    ])
    await source.trust({ hash: pending.hash })
    const after = await source.current()
    expect(after.commands.get("run")).toEqual({
      ...{ name: "run", template, description: "For me", trusted: true },
      ...{ agent: "build", model: "x/y", subtask: false },
    })
    expect(after.notices).toEqual([])
    await at.write({ "project/.stemma/commands/run.md": "See !`rm -rf /`." })
    expect((await source.current()).commands.get("run")).toEqual({
      name: "run",
      template: "See !`rm -rf /`.",
      trusted: false,
    })
  })

  test("cannot replace a command of the user, of the program or of a trusted directory", async () => {
    await using at = await configScene()
    await at.write({
      "user/commands/mine.md": "Mine.",
      "project/.git/HEAD": "ref: refs/heads/main\n",
      "project/.stemma/commands/ours.md": "Ours.",
      "project/sub/.stemma/commands/mine.md": "Evil.",
      "project/sub/.stemma/commands/ours.md": "Evil.",
      "project/sub/stemma.json": { command: { program: { template: "Evil." }, two: { template: "config" } } },
      "project/sub/.stemma/commands/two.md": "file",
    })
    await at.open().trust()
    const inline = { command: { program: { template: "Program." } } }
    const source = at.open({ inline, directory: join(at.project, "sub") })
    const { commands, notices } = await source.current()
    expect([...commands.values()].map((one) => [one.name, one.template, one.trusted])).toEqual([
      ["mine", "Mine.", true],
      ["program", "Program.", true],
      ["ours", "Ours.", true],
      ["two", "file", false],
    ])
    for (const name of ["mine", "program", "ours"])
      expect(notices.join("\n")).toContain(`there already is a command /${name}; this one was ignored`)
  })

  test("leave nothing in a command that a trusted directory replaces", async () => {
    await using at = await configScene()
    await at.write({
      "project/.git/HEAD": "ref: refs/heads/main\n",
      "project/sub/.stemma/commands/a.md": "Inner.",
    })
    const source = at.open({ directory: join(at.project, "sub") })
    await source.trust()
    await at.write({ "project/.stemma/commands/a.md": "---\ndescription: Evil\nagent: build\n---\nOuter." })
    const { commands, project } = await source.current()
    expect(project.trusted).toBe(false)
    expect(commands.get("a")).toEqual({ name: "a", template: "Inner.", trusted: true })
  })

  test("are ignored if they are invalid or lead out of the project, without an error", async () => {
    await using at = await configScene()
    await at.write({
      "outside/x.md": "Private.",
      "project/.stemma/commands/a.md": "---\nsubtask: 5\n---\n",
      "project/.stemma/commands/b.md": `---\n${"[".repeat(50_000)}\n---\n`,
      "project/.stemma/commands/c.md": "Fine.",
    })
    await symlink(join(at.project, "..", "outside", "x.md"), join(at.project, ".stemma", "commands", "x.md"))
    const { commands, notices } = await at.open().current()
    expect([...commands.keys()]).toEqual(["c"])
    expect(notices).toEqual([
      expect.stringMatching(/a\.md:2:10: subtask: .* The file was ignored\.$/),
      expect.stringMatching(/b\.md:.* The file was ignored\.$/),
      expect.stringContaining("x.md was ignored: it is a symlink that leads out of the project"),
    ])
  })

  test("are limited in number, and the list of grants says when it is incomplete", async () => {
    await using at = await configScene()
    const many = Array.from({ length: 300 }, (_, index) => [`c${index}`, { template: "Go." }])
    await at.write({
      "project/stemma.json": JSON.stringify({ share: "auto", command: Object.fromEntries(many) }),
    })
    const source = at.open()
    expect((await source.current()).commands.size).toBe(200)
    const { grants } = (await source.pending())!
    expect(grants).toContain('It sets share to "auto".')
    expect(grants.at(-1)).toBe("And 101 more.")
    expect(grants).toHaveLength(201)
  })
})
