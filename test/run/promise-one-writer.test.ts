import { expect, test } from "vitest"
import { z } from "zod"
import { type Commit, openStore, type Store, type Tool } from "../../src/index.ts"
import { manualClock } from "../support/clock.ts"
import { storeWith } from "../support/run/store-with.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

/** A tool that waits until the test releases it. */
function gate(): { tool: Tool; open: () => void; ran: () => number } {
  const opened = Promise.withResolvers<void>()
  let ran = 0
  return {
    open: opened.resolve,
    ran: () => ran,
    tool: {
      name: "gate",
      description: "Waits.",
      input: z.object({}),
      replay: "never",
      writes: false,
      wants: async () => [],
      async execute() {
        ran++
        await opened.promise
        return { title: "gate", output: "The old writer's result." }
      },
    },
  }
}

/** Counts the commits under a fence, from the moment the test starts it. */
function counting(store: Store): { store: Store; commits: Commit[] } {
  const commits: Commit[] = []
  return {
    commits,
    store: storeWith(store, {
      commit: async (commit) => {
        const done = await store.commit(commit)
        if (commit.fences) commits.push(commit)
        return done
      },
    }),
  }
}

test("a run whose lease was taken writes nothing more, not even a tool result; a waiting caller gets the new holder's answer", async () => {
  const clock = manualClock()
  await using store = await openStore({ driver: "memory", clock })
  const counted = counting(store)
  const waiting = gate()
  await using scene = await runScene({
    store: counted.store,
    tools: [waiting.tool],
    script: [{ calls: [{ tool: "gate", input: {} }] }, { text: "The old writer goes on." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the tool runs", () => waiting.ran() === 1)
  clock.advance(11_000)
  const lease = await store.claim(session.id)
  const before = await session.messages()
  counted.commits.length = 0
  waiting.open()
  await until("the old writer has stopped", () => scene.stemma.status(session.id).type === "idle")
  expect(counted.commits).toEqual([])
  expect(await session.messages()).toEqual(before)
  expect(scene.model.requests).toHaveLength(1)

  // The new holder writes under its own fence and answers the prompt that waits here.
  const open = before[1]!
  if (open.message.role !== "assistant") throw new Error("not an answer")
  const { sessionID, ...message } = open.message
  const [tool] = partsOf(before, "tool")
  const { sessionID: _s, messageID, ...part } = tool!
  const time = { start: 1, end: 2 }
  const state = { status: "error" as const, input: {}, error: "interrupted", time }
  await store.commit({
    fences: { [sessionID]: lease.fence },
    ops: [
      { op: "part.put", sessionID, messageID, part: { ...part, state } },
      {
        op: "part.put",
        sessionID,
        messageID,
        part: { id: "prt_new", type: "text", text: "The new writer's answer." },
      },
      { op: "message.seal", sessionID, messageID, message: { ...message, finish: "stop" } },
    ],
  })
  await store.release(lease)
  expect((await run).text).toBe("The new writer's answer.")
  await assertValid(session)
})

test("a holder that cannot renew its lease stops by its own clock, before another process may write", async () => {
  await using store = await openStore({ driver: "memory" })
  const counted = counting(store)
  const waiting = gate()
  await using scene = await runScene({
    // With the 2 s margin, this short lease ends before the tool is released.
    store: storeWith(counted.store, {
      claim: async (sessionID) => ({ ...(await store.claim(sessionID)), durationMs: 2400 }),
    }),
    tools: [waiting.tool],
    script: [{ calls: [{ tool: "gate", input: {} }] }, { text: "Not said." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  run.then(
    () => {},
    () => {},
  )
  await until("the tool runs", () => waiting.ran() === 1)
  await new Promise((resolve) => setTimeout(resolve, 500))
  counted.commits.length = 0
  waiting.open()
  await until("it has stopped", () => scene.stemma.status(session.id).type === "idle")
  expect(counted.commits).toEqual([])
  expect(scene.model.requests).toHaveLength(1)
})

test("a lease is renewed during its run, and released at its end", async () => {
  await using store = await openStore({ driver: "memory" })
  const waiting = gate()
  let renewed = 0
  await using scene = await runScene({
    store: storeWith(store, {
      renew: async (lease) => {
        const next = await store.renew(lease)
        renewed++
        return next
      },
    }),
    tools: [waiting.tool],
    script: [{ calls: [{ tool: "gate", input: {} }] }, { text: "Done." }],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it was renewed", () => renewed > 0)
  await expect(store.claim(session.id)).rejects.toMatchObject({ code: "conflict" })
  waiting.open()
  expect((await run).text).toBe("Done.")
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  await store.release(await store.claim(session.id))
})

test("any process may admit: prompts of other processes are taken by the lease holder", async () => {
  const waiting = gate()
  await using scene = await runScene({
    tools: [waiting.tool],
    script: [{ calls: [{ tool: "gate", input: {} }] }, { text: "Both." }],
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const here = session.prompt("From here")
  await until("the tool runs", () => waiting.ran() === 1)
  const there = (await other.sessions.get(session.id)).prompt("From there")
  await there.admitted
  waiting.open()
  expect([(await here).text, (await there).text]).toEqual(["Both.", "Both."])
  expect(scene.model.requests).toHaveLength(2)
  expect(JSON.stringify(scene.model.requests[1]!.messages)).toContain("From there")
})
