import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { type ModelRequest, StemmaError } from "../../src/index.ts"
import { answered, assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

const task = { description: "Look", prompt: "CHILD: look around.", subagent_type: "general" }

function isChild(request: ModelRequest): boolean {
  return JSON.stringify(request.messages[0]).includes("CHILD:")
}

test("a task whose process is closed continues in the next process, with the same child", async () => {
  let isSlow = true
  await using scene = await runScene({
    script: async (request) => {
      if (isChild(request)) return isSlow ? { text: "Looked.", delayMs: 60_000 } : { text: "Looked." }
      return request.messages.length > 1 ? { text: "All done." } : { calls: [{ tool: "task", input: task }] }
    },
  })
  const session = await scene.stemma.sessions.create()
  const reply = session.prompt("Have somebody look.").then(
    () => "answered",
    (error: unknown) => StemmaError.is(error) && error.code,
  )
  await until("the child works", async () => {
    const [child] = (await scene.stemma.sessions.children(session.id)).items
    return child !== undefined && child.history.count === 2
  })
  const closing = scene.stemma.close()
  await scene.stemma.close()
  await closing
  expect(await reply).toBe("unavailable")
  isSlow = false
  const again = await scene.again({ recover: true })
  const same = await again.sessions.get(session.id)
  await answered(same)
  await assertValid(same)
  const calls = partsOf(await same.messages(), "tool")
  expect(calls.map(({ state }) => state.status)).toEqual(["completed"])
  const children = (await again.sessions.children(session.id)).items
  expect(children).toHaveLength(1)
  const prompts = (await (await again.sessions.get(children[0]!.id)).messages()).filter(
    ({ message }) => message.role === "user",
  )
  expect(prompts).toHaveLength(1)
})

test("a revert of a parent restores the files that a child changed", async () => {
  await using scene = await runScene({
    git: true,
    files: { "a.txt": "before" },
    script: async (request) => {
      if (isChild(request)) {
        return request.messages.length > 2
          ? { text: "Written." }
          : { calls: [{ tool: "bash", input: { command: "echo after > a.txt" } }] }
      }
      return request.messages.length > 1 ? { text: "Done." } : { calls: [{ tool: "task", input: task }] }
    },
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Have it written.")
  const path = join(scene.directory, "a.txt")
  expect(await readFile(path, "utf8")).toBe("after\n")
  const [prompt] = await session.messages()
  await scene.stemma.sessions.revert(session.id, { messageID: prompt!.message.id })
  expect(await readFile(path, "utf8")).toBe("before")
  await scene.stemma.sessions.unrevert(session.id)
  expect(await readFile(path, "utf8")).toBe("after\n")
})

test("a budget covers the session and all its descendants", async () => {
  await using scene = await runScene({
    price: { input: 1, output: 1_000_000 },
    script: async (request) => {
      if (isChild(request)) return { text: "Looked at a great many things. ".repeat(60) }
      return request.messages.length > 1 ? { text: "Done." } : { calls: [{ tool: "task", input: task }] }
    },
  })
  const session = await scene.stemma.sessions.create({ budget: 200 })
  const reply = await session.prompt("Have somebody look.")
  expect(reply.error).toMatchObject({ name: "BudgetError" })
  const { cost, tree } = await session.usage()
  expect(cost).toBeLessThan(tree.cost)
})
