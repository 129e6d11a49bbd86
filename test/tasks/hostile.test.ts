import { readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { ModelRequest } from "../../src/index.ts"
import { partsOf, runScene } from "../support/run-scene.ts"

const task = { description: "Look", prompt: "CHILD: look around.", subagent_type: "general" }

function isChild(request: ModelRequest): boolean {
  return JSON.stringify(request.messages[0]).includes("CHILD:")
}

/** A parent that gives one task, and a child with the given answer. */
function giving(input: object, text: string) {
  return async (request: ModelRequest) => {
    if (isChild(request)) return { text }
    return request.messages.length > 1 ? { text: "Done." } : { calls: [{ tool: "task", input }] }
  }
}

test("a long answer is cut, and the session id after it stays", async () => {
  await using scene = await runScene({ script: giving(task, "line\n".repeat(20_000)) })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go.")
  const [call] = partsOf(await session.messages(), "tool")
  const { items } = await scene.stemma.sessions.children(session.id)
  const output = call!.state.status === "completed" ? call!.state.output : ""
  expect(output).toMatch(/The answer was cut here/)
  expect(output.endsWith(`session_id: ${items[0]!.id}\n</task_metadata>`)).toBe(true)
})

test("the last text of a failed child is cut", async () => {
  await using scene = await runScene({
    script: async (request) => {
      if (!isChild(request)) {
        return request.messages.length > 1 ? { text: "Done." } : { calls: [{ tool: "task", input: task }] }
      }
      return { text: "word ".repeat(100_000), error: { kind: "refused", message: "No more." } }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go.")
  const [call] = partsOf(await session.messages(), "tool")
  expect(call!.state.status === "error" && call!.state.error.length).toBeLessThan(60_000)
})

test("the title of a child is one line without escape sequences", async () => {
  const description = "a\nb\u001b[31mred\u0007\u202eevil"
  await using scene = await runScene({ script: giving({ ...task, description }, "Looked.") })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go.")
  const { items } = await scene.stemma.sessions.children(session.id)
  expect(items[0]!.title).not.toMatch(/[\p{Cc}\u202e]/u)
})

test("a model that repeats a trusted task cannot run its command again without a question", async () => {
  await using scene = await runScene({
    config: {
      permission: { bash: "ask", edit: "allow" },
      command: { deploy: { template: "CHILD: report !`echo run >> log.txt`", subtask: true } },
    },
    script: async (request) => {
      if (isChild(request) && !JSON.stringify(request.messages).includes("Task for @"))
        return { text: "Reported." }
      const calls = request.messages.flatMap(({ content }) =>
        Array.isArray(content) ? content.filter((part) => part.type === "tool-call") : [],
      )
      const first = calls[0] as { callID: string; input: unknown } | undefined
      if (!first || calls.length > 2) return { text: "Done." }
      return { calls: [{ id: first.callID, tool: "task", input: first.input as object }] }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.command("deploy")
  expect(await readFile(join(scene.directory, "log.txt"), "utf8")).toBe("run\n")
  expect((await scene.stemma.sessions.children(session.id)).items.length).toBeGreaterThan(1)
})

test("a trusted command whose file is a symlink to a secret does not read it without a question", async () => {
  await using scene = await runScene({
    files: { ".env": "SECRET=abc" },
    config: { command: { notes: { template: "See !`cat notes.txt` please" } } },
    script: [{ text: "Seen." }],
  })
  await symlink(".env", join(scene.directory, "notes.txt"))
  const session = await scene.stemma.sessions.create()
  await session.command("notes")
  expect(JSON.stringify(scene.model.requests)).not.toContain("SECRET=abc")
})

test("a file takes precedence over an agent of the same name in a project's config", async () => {
  await using scene = await runScene({
    files: { "README.md": "the real one", ".stemma/agents/README.md.md": "---\nmode: subagent\n---\nevil" },
    script: [{ text: "Read." }],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Look at @README.md")
  const [prompt] = await session.messages()
  expect(prompt!.parts.map(({ type }) => type)).toEqual(["text", "file"])
})

test("agents with very long descriptions leave room for other agents", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 80 }, (_, i) => [
      `.stemma/agents/a${i}.md`,
      `---\nmode: subagent\ndescription: ${"x".repeat(20_000)}\n---\nhelp`,
    ]),
  )
  await using scene = await runScene({ files, script: [{ text: "Hello." }] })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Hello.")
  const offered = scene.model.requests[0]!.tools?.find(({ name }) => name === "task")
  expect(offered!.description!.length).toBeLessThan(60_000)
})

test("a grant in one project does not apply to a parent in another project", async () => {
  await using other = await runScene({ git: true })
  await using scene = await runScene({
    git: true,
    config: { permission: { bash: "ask", edit: "allow" } },
    onPermission: async ({ sessionID }) => ({ reply: sessionID === allowed ? "always" : "reject" }),
    script: async (request) =>
      request.messages.length > 1
        ? { text: "Done." }
        : { calls: [{ tool: "bash", input: { command: "touch made.txt" } }] },
  })
  const { sessions } = scene.stemma
  const there = await sessions.create({ directory: other.directory })
  const allowed = there.id
  await there.prompt("Make it.")
  await writeFile(join(other.directory, "made.txt"), "old")
  const root = await sessions.create()
  const child = await sessions.create({ parentID: root.id, directory: other.directory })
  await child.prompt("Make it.")
  const [call] = partsOf(await child.messages(), "tool")
  expect(call!.state.status).toBe("error")
})

test("retention keeps an archived tree with a recently used session or with one of another project", async () => {
  let now = Date.UTC(2026, 0, 1)
  const clock = { now: () => now++ }
  await using other = await runScene({ git: true })
  await using scene = await runScene({
    git: true,
    clock,
    config: { retention: { archived: "90d" } },
    script: async () => ({ text: "Used." }),
  })
  const { sessions } = scene.stemma
  const [used, spread, old] = [await sessions.create(), await sessions.create(), await sessions.create()]
  const child = await sessions.create({ parentID: used.id })
  await sessions.create({ parentID: spread.id, directory: other.directory })
  for (const { id } of [used, spread, old]) await sessions.archive(id)
  now += 100 * 24 * 60 * 60 * 1000
  await child.prompt("Hello.")
  const named = await sessions.applyRetention({ dryRun: true })
  expect(named.map(({ id }) => id)).toEqual([old.id])
  expect(await sessions.applyRetention()).toEqual(named)
  for (const { id } of [used, spread, child]) await sessions.get(id)
})
