import { expect, test } from "vitest"
import { z } from "zod"
import type { HistoryItem, StemmaEvent, Tool } from "../../src/index.ts"
import { partsOf, runScene, until } from "../support/run-scene.ts"
import { answersTo, childrenOf, requestsFor, results, task, taskMetadata } from "../support/task-script.ts"

const done = { text: "Done." }

/** The expected summary of these messages. */
function callsIn(items: readonly HistoryItem[]) {
  return partsOf(items, "tool").map(({ id, tool, state }) => ({
    id,
    tool,
    state: { status: state.status, ...(state.status === "completed" && { title: state.title }) },
  }))
}

test("every process can read the child's id in the parent's part before the child's model is asked", async () => {
  const seen: unknown[] = []
  const look = { now: async () => {} }
  await using scene = await runScene({
    script: answersTo({
      Go: [
        { calls: [task("left", { description: "Look left" }), task("right", { description: "Look right" })] },
        done,
      ],
      left: [() => look.now().then(() => done)],
      right: [() => look.now().then(() => done)],
    }),
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  look.now = async () => {
    const there = await other.sessions.get(session.id)
    const children = (await other.sessions.children(session.id)).items.map(({ id }) => id)
    for (const { state } of partsOf(await there.messages(), "tool")) {
      if (state.status !== "running" || state.metadata === undefined) continue
      seen.push({ title: state.title, isThere: children.includes(String(state.metadata.sessionId)) })
    }
  }
  await session.prompt("Go")
  expect(seen).toContainEqual({ title: "Look left", isThere: true })
  expect(seen).toContainEqual({ title: "Look right", isThere: true })
})

test("progress is reported at most every 100 ms, and the last report lists all calls", async () => {
  const rounds = 12
  const list = { calls: Array.from({ length: 5 }, () => ({ tool: "list", input: {} })) }
  await using scene = await runScene({
    config: { permission: { doom_loop: "allow" } },
    script: answersTo({
      Go: [{ calls: [task("work")] }, done],
      work: [...Array.from({ length: rounds }, () => ({ ...list })), done],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const summaries: unknown[][] = []
  const startedAt = performance.now()
  for await (const event of session.prompt("Go")) {
    if (event.type !== "message.part.updated" || event.properties.part.type !== "tool") continue
    const { state } = event.properties.part
    const summary = state.status === "running" ? state.metadata?.summary : undefined
    if (Array.isArray(summary)) summaries.push(summary)
  }
  const elapsedMs = performance.now() - startedAt
  expect(summaries.length).toBeGreaterThan(0)
  expect(summaries.length).toBeLessThanOrEqual(elapsedMs / 100 + 2)
  for (const summary of summaries) expect(summary.length).toBeLessThanOrEqual(50)
  const [child] = await childrenOf(scene, session)
  const calls = callsIn(await child!.messages())
  expect(calls).toHaveLength(rounds * 5)
  expect(await taskMetadata(session)).toEqual([{ sessionId: child!.id, summary: calls }])
})

/** Does not end when it is aborted. A command would, and would count as completed or not by how soon it ended. */
const deafTool: Tool = {
  name: "stuck",
  description: "Never ends.",
  input: z.object({}),
  replay: "never",
  writes: false,
  wants: async () => [],
  execute: () => new Promise(() => {}),
}

test("the last summary is also exact if the child fails, is aborted or rejected", async () => {
  const list = { tool: "list", input: {} }
  const stuck = { tool: "stuck", input: {} }
  await using scene = await runScene({
    onPermission: async () => ({ reply: "reject" }),
    tools: [deafTool],
    config: { permission: { edit: "ask", bash: "allow" } },
    script: answersTo({
      Go: [{ calls: [task("fail"), task("abort"), task("refused")] }, done],
      fail: [
        { calls: [list, { tool: "nothing", input: {} }] },
        { error: { kind: "refused", message: "No." } },
      ],
      abort: [{ calls: [list] }, { calls: [list, stuck] }],
      refused: [{ calls: [list, { tool: "write", input: { filePath: "new.txt", content: "new" } }] }],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is stuck", async () => {
    const [, abort] = await childrenOf(scene, session)
    if (abort === undefined) return false
    // The calls of one answer run at the same time: the abort must find the other one done.
    const [, list, stuck] = callsIn(await abort.messages())
    return list?.state.status === "completed" && stuck?.state.status === "running"
  })
  const children = await childrenOf(scene, session)
  await children[1]!.abort()
  await run
  const summaries = (await taskMetadata(session)).map((metadata) => metadata?.summary)
  expect(summaries).toEqual(await Promise.all(children.map(async (child) => callsIn(await child.messages()))))
  const statuses = (summaries as ReturnType<typeof callsIn>[]).map((calls) =>
    calls.map(({ state }) => state.status).join(" "),
  )
  expect(statuses).toEqual(["completed error", "completed completed error", "completed error"])
  expect((await results(session)).map((result) => result.split(":")[0])).toEqual([
    "The agent failed",
    "The agent was aborted",
    "The agent was stopped",
  ])
})

test("after an abort of the parent, its part no longer shows the child as running", async () => {
  const stuck = { tool: "bash", input: { command: "sleep 60" } }
  await using scene = await runScene({
    timing: { toolGraceMs: 10_000 },
    script: answersTo({ Go: [{ calls: [task("work")] }], work: [{ calls: [stuck] }] }),
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it shows", async () => {
    const [metadata] = await taskMetadata(session)
    return Array.isArray(metadata?.summary) && JSON.stringify(metadata.summary).includes("running")
  })
  await session.abort()
  await run
  const [child] = await childrenOf(scene, session)
  await until("the child has ended", () => scene.stemma.status(child!.id).type === "idle")
  const [metadata] = await taskMetadata(session)
  expect(metadata).toEqual({ sessionId: child!.id, summary: callsIn(await child!.messages()) })
})

test("a subscriber of the root gets a child's question with its path, and the answer", async () => {
  await using scene = await runScene({
    interactive: true,
    config: {
      permission: { edit: "ask" },
      task: { depth: 2 },
      agent: { nesting: { mode: "subagent", tools: { task: true } } },
    },
    script: answersTo({
      Go: [{ calls: [task("middle", { agent: "nesting" })] }, done],
      middle: [{ calls: [task("leaf")] }, done],
      leaf: [
        { calls: [{ tool: "write", input: { filePath: "new.txt", content: "new" } }] },
        { text: "Wrote." },
      ],
    }),
  })
  const session = await scene.stemma.sessions.create()
  const heard: StemmaEvent[] = []
  for await (const event of session.prompt("Go")) {
    if (!event.type.startsWith("permission.")) continue
    heard.push(event)
    if (event.type !== "permission.asked") continue
    const { id } = event.properties.request
    await scene.stemma.permissions.reply(session.id, id, { reply: "once" })
  }
  const [middle] = await childrenOf(scene, session)
  const [leaf] = await childrenOf(scene, middle!)
  expect(heard).toMatchObject([
    {
      type: "permission.asked",
      properties: { request: { sessionID: leaf!.id, path: [session.id, middle!.id, leaf!.id] } },
    },
    { type: "permission.replied", properties: { sessionID: leaf!.id, reply: "once" } },
  ])
  expect(requestsFor(scene, "leaf")).toHaveLength(2)
})
