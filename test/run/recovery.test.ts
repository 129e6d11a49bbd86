import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { z } from "zod"
import {
  createID,
  noTokens,
  type PartBody,
  type SessionHandle,
  type Stemma,
  type Tool,
} from "../../src/index.ts"
import { storeWith } from "../support/run/store-with.ts"
import {
  answered,
  assertValid,
  partsOf,
  type RunScene,
  type RunSceneOptions,
  runScene,
  until,
} from "../support/run-scene.ts"

const id = (kind: "message" | "part" | "permission") => createID(kind, Date.now())

function counting(name: string, replay: "safe" | "never"): { tool: Tool<{ n: number }>; ran: number[] } {
  const ran: number[] = []
  const tool: Tool<{ n: number }> = {
    name,
    description: "Counts.",
    input: z.object({ n: z.number() }),
    replay,
    writes: false,
    wants: async ({ n }) => (n < 0 ? [{ permission: "negative", patterns: [String(n)] }] : []),
    async execute({ n }) {
      ran.push(n)
      return { title: name, output: `${name} ${n}` }
    },
  }
  return { tool, ran }
}

function call(tool: string, n: number, status: "pending" | "running"): PartBody {
  const input = { n }
  const state =
    status === "pending"
      ? { status, input: {}, raw: JSON.stringify(input) }
      : { status, input, time: { start: 1 } }
  return { id: id("part"), type: "tool", callID: `call_${tool}_${n}`, tool, state }
}

interface Left {
  parts: PartBody[]
  /** The state after the model's stream ended. */
  finish?: string
  sealed?: boolean
}

/** A session as a process leaves it that dies during an answer: the lease is free and the message is open. */
async function leave(stemma: Stemma, left: Left): Promise<SessionHandle> {
  const session = await stemma.sessions.create()
  const { store, directory } = stemma
  const sessionID = session.id
  const lease = await store.claim(sessionID)
  const model = { providerID: "scripted", modelID: "m" }
  const promptID = id("message")
  await store.commit({
    fences: { [sessionID]: lease.fence },
    ops: [
      {
        op: "message.append",
        sessionID,
        message: { id: promptID, role: "user", time: { created: 1 }, agent: "build", model },
        parts: [{ id: id("part"), type: "text", text: "Do it." }],
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
          ...(left.finish !== undefined && { finish: left.finish }),
        },
        parts: [{ id: id("part"), type: "step-start" }, ...left.parts],
        ...(left.sealed && { sealed: true }),
      },
    ],
  })
  await store.release(lease)
  return session
}

async function scene(options: RunSceneOptions = {}): Promise<RunScene> {
  return runScene({ script: () => ({ text: "Gone on." }), ...options })
}

test("streamed text is sealed as interrupted, and with `recover` the run continues", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half an ans" }] })
  const server = await one.again({ recover: true })
  const again = await server.sessions.get(session.id)
  await answered(again)
  const items = await again.messages()
  expect(items[1]!.message).toMatchObject({ finish: "interrupted", error: { name: "InterruptedError" } })
  expect(await again.text()).toContain("Half an ans")
  await assertValid(again)
})

test("without `recover` a session is only repaired when it is used, and no model is asked", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half" }] })
  await one.stemma.sessions.list()
  await session.messages()
  expect((await session.messages())[1]!.sealed).toBe(false)
  await session.append({ role: "user", text: "A note." })
  expect(one.model.requests).toHaveLength(0)
  expect((await session.messages())[1]!.message).toMatchObject({ finish: "interrupted" })
  expect((await session.prompt("Next")).text).toBe("Gone on.")
  expect(one.model.requests).toHaveLength(1)
  await assertValid(session)
})

test("a running call is interrupted, a call that is safe to repeat runs again, a call that had not started runs", async () => {
  const never = counting("never", "never")
  const safe = counting("safe", "safe")
  await using one = await scene({ tools: [never.tool, safe.tool] })
  const session = await leave(one.stemma, {
    parts: [
      call("never", 1, "running"),
      call("safe", 2, "running"),
      call("never", 3, "pending"),
      call("safe", 4, "pending"),
    ],
    finish: "tool-calls",
  })
  const server = await one.again({ recover: true })
  const again = await server.sessions.get(session.id)
  await answered(again)
  const results = partsOf(await again.messages(), "tool").map(({ state }) =>
    state.status === "completed" ? state.output : state.status === "error" ? state.error : state.status,
  )
  expect(results).toEqual([expect.stringContaining("interrupted"), "safe 2", "never 3", "safe 4"])
  expect(never.ran).toEqual([3])
  expect(safe.ran.sort()).toEqual([2, 4])
  await assertValid(again)
})

