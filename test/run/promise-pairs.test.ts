import { describe, expect, test } from "vitest"
import { z } from "zod"
import { createID, noTokens, type PartBody, type SessionHandle, type Tool } from "../../src/index.ts"
import { contextProblems } from "../support/context-problems.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"

const tools: Tool<{ n?: number }>[] = [
  {
    name: "quick",
    description: "Ends at once.",
    input: z.object({ n: z.number().optional() }),
    replay: "never",
    writes: false,
    wants: async () => [],
    execute: async ({ n }) => ({ title: "quick", output: `quick ${n}` }),
  },
  {
    name: "stuck",
    description: "Never ends.",
    input: z.object({ n: z.number().optional() }),
    replay: "never",
    writes: false,
    wants: async () => [],
    execute: () => new Promise(() => {}),
  },
]

const quick = (n: number) => ({ tool: "quick", input: { n } })

/** The last context, as a short word for each message. Fails if a model would refuse that context. */
function shown(scene: RunScene): string {
  const { messages } = scene.model.requests.at(-1)!
  expect(contextProblems(messages)).toEqual([])
  return messages.map(({ role, content }) => `${role}${content.length}`).join(" ")
}

async function ended(session: SessionHandle, count: number): Promise<void> {
  await until(`${count} calls have ended`, async () => {
    const states = partsOf(await session.messages(), "tool").map(({ state }) => state.status)
    return states.filter((status) => status === "completed").length === count
  })
}

