import { expect, test } from "vitest"
import { z } from "zod"
import { type ModelEvent, openStore, type SessionHandle, StemmaError, type Tool } from "../../src/index.ts"
import { assertValid, partsOf, type RunScene, runScene, until } from "../support/run-scene.ts"

const forever = <T>() => new Promise<T>(() => {})

function tool(name: string, fields: Partial<Tool>): Tool {
  return {
    name,
    description: "A tool of the test.",
    input: z.object({}),
    replay: "never",
    writes: false,
    wants: async () => [],
    execute: async () => ({ title: name, output: name }),
    ...fields,
  }
}

const asking = tool("asking", { wants: async () => [{ permission: "thing", patterns: ["a"] }] })
const callOf = (name: string) => ({ calls: [{ tool: name, input: {} }] })

/** Aborts a waiting session. Fails unless the run soon ends as aborted, with a valid history. */
async function abortEnds(scene: RunScene, session: SessionHandle, run: PromiseLike<unknown>): Promise<void> {
  expect(scene.stemma.status(session.id).type).not.toBe("idle")
  await session.abort("Enough.")
  const late = new Promise((resolve) => setTimeout(resolve, 5000, "late").unref())
  expect(await Promise.race([run, late])).toMatchObject({
    message: { finish: "aborted" },
    error: { name: "MessageAbortedError", data: { message: "Enough." } },
  })
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  expect(await session.questions()).toEqual([])
  await assertValid(session)
  scene.model.add({ text: "Here again." })
  expect((await session.prompt("And now?", { model: "scripted/m" })).text).toBe("Here again.")
}

test("an abort ends the wait for a person and closes the question", async () => {
  await using scene = await runScene({ tools: [asking], interactive: true, script: [callOf("asking")] })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  const [question] = await session.questions()
  await abortEnds(scene, session, run)
  await expect(
    scene.stemma.permissions.reply(session.id, question!.id, { reply: "once" }),
  ).rejects.toMatchObject({ code: "conflict" })
})

test("closing twice ends the wait for a person", async () => {
  await using scene = await runScene({ tools: [asking], interactive: true, script: [callOf("asking")] })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  const closing = scene.stemma.close()
  await scene.stemma.close()
  await closing
  expect((await run).message).toMatchObject({ finish: "interrupted" })
})

test("an abort ends the budget question", async () => {
  await using scene = await runScene({
    interactive: true,
    price: { input: 1, output: 1 },
    script: [
      { text: "Dear.", usage: { input: 1e6, output: 1e6, reasoning: 0, cache: { read: 0, write: 0 } } },
    ],
  })
  const session = await scene.stemma.sessions.create({ budget: 1 })
  await session.prompt("Go")
  const run = session.prompt("More")
  await until("it is asked", async () => (await session.questions()).length === 1)
  await session.abort("Enough.")
  expect((await run).message.finish).toBe("aborted")
  expect(await session.questions()).toEqual([])
})

