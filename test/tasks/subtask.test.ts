import { access } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { ModelRequest, PromptPart } from "../../src/index.ts"
import { killedPrompt } from "../support/killed-prompt.ts"
import { promptParts } from "../support/prompt-parts.ts"
import { answered, assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"
import { childrenOf, results, shownIn, workingChild } from "../support/task-script.ts"

/** The parent's model gets the children's results; every other request is one of a child. */
const isParent = ({ messages }: ModelRequest) => messages.some(({ role }) => role === "tool")
const script = (request: ModelRequest) => ({ text: isParent(request) ? "Summed up." : "Child's answer." })

function subtask(prompt: string, more: { agent?: string; model?: string } = {}): PromptPart {
  const { agent = "general", model } = more
  const named = model !== undefined && { model: { providerID: "scripted", modelID: model } }
  return { type: "subtask", prompt, description: `Do ${prompt}`, agent, ...named }
}

const exists = (at: RunScene, name: string) =>
  access(join(at.directory, name)).then(
    () => true,
    () => false,
  )

async function modelOf(session: Awaited<ReturnType<typeof childrenOf>>[number] | undefined) {
  const [first] = await session!.messages()
  return first!.message.role === "user" ? first!.message.model.modelID : undefined
}

test("a subtask runs before the session's model is asked, and the run continues with its result", async () => {
  await using at = await runScene({ script })
  const session = await at.stemma.sessions.create()
  const reply = await session.prompt([subtask("count the files", { agent: "explore" })])
  expect(reply.text).toBe("Summed up.")
  expect(at.model.requests).toHaveLength(2)
  expect(at.model.requests[0]!.messages).toMatchObject([
    { role: "user", content: [{ type: "text", text: "count the files" }] },
  ])
  expect(shownIn([at.model.requests[1]!])).toContain("Child's answer.")
  const [child] = await childrenOf(at, session)
  expect(await child!.info()).toMatchObject({
    parentID: session.id,
    agent: "explore",
    title: "Do count the files (@explore subagent)",
  })
  const [prompt, first, last] = await session.messages()
  expect(prompt!.parts).toMatchObject([{ type: "subtask" }])
  expect(first!.message).toMatchObject({ finish: "tool-calls", parentID: prompt!.message.id })
  expect(partsOf([first!], "tool")).toMatchObject([
    { tool: "task", state: { status: "completed", metadata: { sessionId: child!.id } } },
  ])
  expect(last!.message).toMatchObject({ finish: "stop" })
  await assertValid(session)
})

test("several subtasks run at once, each in its own child, besides the other parts of the prompt", async () => {
  const both = Promise.withResolvers<void>()
  let working = 0
  await using at = await runScene({
    script: async (request) => {
      if (!isParent(request) && ++working === 3) both.resolve()
      await both.promise
      return script(request)
    },
  })
  const session = await at.stemma.sessions.create()
  await session.prompt([
    { type: "text", text: "Do these." },
    subtask("a", { model: "x" }),
    subtask("b", { model: "y" }),
    subtask("c"),
  ])
  const children = await childrenOf(at, session)
  expect(children).toHaveLength(3)
  expect(await Promise.all(children.map(modelOf))).toEqual(["x", "y", "m"])
  expect(at.model.requests).toHaveLength(4)
  expect(shownIn([at.model.requests[3]!])).toContain("Do these.")
})

test("the model of a subtask is used even if another prompt is taken with it", async () => {
  const first = Promise.withResolvers<void>()
  await using at = await runScene({
    script: async (request, n) => {
      if (n > 0) return script(request)
      await first.promise
      return { calls: [{ tool: "list", input: {} }] }
    },
  })
  const session = await at.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the model is asked", () => at.model.requests.length === 1)
  const steered = [session.prompt([subtask("a", { model: "x" })]), session.prompt("And this.")]
  await Promise.all(steered.map(({ admitted }) => admitted))
  first.resolve()
  expect((await run).text).toBe("Summed up.")
  const [child] = await childrenOf(at, session)
  expect(await modelOf(child)).toBe("x")
})

test("more sessions than may start at once can run their subtasks at once", async () => {
  await using at = await runScene({ script })
  const sessions = await Promise.all(Array.from({ length: 9 }, () => at.stemma.sessions.create()))
  const replies = await Promise.all(sessions.map((session) => session.prompt([subtask("a")])))
  expect(replies.map(({ text }) => text)).toEqual(sessions.map(() => "Summed up."))
})

test.each([
  ["an agent that there is not", "nobody", {}, /^Unknown agent type: nobody\. There are: .*general/],
  ["an agent for people", "build", {}, /^Unknown agent type: build/],
  [
    "an agent that the rules forbid",
    "explore",
    { task: { explore: "deny" } },
    /^Unknown agent type: explore/,
  ],
] as const)("with %s the model gets an error and continues", async (_, agent, permission, said) => {
  await using at = await runScene({ script })
  const session = await at.stemma.sessions.create({ permission })
  expect((await session.prompt([subtask("a", { agent })])).text).toBe("Summed up.")
  expect(await results(session)).toEqual([expect.stringMatching(said)])
  expect(await at.stemma.sessions.tree(session.id)).toHaveLength(1)
  expect(at.model.requests).toHaveLength(1)
})

test("a failed subtask does not delay the others, and the model gets both results", async () => {
  await using at = await runScene({
    script: (request) => {
      if (!shownIn([request]).includes("fail here") || isParent(request)) return script(request)
      throw new Error("out of order")
    },
  })
  const session = await at.stemma.sessions.create()
  expect((await session.prompt([subtask("fail here"), subtask("b")])).text).toBe("Summed up.")
  expect(await results(session)).toEqual([
    expect.stringContaining("The agent failed"),
    expect.stringContaining("Child's answer."),
  ])
})

test("an abort of the parent ends the child", async () => {
  await using at = await runScene({ script: () => new Promise(() => {}) })
  const session = await at.stemma.sessions.create()
  const run = session.prompt([subtask("a")])
  const child = await workingChild(at, session, "a")
  await session.abort()
  expect((await run).message).toMatchObject({ finish: "aborted" })
  await until("the child is over", async () => (await child.messages()).at(-1)?.sealed === true)
  expect((await child.messages()).at(-1)!.message).toMatchObject({ finish: "aborted" })
  await assertValid(session)
})

describe("after a crash", () => {
  const moments = [
    ["when the prompt was taken", { write: "asked", count: 0, when: "after" }],
    ["before the child is made", { write: "made", count: 0, when: "before" }],
    ["when the child is made", { write: "made", count: 0, when: "after" }],
    ["when the child has its prompt", { write: "prompted", count: 0, when: "after" }],
    ["when the child has answered", { write: "answered", count: 0, when: "after" }],
    ["when the result is written", { write: "result", count: 0, when: "after" }],
    ["when all is sealed", { write: "sealed", count: 0, when: "after" }],
  ] as const

  test.each(moments)("%s, each subtask is done once and the run continues", async (_, dieAt) => {
    await using at = await runScene({ script })
    const prompt = [subtask("a", { model: "x" }), subtask("b")]
    const { session } = await killedPrompt(at, { prompt, answer: "Child's answer.", dieAt })
    const server = await at.again({ recover: true })
    const again = await server.sessions.get(session.id)
    await answered(again)
    expect(await results(again)).toEqual([
      expect.stringContaining("Child's answer."),
      expect.stringContaining("Child's answer."),
    ])
    expect(await again.text()).toContain("Summed up.")
    const children = await childrenOf(at, again)
    expect(await at.stemma.sessions.tree(session.id)).toHaveLength(3)
    expect(await Promise.all(children.map(modelOf))).toEqual(["x", "m"])
    for (const child of children) {
      const prompts = (await child.messages()).filter(({ message }) => message.role === "user")
      expect(prompts).toHaveLength(1)
    }
    await assertValid(again)
  })

  test("in the middle of a child's answer, the child continues", async () => {
    await using at = await runScene({ script })
    const { session } = await killedPrompt(at, { prompt: [subtask("a")] }, async (one) => {
      await until("the child has begun", async () => {
        const [, child] = await at.stemma.sessions.tree(one.id)
        return child !== undefined && (await at.stemma.store.history(child.id)).items.length === 2
      })
    })
    const server = await at.again({ recover: true })
    const again = await server.sessions.get(session.id)
    await answered(again)
    expect(await results(again)).toEqual([expect.stringContaining("Child's answer.")])
    expect(await at.stemma.sessions.tree(session.id)).toHaveLength(2)
  })
})

test.each([
  ["files", ["a.txt"]],
  ["none", []],
] as const)("with references: %j its prompt's commands stay text", async (references, expected) => {
  await using at = await runScene({ script, files: { "a.txt": "a" } })
  const session = await at.stemma.sessions.create()
  await session.prompt([subtask("See @a.txt !`touch ran`")], { references })
  const [child] = await childrenOf(at, session)
  const { files, notes } = await promptParts(child!)
  expect(files.map(({ filename }) => filename)).toEqual(expected)
  expect(notes).toEqual([])
  expect(await exists(at, "ran")).toBe(false)
})

test("text spans of trusted references that a caller sends are ignored", async () => {
  await using at = await runScene({ script, config: { permission: { bash: "ask", edit: "allow" } } })
  const session = await at.stemma.sessions.create()
  const part = { ...subtask("!`touch ran`"), fixed: [{ start: 0, end: 12 }] } as PromptPart
  await Promise.resolve(session.prompt([part])).catch(() => {})
  expect(await exists(at, "ran")).toBe(false)
})
