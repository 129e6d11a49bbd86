import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { createScriptedModel, type Model, type StemmaEvent } from "../../src/index.ts"
import { partsOf, runScene, until } from "../support/run-scene.ts"
import {
  answersTo,
  childrenOf,
  requestsFor,
  results,
  shownIn,
  task,
  taskMetadata,
  workingChild,
} from "../support/task-script.ts"

const done = { text: "Done." }

test("step 1: an unknown agent is an error that the model sees, and no child is created", async () => {
  await using scene = await runScene({
    script: answersTo({ Go: [{ calls: [task("Look", { agent: "explorer" })] }, done] }),
  })
  const session = await scene.stemma.sessions.create()
  expect((await session.prompt("Go")).text).toBe("Done.")
  expect(await results(session)).toEqual(["Unknown agent type: explorer. There are: general, explore."])
  expect(shownIn([requestsFor(scene, "Go")[1]!])).toContain("Unknown agent type: explorer")
  expect((await scene.stemma.sessions.children(session.id)).items).toEqual([])
})

test("step 2: each call creates a child of this session, or continues the child that it names", async () => {
  await using scene = await runScene({
    script: answersTo({
      One: [{ calls: [task("First", { description: "Look around" })] }, done],
      First: [{ text: "Seen." }],
      Two: [
        ({ messages }) => {
          const id = /session_id: (\S+?)\\n/.exec(JSON.stringify(messages))![1]!
          return { calls: [task("Second", { session_id: id }), task("Third")] }
        },
        done,
      ],
      Second: [{ text: "Seen again." }],
      Third: [{ text: "New here." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("One")
  await session.prompt("Two")
  const [first, second, third] = await taskMetadata(session)
  expect(second!.sessionId).toBe(first!.sessionId)
  expect(third!.sessionId).not.toBe(first!.sessionId)
  const { items } = await scene.stemma.sessions.children(session.id)
  expect(items.map(({ parentID, title }) => `${parentID} ${title}`).sort()).toEqual([
    `${session.id} Look around (@general subagent)`,
    `${session.id} Third (@general subagent)`,
  ])
})

test("step 3: the child stores the parent's message and agent that called it", async () => {
  await using scene = await runScene({
    config: { agent: { lead: { mode: "primary" } } },
    script: answersTo({ Go: [{ calls: [task("Look")] }, done], Look: [{ text: "Seen." }] }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go", { agent: "lead", tools: { bash: false } })
  const [child] = await childrenOf(scene, session)
  const { caller } = await child!.info()
  const called = (await session.messages()).find(({ message }) => message.id === caller?.messageID)
  expect(called?.message).toMatchObject({ role: "assistant", agent: "lead" })
  expect(partsOf([called!], "tool")).toHaveLength(1)
  expect(caller).toMatchObject({ agent: "lead", tools: { bash: false } })
})

test("step 4: the running call names the child, with a title, before the child has any message", async () => {
  await using scene = await runScene({
    script: answersTo({
      Go: [{ calls: [task("Look", { description: "Look around" })] }, done],
      Look: [done],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const events: StemmaEvent[] = []
  const all = scene.stemma.events()
  const reading = (async () => {
    for await (const event of all) events.push(event)
  })()
  await session.prompt("Go")
  await until("the end is told", () => events.some(({ type }) => type === "session.idle"))
  await all.return?.()
  await reading
  const named = events.findIndex(
    ({ type, properties }) =>
      type === "message.part.updated" &&
      properties.part.type === "tool" &&
      properties.part.state.status === "running" &&
      properties.part.state.metadata?.sessionId !== undefined,
  )
  const event = events[named] as Extract<StemmaEvent, { type: "message.part.updated" }>
  const { part } = event.properties
  expect(part).toMatchObject({ sessionID: session.id, state: { title: "Look around" } })
  const [child] = await childrenOf(scene, session)
  expect(part).toMatchObject({ state: { metadata: { sessionId: child!.id } } })
  const spoken = events.findIndex(
    ({ type, properties }) => type === "message.updated" && properties.info.sessionID === child!.id,
  )
  expect(named).toBeGreaterThanOrEqual(0)
  expect(spoken).toBeGreaterThan(named)
})

test("step 5: the parent's part shows the child's tool calls while the child runs", async () => {
  const wait = "until [ -e go ]; do sleep 0.02; done"
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    script: answersTo({
      Go: [{ calls: [task("Look", { description: "Look around" })] }, done],
      Look: [
        { calls: [{ tool: "read", input: { filePath: "a.txt" } }] },
        { calls: [{ tool: "bash", input: { command: wait } }] },
        done,
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const state = async () => partsOf(await session.messages(), "tool")[0]?.state
  const summary = async () => {
    const now = await state()
    return now?.status === "running" ? (now.metadata?.summary as { tool: string }[] | undefined) : undefined
  }
  await until("both calls show", async () => (await summary())?.length === 2)
  const child = await workingChild(scene, session, "Look")
  const calls = partsOf(await child.messages(), "tool")
  expect(await state()).toMatchObject({ title: "Look around", metadata: { sessionId: child.id } })
  expect(await summary()).toEqual([
    {
      id: calls[0]!.id,
      tool: "read",
      state: { status: "completed", title: expect.stringContaining("a.txt") },
    },
    { id: calls[1]!.id, tool: "bash", state: { status: expect.stringMatching(/pending|running/) } },
  ])
  await writeFile(join(scene.directory, "go"), "")
  await run
  const [metadata] = await taskMetadata(session)
  expect(metadata).toMatchObject({ summary: [{}, { state: { status: "completed", title: wait } }] })
})

test("step 6: a child without its own model uses the model of the calling message", async () => {
  await using scene = await runScene({
    config: { agent: { fast: { mode: "subagent", model: "scripted/quick" } } },
    script: answersTo({
      Go: [{ calls: [task("A"), task("B", { agent: "fast" })] }, done],
      A: [done],
      B: [done],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go", { model: "scripted/chosen" })
  const models = (await childrenOf(scene, session)).map(async (child) => (await child.info()).model?.modelID)
  expect(await Promise.all(models)).toEqual(["chosen", "quick"])
})

test("step 7: an abort of the parent aborts the child", async () => {
  await using scene = await runScene({
    script: answersTo({ Go: [{ calls: [task("Look")] }], Look: [{ text: "Too late.", delayMs: 50_000 }] }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const child = await workingChild(scene, session, "Look")
  await session.abort("Enough.")
  expect((await run).message.finish).toBe("aborted")
  await until("the child has ended", async () => (await child.messages({ last: 1 }))[0]!.sealed)
  expect((await child.messages({ last: 1 }))[0]!.message).toMatchObject({
    error: { name: "MessageAbortedError" },
  })
})

test("step 8: files, agents and commands in the task's prompt are resolved for the child", async () => {
  const prompt = "Read [[a.txt]] and ask @explore; branch: !`echo on-main`; not @missing.txt"
  await using scene = await runScene({
    files: { "a.txt": "alpha beta" },
    script: answersTo({ Go: [{ calls: [task(prompt)] }, done], [prompt]: [done] }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const [asked] = await child!.messages()
  expect(partsOf([asked!], "file")).toMatchObject([{ filename: "a.txt", mime: "text/plain" }])
  expect(partsOf([asked!], "agent")).toMatchObject([{ name: "explore" }])
  const texts = partsOf([asked!], "text").map(({ text }) => text)
  expect(texts[0]).toBe(prompt)
  expect(texts.some((text) => text.includes("on-main") && text !== prompt)).toBe(true)
  expect(texts.slice(1).join()).not.toContain("missing.txt")
  expect(shownIn(requestsFor(scene, "Go"))).not.toContain("alpha beta")
})

test("step 9: the child is offered its own tool set", async () => {
  await using scene = await runScene({
    config: {
      experimental: { primary_tools: ["webfetch"] },
      agent: { own: { mode: "subagent", tools: { todoread: true, grep: false } } },
    },
    script: answersTo({ Go: [{ calls: [task("Look", { agent: "own" })] }, done], Look: [done] }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const names = (prompt: string) => requestsFor(scene, prompt)[0]!.tools.map(({ name }) => name)
  const off = ["todowrite", "task", "webfetch", "grep"]
  expect(names("Go")).toEqual(expect.arrayContaining(off))
  expect(names("Look").sort()).toEqual(
    names("Go")
      .filter((name) => !off.includes(name))
      .sort(),
  )
})

test("step 10: the prompt is the child's first message, answered by the named agent", async () => {
  await using scene = await runScene({
    config: { agent: { own: { mode: "subagent", prompt: "You are the one that looks." } } },
    script: answersTo({ Go: [{ calls: [task("Look", { agent: "own" })] }, done], Look: [{ text: "Seen." }] }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const messages = await child!.messages()
  expect(messages.map(({ message }) => [message.role, message.agent])).toEqual([
    ["user", "own"],
    ["assistant", "own"],
  ])
  expect(messages[0]!.parts).toMatchObject([{ type: "text", text: "Look" }])
  const [request] = requestsFor(scene, "Look")
  expect(request!.system.join("\n")).toContain("You are the one that looks.")
  expect(request!.messages).toEqual([{ role: "user", content: [{ type: "text", text: "Look" }] }])
})

test("step 11: the summary lists every call of the child in order, failed ones too", async () => {
  await using scene = await runScene({
    files: { "a.txt": "alpha" },
    script: answersTo({
      Go: [{ calls: [task("Look")] }, done],
      Look: [
        {
          calls: [
            { tool: "read", input: { filePath: "a.txt" } },
            { tool: "read", input: { filePath: "none.txt" } },
          ],
        },
        { calls: [{ tool: "nothing", input: {} }] },
        { calls: [{ tool: "grep", input: { pattern: "alpha" } }] },
        done,
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const calls = partsOf(await child!.messages(), "tool")
  const expected = calls.map(({ id, tool, state }) => ({
    id,
    tool,
    state: { status: state.status, ...(state.status === "completed" && { title: state.title }) },
  }))
  expect(expected.map(({ tool, state }) => `${tool} ${state.status}`)).toEqual([
    "read completed",
    "read error",
    "nothing error",
    "grep completed",
  ])
  expect(await taskMetadata(session)).toEqual([{ sessionId: child!.id, summary: expected }])
})

test("step 12: only the last text of the child's answer is returned", async () => {
  const played = createScriptedModel(
    answersTo({
      Go: [{ calls: [task("Look"), task("Say nothing")] }, done],
      Look: [
        { text: "Let me see.", calls: [{ tool: "list", input: {} }] },
        { reasoning: "Hm.", text: "First." },
      ],
      "Say nothing": [{ text: "Only on the way.", calls: [{ tool: "list", input: {} }] }, { text: [] }],
    }),
    { ref: { providerID: "scripted", modelID: "m" } },
  )
  const model: Model = {
    ...played,
    async *stream(request) {
      for await (const event of played.stream(request)) {
        yield event
        if (event.type !== "text-delta" || event.text !== "First.") continue
        yield { type: "text-start", id: "second" }
        yield { type: "text-delta", id: "second", text: "Last." }
        yield { type: "text-end", id: "second" }
      }
    },
  }
  await using scene = await runScene({ models: { scripted: () => model } })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [look, nothing] = await results(session)
  const [child] = await childrenOf(scene, session)
  expect(partsOf(await child!.messages({ last: 1 }), "text")).toHaveLength(2)
  expect(look).toMatch(/^Last\.\n\n<task_metadata>/)
  expect(look).not.toMatch(/Let me see|Hm|First/)
  expect(nothing).not.toContain("Only on the way")
  expect(nothing).toContain("<task_metadata>")
})

test("step 13: the result is the text and the session's id, with the description as its title", async () => {
  await using scene = await runScene({
    script: answersTo({
      Go: [{ calls: [task("Look", { description: "Look around", command: "/look" })] }, done],
      Look: [{ text: "Seen." }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Go")
  const [child] = await childrenOf(scene, session)
  const [call] = partsOf(await session.messages(), "tool")
  const output = `Seen.\n\n<task_metadata>\nsession_id: ${child!.id}\n</task_metadata>`
  expect(call!.state).toMatchObject({ status: "completed", title: "Look around", output })
  expect(await taskMetadata(session)).toEqual([{ sessionId: child!.id, summary: [], command: "/look" }])
  expect(requestsFor(scene, "Go")[1]!.messages.at(-1)).toMatchObject({
    role: "tool",
    content: [{ type: "tool-result", tool: "task", isError: false, output }],
  })
})
