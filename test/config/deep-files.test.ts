import { readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { openGrants } from "../../src/config/permission/grants.ts"
import { rejection } from "../support/rejection.ts"
import { runScene } from "../support/run-scene.ts"
import { configScene } from "./config-scene.ts"

const levels = 30_000
const lists = "[".repeat(levels) + "]".repeat(levels)
const objects = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`

/** The texts of a config file, each nested deeply in another way. */
const deepJson = {
  "a list as the whole file": lists,
  "objects as the whole file": objects,
  "an unknown key": `{"deep":${lists}}`,
  "a key of another type": `{"model":${objects}}`,
  "the options of a provider": `{"provider":{"x":{"options":{"deep":${lists}}}}}`,
  "a file with comments": `{\n  // a comment with [[[ and "\n  "deep": ${lists},\n}`,
  "a file that has no end": `{"deep":${"[".repeat(levels)}`,
}

const deepYaml = {
  "lists on one line": `deep: ${lists}`,
  "objects on one line": `deep: ${"{a: ".repeat(levels)}1${"}".repeat(levels)}`,
  "lists by dashes": `deep:\n  ${"- ".repeat(levels)}1`,
  "keys by indentation": Array.from({ length: 400 }, (_, level) => `${" ".repeat(level)}a:`).join("\n"),
  "lists that have no end": `deep: ${"[".repeat(levels)}`,
  "keys by question marks": `${"? ".repeat(levels)}a`,
}

const markdown = (matter: string) => `---\ndescription: A description.\n${matter}\n---\nDo it.\n`
const markdownFiles = ["agents/deep.md", "commands/deep.md", "skills/deep/SKILL.md"]

describe("a config file that is nested 30,000 levels deep", () => {
  test.each(Object.entries(deepJson))(
    "of the user is refused with its name and position: %s",
    async (_, text) => {
      await using at = await configScene()
      await at.write({ "user/stemma.json": text })
      const error = await rejection(at.open().current())
      expect(error).toMatchObject({ code: "invalid" })
      expect((error as Error).message).toMatch(
        /\/user\/stemma\.json:\d+:\d+: it is nested too deeply, with more than 200 levels\. Correct it/,
      )
    },
  )

  test.each(Object.entries(deepJson))("of a project is ignored with a notice: %s", async (_, text) => {
    await using at = await configScene()
    await at.write({ "project/stemma.json": text })
    const source = at.open()
    for (const work of [async () => {}, () => source.trust()]) {
      await work()
      expect((await source.current()).notices.join("\n")).toMatch(
        /\/project\/stemma\.json:\d+:\d+: it is nested too deeply, with more than 200 levels\. The file was ignored/,
      )
      await source.pending()
    }
  })

  test.each(Object.entries(deepYaml))("with front matter is named: %s", async (_, matter) => {
    for (const name of markdownFiles) {
      await using at = await configScene()
      await at.write({ [`project/.stemma/${name}`]: markdown(matter) })
      const { notices } = await at.open().current()
      expect(notices.join("\n")).toMatch(
        new RegExp(`/project/.stemma/${name}:\\d+:\\d+: it is nested too deeply, with more than 200 levels`),
      )
    }
    await using at = await configScene()
    await at.write({ "user/agents/deep.md": markdown(matter) })
    expect(await rejection(at.open().current())).toMatchObject({
      code: "invalid",
      message: expect.stringContaining("nested too deeply"),
    })
  })

  test("does not keep a session of its project from working", async () => {
    await using scene = await runScene({
      script: [{ text: "Fine." }],
      files: {
        "stemma.json": `{"deep":${lists}}`,
        ".stemma/agents/deep.md": markdown(deepYaml["lists by dashes"]),
      },
    })
    const session = await scene.stemma.sessions.create()
    expect((await session.prompt("Hello")).text).toBe("Fine.")
  })
})

test("front matter and options of 150 levels are read whole", async () => {
  const nested = (count: number): unknown => (count === 0 ? "end" : { a: nested(count - 1) })
  await using at = await configScene()
  const yaml = `options: ${"{a: ".repeat(150)}end${"}".repeat(150)}`
  await at.write({
    "user/stemma.json": {
      provider: { x: { options: { baseURL: "http://127.0.0.1:1", deep: nested(150) } } },
    },
    "user/agents/deep.md": markdown(yaml),
  })
  const { config, agents } = await at.open().current()
  expect(config.provider.x?.options?.deep).toEqual(nested(150))
  expect(agents.get("deep")?.options).toEqual(nested(150))
})

test("a config that a program passes in is refused if it is nested too deeply", async () => {
  await using at = await configScene()
  let deep: unknown = 1
  for (let level = 0; level < levels; level++) deep = [deep]
  expect(await rejection(at.open({ inline: { deep } }).current())).toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/^the given config: it is nested too deeply/),
  })
})

test("records of trust and grants that are nested too deeply grant nothing", async () => {
  await using at = await configScene()
  await at.write({ "project/stemma.json": { model: "a/b" } })
  const source = at.open()
  await source.trust()
  expect((await source.current()).project.trusted).toBe(true)
  const grants = openGrants({ directory: join(at.data, "grants") })
  const { id } = await grants.add("p", { permission: "bash", pattern: "*", time: 1 })
  await replaceAll(at.data, `{"deep":${"[".repeat(levels)}${"]".repeat(levels)}}`)
  expect((await at.open().current()).project.trusted).toBe(false)
  const reopened = openGrants({ directory: join(at.data, "grants") })
  expect(await reopened.list("p")).toEqual([])
  expect((await reopened.notices("p")).join()).toContain(`${id}.json is not a valid grant`)
})

async function replaceAll(directory: string, text: string): Promise<void> {
  for (const name of await readdir(directory, { recursive: true })) {
    if (name.endsWith(".json")) await writeFile(join(directory, name), text)
  }
}