test("tool calls of an unfinished stream do not run", async () => {
  const safe = counting("safe", "safe")
  await using one = await scene({ tools: [safe.tool] })
  const session = await leave(one.stemma, { parts: [call("safe", 1, "pending")] })
  const server = await one.again({ recover: true })
  const again = await server.sessions.get(session.id)
  await answered(again)
  expect(safe.ran).toEqual([])
  await assertValid(again)
})

test("a turn whose process ended between two steps is continued, or marked as interrupted", async () => {
  await using one = await scene()
  const done: PartBody = {
    id: id("part"),
    type: "tool",
    callID: "c1",
    tool: "list",
    state: {
      status: "completed",
      input: {},
      output: "x",
      title: "x",
      metadata: {},
      time: { start: 1, end: 2 },
    },
  }
  const first = await leave(one.stemma, { parts: [done], finish: "tool-calls", sealed: true })
  await first.prompt("Next")
  expect((await first.messages())[2]!.message).toMatchObject({ finish: "interrupted" })
  const second = await leave(one.stemma, { parts: [done], finish: "tool-calls", sealed: true })
  const server = await one.again({ recover: true })
  const again = await server.sessions.get(second.id)
  await answered(again)
  expect((await again.messages()).map(({ message }) => message.role)).toEqual([
    "user",
    "assistant",
    "assistant",
  ])
})

test("a run that was interrupted three times is not continued", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "1" }] })
  const { store } = one.stemma
  const last = (await session.messages())[1]!
  const lease = await store.claim(session.id)
  const { sessionID, ...body } = last.message
  if (body.role !== "assistant") throw new Error("not an answer")
  const cut = { ...body, finish: "interrupted" }
  const fences = { [sessionID]: lease.fence }
  await store.commit({ fences, ops: [{ op: "message.seal", sessionID, messageID: body.id, message: cut }] })
  for (let n = 0; n < 2; n++) {
    const message = { ...cut, id: id("message") }
    await store.commit({
      fences,
      ops: [{ op: "message.append", sessionID, message, parts: [], sealed: true }],
    })
  }
  await store.release(lease)
  const server = await one.again({ recover: true })
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(one.model.requests).toHaveLength(0)
  expect((await (await server.sessions.get(sessionID)).prompt("Next")).text).toBe("Gone on.")
})

test("an admitted prompt that was never taken is answered by the next process that serves", async () => {
  await using one = await scene()
  const session = await one.stemma.sessions.create()
  await one.stemma.store.admit({
    id: "msg_waiting",
    sessionID: session.id,
    type: "prompt",
    time: 1,
    delivery: "queue",
    message: {
      id: "msg_waiting",
      role: "user",
      time: { created: 1 },
      agent: "build",
      model: { providerID: "scripted", modelID: "m" },
    },
    parts: [{ id: id("part"), type: "text", text: "Anybody?" }],
  })
  await one.again({ recover: true })
  await answered(session)
})

test("a question of a dead process is not asked a second time, and its answer applies", async () => {
  const never = counting("never", "never")
  await using one = await scene({ tools: [never.tool], interactive: true })
  const pending = call("never", -1, "pending")
  const session = await leave(one.stemma, { parts: [pending], finish: "tool-calls" })
  const messageID = (await session.messages())[1]!.message.id
  const request = {
    id: id("permission"),
    sessionID: session.id,
    permission: "negative",
    patterns: ["-1"],
    always: [],
    metadata: {},
    tool: { messageID, callID: "call_never_-1" },
    time: { created: 1 },
  }
  await one.stemma.store.commit({ ops: [{ op: "permission.put", request }] })
  const server = await one.again({ recover: true })
  await server.permissions.reply(session.id, request.id, { reply: "once" })
  const again = await server.sessions.get(session.id)
  await answered(again)
  expect(never.ran).toEqual([-1])
  const all = await server.store.permissions({ sessionID: session.id })
  expect(all.map(({ id: asked, reply }) => [asked, reply])).toEqual([[request.id, "once"]])
})

