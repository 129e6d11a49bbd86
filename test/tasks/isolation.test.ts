import { expect, test } from "vitest"
import { partsOf, runScene } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, shownIn, task } from "../support/task-script.ts"

const done = { text: "Done." }

test("a child sees only the prompt of its parent, and nothing of its sibling", async () => {
  await using scene = await runScene({
    files: { "parent.txt": "parent-file", "left.txt": "left-file", "right.txt": "right-file" },
    script: answersTo({
      "Before: parent-secret": [
        { reasoning: "parent-thought", calls: [{ tool: "read", input: { filePath: "parent.txt" } }] },
        { text: "parent-answer" },
      ],
      "Go now": [{ text: "parent-says", calls: [task("left-prompt"), task("right-prompt")] }, done],
      "left-prompt": [
        { text: "left-says", calls: [{ tool: "read", input: { filePath: "left.txt" } }] },
        { text: "left-result" },
      ],
      "right-prompt": [
        { text: "right-says", calls: [{ tool: "read", input: { filePath: "right.txt" } }] },
        { text: "right-result" },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create({ title: "parent-title" })
  await session.prompt("Before: parent-secret", { system: "parent-system" })
  await session.prompt("Go now", { system: "parent-system" })

  const left = requestsFor(scene, "left-prompt")
  const right = requestsFor(scene, "right-prompt")
  expect(left).toHaveLength(2)
  expect(right).toHaveLength(2)
  expect(left[0]!.messages).toEqual([{ role: "user", content: [{ type: "text", text: "left-prompt" }] }])
  expect(left[1]!.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"])
  expect(shownIn(left)).toContain("left-file")
  expect(shownIn(left)).not.toMatch(/parent-|right-|Go now|Before/)
  expect(shownIn(right)).toContain("right-file")
  expect(shownIn(right)).not.toMatch(/parent-|left-|Go now|Before/)
  for (const id of [session.id, ...(await childrenOf(scene, session)).map((child) => child.id)]) {
    expect(shownIn([...left, ...right])).not.toContain(id)
  }
})

test("a parent sees only the results of its children", async () => {
  await using scene = await runScene({
    files: { "left.txt": "left-file" },
    script: answersTo({
      Go: [{ calls: [task("Look left"), task("Fail")] }, done],
      "Look left": [
        {
          reasoning: "left-thought",
          text: "left-on-the-way",
          calls: [{ tool: "read", input: { filePath: "left.txt" } }],
        },
        { reasoning: "left-thought", text: "left-result" },
      ],
      Fail: [
        { text: "fail-on-the-way", calls: [{ tool: "read", input: { filePath: "left.txt" } }] },
        { error: { kind: "refused", message: "No such luck." } },
      ],
      "And now?": [{ text: "Nothing." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  await session.prompt("And now?")
  const [left, fail] = await childrenOf(scene, session)
  const parent = [...requestsFor(scene, "Go"), ...requestsFor(scene, "And now?")]
  expect(shownIn(parent)).not.toMatch(
    /left-file|left-thought|left-on-the-way|fail-on-the-way|general subagent/,
  )
  expect(parent[1]!.messages).toHaveLength(3)
  const [leftResult, failResult] = await results(session)
  expect(parent[1]!.messages[2]).toMatchObject({
    role: "tool",
    content: [
      { isError: false, output: leftResult },
      { isError: true, output: failResult },
    ],
  })
  expect(leftResult).toBe(`left-result\n\n<task_metadata>\nsession_id: ${left!.id}\n</task_metadata>`)
  expect(failResult).toContain("No such luck.")
  expect(failResult).toContain(`session_id: ${fail!.id}`)
  const texts = partsOf(await session.messages(), "text").map(({ text }) => text)
  expect(texts).toEqual(["Go", "Done.", "And now?", "Nothing."])
})

test("a grandchild sees nothing of its ancestors, and its grandparent sees nothing of it", async () => {
  await using scene = await runScene({
    config: { task: { depth: 2 }, agent: { middle: { mode: "subagent", tools: { task: true } } } },
    script: answersTo({
      "root-prompt": [{ calls: [task("middle-prompt", { agent: "middle" })] }, done],
      "middle-prompt": [{ text: "middle-says", calls: [task("leaf-prompt")] }, { text: "middle-result" }],
      "leaf-prompt": [{ text: "leaf-result" }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("root-prompt")
  expect(shownIn(requestsFor(scene, "leaf-prompt"))).not.toMatch(/root-|middle-/)
  const [first, second] = requestsFor(scene, "middle-prompt")
  expect(shownIn([first!, second!])).not.toContain("root-")
  expect(JSON.stringify(second!.messages)).toContain("leaf-result")
  expect(JSON.stringify(requestsFor(scene, "root-prompt").map(({ messages }) => messages))).not.toContain(
    "leaf-",
  )
})

test("each session has its own todos, agent and model", async () => {
  const todo = (content: string) => ({
    tool: "todowrite",
    input: { todos: [{ id: "1", content, status: "pending", priority: "high" }] },
  })
  await using scene = await runScene({
    config: { agent: { own: { mode: "subagent", tools: { todowrite: true, todoread: true } } } },
    script: answersTo({
      Go: [{ calls: [todo("the parent's")] }, { calls: [task("Look", { agent: "own" })] }, done],
      Look: [{ calls: [{ tool: "todoread", input: {} }] }, { calls: [todo("the child's")] }, done],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  expect((await session.todos()).map(({ content }) => content)).toEqual(["the parent's"])
  expect((await child!.todos()).map(({ content }) => content)).toEqual(["the child's"])
  expect(shownIn(requestsFor(scene, "Look"))).not.toContain("the parent's")
  expect((await session.messages()).map(({ message }) => message.agent)).not.toContain("own")
})

test("a child cannot recall what its parent or its sibling said", async () => {
  await using scene = await runScene({
    script: answersTo({
      "The word is parent-word": [{ text: "I know." }],
      Go: [{ calls: [task("The word is sibling-word")] }, { calls: [task("Find words")] }, done],
      "The word is sibling-word": [{ text: "Noted." }],
      "Find words": [
        () => ({
          calls: [{}, { session: known.parent }, { session: known.sibling }].map((where) => ({
            tool: "recall",
            input: { query: "word", ...where },
          })),
        }),
        done,
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const known = { parent: session.id, sibling: "" }
  await session.prompt("The word is parent-word")
  const run = session.prompt("Go")
  for await (const event of run) {
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") continue
    const { state } = event.properties.part
    if (state.status === "running" && known.sibling === "")
      known.sibling = String(state.metadata?.sessionId ?? "")
  }
  const [sibling, finder] = await childrenOf(scene, session)
  expect(known.sibling).toBe(sibling!.id)
  expect(await results(finder!)).toHaveLength(3)
  expect(shownIn(requestsFor(scene, "Find words"))).not.toMatch(/parent-word|sibling-word/)
})