describe("each tool call has exactly one result in the context", () => {
  test("after an abort during the calls", async () => {
    await using scene = await runScene({
      tools,
      timing: { toolGraceMs: 20 },
      script: [{ text: "Both.", calls: [quick(1), { tool: "stuck", input: {} }] }, { text: "Next." }],
    })
    const session = await scene.stemma.sessions.create()
    const run = session.prompt("Go")
    await ended(session, 1)
    await session.abort()
    await run
    await session.prompt("Next")
    expect(shown(scene)).toBe("user1 assistant3 tool2 user1")
  })

  test("after an attempt that failed after its calls", async () => {
    await using scene = await runScene({
      tools,
      script: [
        { text: "First try.", calls: [quick(1), quick(2)], error: { kind: "network", afterDeltas: 3 } },
        { text: "Second try.", calls: [quick(3)] },
        { text: "Done." },
      ],
    })
    const session = await scene.stemma.sessions.create()
    await session.prompt("Go")
    expect(shown(scene)).toBe("user1 assistant2 tool1")
    expect(JSON.stringify(scene.model.requests.at(-1)!.messages)).not.toContain("First try.")
    expect(partsOf(await session.messages(), "retry")).toHaveLength(1)
  })

  test("after the last attempt failed after its calls", async () => {
    await using scene = await runScene({
      tools,
      timing: { retriesMax: 0 },
      script: [
        { text: "It breaks.", calls: [quick(1), quick(2)], error: { kind: "network", afterDeltas: 3 } },
        { text: "Next." },
      ],
    })
    const session = await scene.stemma.sessions.create()
    expect((await session.prompt("Go")).message.finish).toBe("error")
    await session.prompt("Next")
    shown(scene)
    await assertValid(session)
  })

  test("with a steering prompt between the calls", async () => {
    const gate = Promise.withResolvers<void>()
    const wait: Tool = {
      ...(tools[0] as Tool),
      name: "wait",
      execute: () => gate.promise.then(() => ({ title: "", output: "" })),
    }
    await using scene = await runScene({
      tools: [...tools, wait],
      script: [{ calls: [quick(1), { tool: "wait", input: {} }] }, { text: "Done." }],
    })
    const session = await scene.stemma.sessions.create()
    const run = session.prompt("Go")
    await ended(session, 1)
    await session.prompt("And this").admitted
    gate.resolve()
    await run
    expect(shown(scene)).toBe("user1 assistant2 tool2 user1")
  })

  test("after a revert to a part between two calls, and before the first", async () => {
    await using scene = await runScene({
      tools,
      script: (_, n) =>
        n === 0 ? { text: "Three.", calls: [quick(1), quick(2), quick(3)] } : { text: "Done." },
    })
    const session = await scene.stemma.sessions.create()
    await session.prompt("Go")
    const message = (await session.messages())[1]!
    const calls = partsOf([message], "tool")
    for (const [index, expected] of [
      [2, "user1 assistant3 tool2 user1"],
      [0, "user1 assistant1 user1"],
    ] as const) {
      const fork = await scene.stemma.sessions.fork(session.id)
      const mark = { messageID: message.message.id, partID: calls[index]!.id }
      await scene.stemma.sessions.revert(fork.id, mark)
      await fork.prompt("Next")
      expect(shown(scene)).toBe(expected)
    }
  })

  test("with any maxHistory", async () => {
    await using scene = await runScene({
      tools,
      script: (request) =>
        request.messages.at(-1)!.role === "user" ? { calls: [quick(1), quick(2)] } : { text: "Done." },
    })
    for (const maxHistory of [1, 2, 3, 4, 5]) {
      const session = await scene.stemma.sessions.create({ maxHistory })
      for (let turn = 0; turn < 3; turn++) {
        await session.prompt(`Turn ${turn}`)
        shown(scene)
        // The current turn is always shown from its prompt on.
        expect(JSON.stringify(scene.model.requests.at(-1)!.messages)).toContain(`Turn ${turn}`)
      }
    }
  })

  test("with any maxHistory, in a process that reads the history anew", async () => {
    await using scene = await runScene({
      tools,
      script: (request) =>
        request.messages.at(-1)!.role === "user" ? { calls: [quick(1), quick(2)] } : { text: "Done." },
    })
    for (const maxHistory of [1, 2, 4]) {
      const session = await scene.stemma.sessions.create({ maxHistory })
      for (let turn = 0; turn < 3; turn++) {
        const other = await scene.again()
        const again = await other.sessions.get(session.id)
        await again.prompt(`Turn ${turn}`)
        shown(scene)
        expect(JSON.stringify(scene.model.requests.at(-1)!.messages)).toContain(`Turn ${turn}`)
        await other.close()
      }
    }
  })

  test("after a restart in the middle of a turn that is longer than maxHistory", async () => {
    await using scene = await runScene({
      tools,
      script: (_, n) => {
        if (n < 4) return { calls: [quick(n)] }
        return n === 4 ? { text: "Slow.", delayMs: 20_000 } : { text: "Gone on." }
      },
    })
    const session = await scene.stemma.sessions.create({ maxHistory: 2 })
    const run = session.prompt("The one prompt")
    await until("it is in its fifth step", () => scene.model.requests.length === 5)
    const closing = scene.stemma.close()
    await scene.stemma.close()
    await closing
    expect((await run).message.finish).toBe("interrupted")
    const next = await scene.again({ recover: true })
    const again = await next.sessions.get(session.id)
    await until("it went on", async () => (await again.text()).includes("Gone on."))
    shown(scene)
    expect(JSON.stringify(scene.model.requests.at(-1)!.messages)).toContain("The one prompt")
  })

  test("after a process died with one call settled, one running and one not started", async () => {
    await using scene = await runScene({ tools, script: () => ({ text: "Gone on." }) })
    const { store, directory } = scene.stemma
    const session = await scene.stemma.sessions.create()
    const sessionID = session.id
    const id = (kind: "message" | "part") => createID(kind, Date.now())
    const model = { providerID: "scripted", modelID: "m" }
    const promptID = id("message")
    const call = (state: object) =>
      ({ id: id("part"), type: "tool", callID: "call_same", tool: "quick", state }) as PartBody
    const lease = await store.claim(sessionID)
    await store.commit({
      fences: { [sessionID]: lease.fence },
      ops: [
        {
          op: "message.append",
          sessionID,
          message: { id: promptID, role: "user", time: { created: 1 }, agent: "build", model },
          parts: [{ id: id("part"), type: "text", text: "Go" }],
          sealed: true,
        },
        {
          op: "message.append",
          sessionID,
          message: {
            id: id("message"),
            role: "assistant",
            time: { created: 2 },
            parentID: promptID,
            ...model,
            agent: "build",
            path: { cwd: directory, root: directory },
            cost: 0,
            tokens: noTokens(),
            finish: "tool-calls",
          },
          parts: [
            { id: id("part"), type: "step-start" },
            call({
              status: "completed",
              input: {},
              output: "Done.",
              title: "",
              metadata: {},
              time: { start: 1, end: 2 },
            }),
            call({ status: "running", input: {}, time: { start: 1 } }),
            call({ status: "pending", input: {}, raw: "{}" }),
          ],
        },
      ],
    })
    await store.release(lease)
    await session.prompt("Next")
    expect(shown(scene)).toBe("user1 assistant3 tool3 user1")
    await assertValid(session)
  })

  test("a call without its result cannot be appended", async () => {
    await using scene = await runScene({ tools, script: () => ({ text: "Done." }) })
    const session = await scene.stemma.sessions.create()
    await session.append({ role: "user", text: "Before." })
    for (const state of [
      { status: "pending" as const, input: {}, raw: "{}" },
      { status: "running" as const, input: {}, time: { start: 1 } },
    ]) {
      const call = { type: "tool" as const, tool: "quick", callID: "call_1", state }
      await expect(session.append({ role: "assistant", parts: [call] })).rejects.toMatchObject({
        code: "invalid",
        message: expect.stringContaining("must have its result"),
      })
    }
    expect(await session.messages()).toHaveLength(1)
  })

  test("in an appended history with duplicate ids", async () => {
    await using scene = await runScene({ tools, script: () => ({ text: "Done." }) })
    const session = await scene.stemma.sessions.create()
    await session.append({ role: "user", text: "Before." })
    for (let n = 0; n < 3; n++)
      await session.append({ role: "tool", tool: "quick", callID: "same", output: `${n}` })
    await session.prompt("Next")
    expect(shown(scene)).toBe("user1 assistant1 tool1 assistant1 tool1 assistant1 tool1 user1")
  })
})