test("an abort after the death of the process stops recovery from continuing the run", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half" }] })
  await session.abort("Leave it.")
  const server = await one.again({ recover: true })
  const again = await server.sessions.get(session.id)
  await until("it was sealed", async () => (await again.messages())[1]!.sealed)
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(one.model.requests).toHaveLength(0)
})

test("a later revert restores files that a dead process changed", async () => {
  await using one = await scene({ git: true, files: { "a.txt": "one\n" } })
  const project = await one.stemma.project()
  const snapshot = await project.snapshots.take()
  const session = await leave(one.stemma, {
    parts: [{ id: id("part"), type: "snapshot", snapshot: snapshot! }, call("bash", 1, "running")],
    finish: "tool-calls",
  })
  await writeFile(join(one.directory, "a.txt"), "two\n")
  await session.append({ role: "user", text: "A note." })
  expect(partsOf(await session.messages(), "patch")).toMatchObject([{ hash: snapshot, files: ["a.txt"] }])
  const prompt = (await session.messages())[0]!.message.id
  await one.stemma.sessions.revert(session.id, { messageID: prompt })
  expect(await readFile(join(one.directory, "a.txt"), "utf8")).toBe("one\n")
})

test("checking whether a session is busy does not stop another process from continuing its run", async () => {
  await using scene = await runScene({ script: [{ text: "Went on." }] })
  const left = await leave(scene.stemma, { parts: [] })
  const lease = await scene.stemma.store.claim(left.id)
  const other = await scene.again({ recover: true })
  const session = await other.sessions.get(left.id)
  await until("it was found held", () => other.status(left.id).type === "idle")
  await new Promise((resolve) => setTimeout(resolve, 60))
  await scene.stemma.store.release(lease)
  await until("it goes on", async () => {
    const [last] = await session.messages({ last: 1 })
    return last?.message.role === "assistant" && last.message.finish === "stop"
  })
})

test("a process that closes while it opens an interrupted session asks no model, and the next process goes on", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half an ans" }] })
  const opening = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  let histories = 0
  const store = storeWith(one.stemma.store, {
    async history(sessionID, query) {
      // The first read finds the session, the second one opens it.
      if (++histories === 2) {
        opening.resolve()
        await held.promise
      }
      return one.stemma.store.history(sessionID, query)
    },
  })
  const stopped = await one.again({ recover: true, store })
  await opening.promise
  const closed = Promise.all([stopped.close(), stopped.close()])
  held.resolve()
  await closed
  expect(one.model.requests).toHaveLength(0)
  expect((await session.messages()).at(-1)).toMatchObject({ sealed: false })

  const server = await one.again({ recover: true })
  const again = await server.sessions.get(session.id)
  await answered(again)
  await assertValid(again)
  expect(one.model.requests).toHaveLength(1)
  expect(one.warnings).toEqual([])
})

test("a process that closes while it looks for interrupted sessions continues none of them", async () => {
  await using one = await scene()
  await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half an ans" }] })
  const looking = Promise.withResolvers<void>()
  const held = Promise.withResolvers<void>()
  const store = storeWith(one.stemma.store, {
    async inbox(sessionID) {
      looking.resolve()
      await held.promise
      return one.stemma.store.inbox(sessionID)
    },
  })
  const stopped = await one.again({ recover: true, store })
  await looking.promise
  const closed = stopped.close()
  held.resolve()
  await closed
  expect(one.model.requests).toHaveLength(0)
})

test("`recover()` continues interrupted runs of a Stemma that was opened without the option", async () => {
  await using one = await scene()
  const session = await leave(one.stemma, { parts: [{ id: id("part"), type: "text", text: "Half an ans" }] })
  const server = await one.again()
  const again = await server.sessions.get(session.id)
  expect((await again.messages()).at(-1)).toMatchObject({ sealed: false })
  server.recover()
  server.recover()
  await answered(again)
  expect(one.model.requests).toHaveLength(1)
})
