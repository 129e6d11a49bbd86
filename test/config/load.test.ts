import { mkdir, symlink, utimes } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { Agent } from "../../src/config/agents/agent.ts"
import { evaluate } from "../../src/session/index.ts"
import { rejection } from "../support/rejection.ts"
import { configScene } from "./config-scene.ts"

describe("the user's config", () => {
  test("without any file there are defaults and the built-in agents", async () => {
    await using at = await configScene()
    const { config, agents, notices, project, skills, instructions } = await at.open().current()
    expect(config).toMatchObject({
      default_agent: "build",
      share: "manual",
      idleTimeoutMs: 120_000,
      title: true,
    })
    const shown = [...agents.values()].map((agent) => [agent.name, agent.mode, agent.hidden])
    expect(shown).toEqual([
      ["build", "primary", false],
      ["plan", "primary", false],
      ["general", "subagent", false],
      ["explore", "subagent", false],
      ["compaction", "primary", true],
      ["title", "primary", true],
      ["summary", "primary", true],
    ])
    expect({ notices, skills, instructions }).toEqual({ notices: [], skills: [], instructions: [] })
    expect(project).toMatchObject({ directory: at.project, root: at.project, trusted: undefined })
  })

  test("accepts the documented shape, with comments and trailing commas", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.jsonc": `{
        // my own server
        "model": "local/m1",
        "provider": {"local": {"npm": "@ai-sdk/openai-compatible",
          "options": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "{env:KEY}", "timeout": 5},
          "models": {"m1": {"limit": {"context": 128000, "output": 8192}, "cost": {"input": 0, "output": 0}}}}},
      }`,
    })
    const loaded = await at.open({ env: { KEY: "sk-very-secret" } }).current()
    expect(loaded.config.model).toBe("local/m1")
    expect(loaded.config.provider.local?.options).toEqual({
      baseURL: "http://127.0.0.1:1/v1",
      apiKey: "sk-very-secret",
      timeout: 5,
    })
    expect(loaded.secrets).toEqual(["sk-very-secret"])
    expect(loaded.secretNames).toEqual(["KEY"])
    expect(loaded.notices).toEqual([])
  })

  test.each([
    ['{\n  "model": 5\n}', ":2:12: model: expected string, received number"],
    ['{\n  // a comment\n  "share": "always",\n}', ":3:12: share: expected one of"],
    ['{"permission": {\n  "bash": {"rm *": "never"}}}', ":2:20: permission.bash.rm *: expected one of"],
    ['{"agent": {"a": {"steps": 0}}}', ":1:27: agent.a.steps: "],
    ['{"model": "gpt"}', ":1:11: model: expected a model as provider/model"],
    ['{"provider": {"x": {"npm": "left-pad"}}}', ":1:28: provider.x.npm: expected one of"],
    ['{\n  "model": "a/b"\n  "share": "auto"\n}', ":3:3: it is not valid JSON: comma expected"],
    ["[]", ":1:1: expected object, received array"],
  ])("a file with %j is refused with file, line and column", async (text, expected) => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": text })
    const error = await rejection(at.open().current())
    expect(error).toMatchObject({ code: "invalid" })
    expect(String((error as Error).message)).toContain(`stemma.json${expected}`)
    expect(String((error as Error).message)).toContain("nothing was changed")
  })

  test("a file that is nested too deeply, or too large, is refused", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": "[".repeat(100_000) })
    expect(await rejection(at.open().current())).toMatchObject({
      message: expect.stringContaining("too deep"),
    })
    await at.write({ "user/stemma.json": " ".repeat(300_000) })
    expect(await rejection(at.open().current())).toMatchObject({
      message: expect.stringContaining("256 KiB"),
    })
  })

  test("a corrected file works without opening the config again", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": "{" })
    const source = at.open()
    await rejection(source.current())
    await at.write({ "user/stemma.json": { title: false } })
    expect((await source.current()).config.title).toBe(false)
  })

  test("an unknown key is a notice with its position and a similar name", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": { modle: "a/b", agent: { a: { promt: "x", prompt: "y" } }, zzzzz: 1 },
    })
    const { notices, agents } = await at.open().current()
    const path = join(at.user, "stemma.json")
    expect(notices).toEqual([
      `${path}:5:16: "agent.a.promt" is unknown and was ignored. Did you mean "prompt"?`,
      `${path}:2:12: "modle" is unknown and was ignored. Did you mean "model"?`,
      `${path}:9:12: "zzzzz" is unknown and was ignored.`,
    ])
    expect(agents.get("a")?.prompt).toBe("y")
  })

  test("a rule whose position JSON cannot keep is a notice", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": '{"permission": {"read": {"*": "allow", "42": "deny"}}}' })
    const { notices } = await at.open().current()
    expect(notices).toEqual([
      expect.stringContaining('the rule for "42" is applied before all others of its kind'),
    ])
  })

  test("two config files in one directory are refused", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": {}, "user/stemma.jsonc": {} })
    expect(await rejection(at.open().current())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining("Keep one"),
    })
  })

  test("options of the program override the user's file, key by key", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": {
        model: "a/b",
        compaction: { auto: false },
        instructions: ["one.md"],
        permission: { bash: "allow", edit: "allow" },
      },
      "project/one.md": "first",
      "project/two.md": "second",
    })
    const inline = {
      model: "c/d",
      compaction: { keepTurns: 5 },
      instructions: ["two.md"],
      permission: { bash: "deny" },
    }
    const { config, rules, instructions } = await at.open({ inline }).current()
    expect(config.model).toBe("c/d")
    expect(config.compaction).toMatchObject({ auto: false, keepTurns: 5, prune: true })
    expect(evaluate("bash", "ls", rules).action).toBe("deny")
    expect(evaluate("edit", "x", rules).action).toBe("allow")
    expect(instructions.map((one) => one.text)).toEqual(["first", "second"])
  })

  test("an invalid value in the program's options is reported with its key", async () => {
    await using at = await configScene()
    expect(await rejection(at.open({ inline: { title: "yes" } }).current())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining("the given config: title: expected boolean"),
    })
  })

  test("a key named __proto__ changes no object", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.jsonc": '{"__proto__": {"share": "auto"}, "agent": {"__proto__": {}}, }' })
    const { config } = await at.open().current()
    expect(config.share).toBe("manual")
    expect(({} as Record<string, unknown>).share).toBeUndefined()
  })
})

describe("placeholders", () => {
  test("an unset variable becomes an empty string, with a notice", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { provider: { a: { options: { apiKey: "{env:NOPE}" } } } } })
    const { config, notices, secrets, secretNames } = await at.open().current()
    expect(config.provider.a?.options?.apiKey).toBe("")
    expect(notices).toEqual([expect.stringContaining("the environment variable NOPE is not set")])
    expect({ secrets, secretNames }).toEqual({ secrets: [], secretNames: ["NOPE"] })
  })

  test("a file is inserted, relative to the config, and read again when it changes", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": {
        provider: { a: { options: { headers: { Authorization: "Bearer {file:./key}" } } } },
      },
      "user/key": "secret-1\n",
    })
    const source = at.open()
    const first = await source.current()
    expect(first.config.provider.a?.options?.headers).toEqual({ Authorization: "Bearer secret-1" })
    expect(first.secrets).toContain("secret-1")
    await at.write({ "user/key": "another-secret" })
    expect((await source.current()).secrets).toContain("another-secret")
  })

  test("a value is inserted as text only", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { agent: { a: { prompt: "{env:A}" } } } })
    const env = { A: '{env:B}", "model": "x/y', B: "not-this" }
    const { agents, config } = await at.open({ env }).current()
    expect(agents.get("a")?.prompt).toBe(env.A)
    expect(config.model).toBeUndefined()
  })

  test("keys written in the config and keys of providers are secrets too", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { provider: { a: { options: { apiKey: "sk-written" } } } } })
    const source = at.open({ env: { OPENAI_API_KEY: "sk-openai" }, keyNames: ["OPENAI_API_KEY", "OTHER"] })
    const { secrets, secretNames } = await source.current()
    expect(secrets).toEqual(["sk-openai", "sk-written"])
    expect(secretNames).toEqual(["OPENAI_API_KEY", "OTHER"])
  })
})

describe("agents", () => {
  test("a Markdown file is an agent: front matter and prompt", async () => {
    await using at = await configScene()
    await at.write({
      "user/agents/reviewer.md":
        "---\ndescription: Reviews\nmode: subagent\nmodel: a/b\ntop_p: 0.5\nmaxSteps: 3\ntools:\n  write: false\n" +
        'permission:\n  bash:\n    "*": deny\n    "git diff*": allow\n---\n\nReview what changed.\n',
    })
    const agent = (await at.open().current()).agents.get("reviewer")
    expect(agent).toEqual({
      name: "reviewer",
      description: "Reviews",
      mode: "subagent",
      hidden: false,
      builtIn: false,
      prompt: "Review what changed.",
      model: "a/b",
      topP: 0.5,
      stepsMax: 3,
      tools: { write: false },
      permission: [
        { permission: "bash", pattern: "*", action: "deny" },
        { permission: "bash", pattern: "git diff*", action: "allow" },
      ],
    } satisfies Agent)
  })

  test.each([
    ["---\nmode: boss\n---\nx", "a.md:2:7: mode: expected one of"],
    ["---\nmode: [\n---\nx", "a.md:"],
    ["---\ndescription: !!js/function 'x'\n---\nx", "its front matter is not valid YAML"],
    [
      `---\na: &a [x,x]\n${"b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n".repeat(1)}c: [*b,*b,*b,*b]\n---\n`,
      "a.md",
    ],
  ])("an invalid one (%j) is refused with file, line and column", async (text, expected) => {
    await using at = await configScene()
    await at.write({ "user/agents/a.md": text })
    expect(await rejection(at.open().current())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining(expected),
    })
  })

  test("YAML aliases that would expand without bound are refused", async () => {
    await using at = await configScene()
    const lines = Array.from(
      { length: 12 },
      (_, i) => `k${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}, *a${i}]`,
    )
    await at.write({ "user/agents/a.md": `---\nk0: &a0 [x]\n${lines.join("\n")}\n---\nPrompt.` })
    expect(await rejection(at.open().current())).toMatchObject({ code: "invalid" })
  })

  test("config changes, adds and disables agents", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": {
        default_agent: "mine",
        agent: { plan: { disable: true }, build: { temperature: 0.1 }, mine: { prompt: "Mine." } },
      },
    })
    const { agents, config } = await at.open().current()
    expect(agents.has("plan")).toBe(false)
    expect(agents.get("build")).toMatchObject({ temperature: 0.1, builtIn: true })
    expect(agents.get("build")?.prompt).toContain("project")
    expect(agents.get("mine")).toMatchObject({ mode: "all", builtIn: false })
    expect(config.default_agent).toBe("mine")
  })

  test("a default agent that cannot answer people is replaced, with a notice", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { default_agent: "explore" } })
    const { config, notices } = await at.open().current()
    expect(config.default_agent).toBe("build")
    expect(notices).toEqual([expect.stringContaining("explore is not an agent that answers people")])
  })

  test("plan and explore cannot edit, whatever the config allows", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { permission: { "*": "allow" } } })
    const { agents, rules } = await at.open().current()
    for (const name of ["plan", "explore"]) {
      const own = agents.get(name)!.permission
      expect(evaluate("edit", "src/a.ts", rules, own).action).toBe("deny")
      expect(evaluate("bash", "ls", rules, own).action).toBe("allow")
    }
  })

  test("the user's rules for the shell apply to plan and explore too", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": { permission: { "*": "allow", read: "deny", bash: { "git *": "deny" } } },
    })
    const { agents, rules } = await at.open().current()
    const own = agents.get("plan")!.permission
    expect(evaluate("bash", "git log", rules, own).action).toBe("deny")
    expect(evaluate("bash", "ls", rules, own).action).toBe("allow")
    expect(evaluate("read", "x", rules, own).action).toBe("deny")
  })
})

describe("skills and instructions", () => {
  test("skills are found, and an invalid one is left out with a notice", async () => {
    await using at = await configScene()
    await at.write({
      "user/skills/pdf/SKILL.md":
        "---\nname: pdf\ndescription: >\n  For PDF\n  files\nlicense: MIT\n---\nUse it so.",
      "user/skills/empty/SKILL.md": "no front matter",
      "more/tables/SKILL.md": "---\ndescription: For tables\n---\nRows.",
      "user/stemma.json": { skills: { paths: ["../more"] } },
      "project/.stemma/skills/pdf/SKILL.md": "---\ndescription: Mine instead\n---\nEvil.",
      "project/.stemma/skills/own/SKILL.md": "---\ndescription: Ours\n---\nOur way.",
    })
    const { skills, notices } = await at.open().current()
    expect(skills.map(({ name, description, body }) => ({ name, description, body }))).toEqual([
      { name: "own", description: "Ours", body: "Our way." },
      { name: "pdf", description: "For PDF files", body: "Use it so." },
      { name: "tables", description: "For tables", body: "Rows." },
    ])
    expect(notices).toEqual([
      expect.stringContaining("description: expected a sentence"),
      expect.stringContaining("there already is a skill pdf"),
    ])
  })

  test("AGENTS.md of the user comes first, that of the nearest directory last", async () => {
    await using at = await configScene()
    const inner = join(at.project, "packages", "one")
    await mkdir(inner, { recursive: true })
    await at.write({
      "user/AGENTS.md": "user",
      "project/AGENTS.md": "root",
      "project/packages/one/AGENTS.md": "inner",
      "project/.git/HEAD": "ref: refs/heads/main\n",
    })
    const { instructions, project } = await at.open({ directory: inner }).current()
    expect(instructions.map((one) => one.text)).toEqual(["user", "root", "inner"])
    expect(project.root).toBe(at.project)
  })

  test("globs find files of the project, and not files of installed modules", async () => {
    await using at = await configScene()
    await at.write({
      "user/stemma.json": { instructions: ["docs/**/*.md", "https://example.com/x.md", "nowhere.md"] },
      "project/docs/a.md": "a",
      "project/docs/b/c.md": "c",
      "project/docs/node_modules/d.md": "d",
    })
    const { instructions, notices } = await at.open().current()
    expect(instructions.map((one) => one.text)).toEqual(["a", "c"])
    expect(notices).toEqual([
      expect.stringContaining("URLs are not fetched"),
      expect.stringContaining("there is no file nowhere.md"),
    ])
  })

  test("a symlink out of the project, or to another kind of file, is not followed", async () => {
    await using at = await configScene()
    await at.write({ "elsewhere.md": "private", "project/.env": "KEY=1", "project/sub/.git/HEAD": "x" })
    await symlink(join(at.project, "..", "elsewhere.md"), join(at.project, "AGENTS.md"))
    await symlink(join(at.project, ".env"), join(at.project, "sub", "AGENTS.md"))
    const outer = await at.open().current()
    expect(outer.instructions).toEqual([])
    expect(outer.notices).toEqual([expect.stringContaining("leads out of the project")])
    const inner = await at.open({ directory: join(at.project, "sub") }).current()
    expect(inner.instructions).toEqual([])
  })
})

describe("changes", () => {
  test("the same object is returned while nothing changes, and a new one after a change", async () => {
    await using at = await configScene()
    await at.write({ "user/stemma.json": { title: true }, "project/AGENTS.md": "one" })
    const source = at.open()
    const first = await source.current()
    expect(await source.current()).toBe(first)
    await utimes(join(at.project, "AGENTS.md"), 1, 1)
    expect(await source.current()).toBe(first)
    await at.write({ "project/AGENTS.md": "two" })
    const second = await source.current()
    expect(second.instructions[0]?.text).toBe("two")
    await at.write({ "user/agents/new.md": "A new one." })
    expect((await source.current()).agents.has("new")).toBe(true)
    await at.remove("user/agents/new.md")
    expect((await source.current()).agents.has("new")).toBe(false)
  })

  test("files are not checked again within `recheckMs`", async () => {
    await using at = await configScene()
    const source = at.open({ recheckMs: 60_000 })
    const first = await source.current()
    await at.write({ "user/stemma.json": { title: false } })
    expect(await source.current()).toBe(first)
  })

  test("a directory that does not exist is reported", async () => {
    await using at = await configScene()
    const source = at.open({ directory: join(at.project, "nowhere") })
    expect(await rejection(source.current())).toMatchObject({ code: "not_found" })
  })
})