test("an abort ends the doom-loop question", async () => {
  await using scene = await runScene({
    tools: [tool("same", {})],
    interactive: true,
    script: [callOf("same"), callOf("same"), callOf("same")],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is asked", async () => (await session.questions()).length === 1)
  expect(await session.questions()).toMatchObject([{ permission: "doom_loop" }])
  await abortEnds(scene, session, run)
})

test.each<[string, Partial<Tool>]>([
  ["that never ends", { execute: forever }],
  ["whose wishes never come", { wants: forever }],
  ["that never says whether it writes", { writes: forever }],
])("an abort ends the wait for a tool %s", async (_, stuck) => {
  let isCalled = false
  const watched: Partial<Tool> = {
    ...stuck,
    wants: (input, context) => {
      isCalled = true
      return stuck.wants ? stuck.wants(input, context) : Promise.resolve([])
    },
  }
  await using scene = await runScene({
    tools: [tool("stuck", watched)],
    timing: { toolGraceMs: 20 },
    script: [callOf("stuck")],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("it is called", () => isCalled)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await abortEnds(scene, session, run)
  expect(partsOf(await session.messages(), "tool")[0]!.state).toMatchObject({
    status: "error",
    error: expect.stringContaining("aborted"),
  })
})

/** A custom model that ignores its abort signal. */
function deafModel(stream: () => AsyncIterable<ModelEvent>) {
  return { ref: { providerID: "deaf", modelID: "m" }, limit: { context: 0, output: 0 }, stream }
}

test("an abort ends the wait for a model that ignores its signal, and keeps its text", async () => {
  await using scene = await runScene({
    models: {
      deaf: () =>
        deafModel(async function* () {
          yield { type: "text-start", id: "t" }
          yield { type: "text-delta", id: "t", text: "Half an answer." }
          await forever()
        }),
    },
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go", { model: "deaf/m" })
  await until("it speaks", async () => (await session.text()).includes("Half"))
  await session.abort("Enough.")
  const late = new Promise((resolve) => setTimeout(resolve, 5000, "late").unref())
  expect(await Promise.race([run, late])).toMatchObject({
    message: { finish: "aborted" },
    text: "Half an answer.",
  })
})

test("a prompt that waits for a run in another process is rejected when its own process is closed", async () => {
  await using scene = await runScene({
    tools: [tool("stuck", { execute: forever })],
    timing: { toolGraceMs: 20 },
    script: [callOf("stuck")],
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the tool runs", async () => {
    return partsOf(await session.messages(), "tool")[0]?.state.status === "running"
  })
  const waiting = (await other.sessions.get(session.id)).prompt("Me too", { delivery: "queue" })
  await waiting.admitted
  // By now this process has seen that another process holds the session.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const closing = other.close()
  await other.close()
  await closing
  await expect(waiting).rejects.toMatchObject({ code: "unavailable" })
  expect((await scene.stemma.store.inbox(session.id)).map(({ type }) => type)).toEqual(["prompt"])
  await session.abort()
  expect((await run).message.finish).toBe("aborted")
})

test("a prompt that was admitted just before its process is closed gets an answer or an error, and is kept", async () => {
  await using scene = await runScene({ script: [{ text: "Later." }] })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await run.admitted
  const closing = scene.stemma.close()
  await scene.stemma.close()
  await closing
  const late = new Promise((resolve) => setTimeout(resolve, 5000, "late").unref())
  const told = await Promise.race([run.then(({ message }) => message.finish), late]).catch((error) => error)
  expect(told).toSatisfy((value) => value === "interrupted" || StemmaError.is(value, "unavailable"))
  const [waiting, { items }] = await Promise.all([
    other.store.inbox(session.id),
    other.store.history(session.id, {}),
  ])
  expect(waiting.length + items.length).toBeGreaterThan(0)
})

test.each<[string, (given: { scene: RunScene; parentID: string; childID: string }) => Promise<unknown>]>([
  ["what it runs", ({ scene, childID }) => scene.stemma.sessions.remove(childID)],
  ["what its children run", ({ scene, parentID }) => scene.stemma.sessions.remove(parentID)],
  ["what another process runs", async ({ scene, childID }) => (await scene.again()).sessions.remove(childID)],
])("removing a session stops %s at once", async (_, remove) => {
  let stoppedAt = 0
  const listening = tool("listening", {
    execute: (_input, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          stoppedAt = performance.now()
          reject(signal.reason)
        })
      }),
  })
  await using scene = await runScene({ tools: [listening], script: [callOf("listening")] })
  const parent = await scene.stemma.sessions.create()
  const child = await scene.stemma.sessions.create({ parentID: parent.id })
  const run = child.prompt("Go")
  const ended = run.then(
    ({ message }) => message.finish,
    (error: unknown) => (StemmaError.is(error) ? error.code : error),
  )
  await until("the tool runs", async () => {
    return partsOf(await child.messages(), "tool")[0]?.state.status === "running"
  })
  const before = performance.now()
  await remove({ scene, parentID: parent.id, childID: child.id })
  await until("the tool is stopped", () => stoppedAt > 0)
  // Without the notification, the run would notice the removal at the next renewal of its lease, after 3 s.
  expect(stoppedAt - before).toBeLessThan(2000)
  expect(["aborted", "not_found"]).toContain(await ended)
})

test("a change of a session that is busy in another process is refused after a timeout", async () => {
  await using store = await openStore({ driver: "memory" })
  await using scene = await runScene({ store })
  const session = await scene.stemma.sessions.create()
  const lease = await store.claim(session.id)
  await expect(session.append({ role: "user", text: "A note." })).rejects.toMatchObject({ code: "conflict" })
  await store.release(lease)
  await session.append({ role: "user", text: "A note." })
})

test("the status of a session is busy while it runs, and idle before and after", async () => {
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    script: async () => {
      await gate.promise
      return { text: "Done." }
    },
  })
  const session = await scene.stemma.sessions.create()
  const statuses: string[] = []
  const stop = new AbortController()
  const listening = (async () => {
    for await (const event of session.events({ signal: stop.signal })) {
      if (event.type === "session.status") statuses.push(event.properties.status.type)
    }
  })()
  expect(scene.stemma.status(session.id)).toEqual({ type: "idle" })
  const run = session.prompt("Go")
  await until("it is busy", () => scene.stemma.status(session.id).type === "busy")
  gate.resolve()
  await run
  await until("it is idle", () => scene.stemma.status(session.id).type === "idle")
  await until("both were told", () => statuses.length >= 2)
  expect(statuses).toEqual(["busy", "idle"])
  stop.abort()
  await listening
})
