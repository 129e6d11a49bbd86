import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createID, openStore, type StemmaEvent } from "../../src/index.ts"
import { type Child, startChild } from "../support/child-process.ts"
import type { RunGo, RunLine } from "../support/children/run-child.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { promptTexts, runAnswer } from "../support/run/answers.ts"
import { expectGoodPeers } from "../support/run/expect-peers.ts"
import { historyProblems, ranCalls } from "../support/run/history-problems.ts"
import { runPeers } from "../support/run/peers.ts"
import { makeShared, openShared, type SharedScene, sharedPaths } from "../support/run/scene.ts"
import { storeWith } from "../support/run/store-with.ts"
import { until } from "../support/run-scene.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("two processes")

it("two processes prompt, rename, abort and answer in one session at the same time", {
  timeout: 120_000,
}, async () => {
  await using directory = await temporaryDirectory()
  const report = await runPeers({ directory: directory.path, seed, own: 8, shared: 4 })
  expectGoodPeers(report)
})

describe("a process that waits for an answer while the other process dies", () => {
  it.each([
    { recover: true, finish: "stop" },
    { recover: false, finish: "interrupted" },
  ])("takes over the answer of the dead process: recover $recover", async ({ recover, finish }) => {
    await using here = await besideAnother({ recover })
    const { session, other } = here
    const promptID = createID("message", Date.now())
    const waiting = session.prompt("work 2", { messageID: promptID, delivery: "queue" })
    await until("the other process answers this one's prompt", async () => {
      const last = (await session.messages({ last: 1 }))[0]
      const isIt = last?.message.role === "assistant" && last.message.parentID === promptID
      return isIt && last.parts.some((part) => part.type === "text" && part.text !== "")
    })
    other.process.kill("SIGKILL")
    const killedAt = performance.now()
    const reply = await waiting
    expect(reply.message).toMatchObject({ finish, parentID: promptID })
    // A lease expires after 10 s; the lease of a dead holder is taken immediately.
    expect(performance.now() - killedAt).toBeLessThan(5000)
    expect(await here.problems()).toEqual([])
    expect((await session.prompt("say hello")).text).toBe("answer to say hello")
  })

  it("answers its own prompt, which the dead process had not taken", async () => {
    await using here = await besideAnother({ recover: false, text: "slow 1" })
    const { session, other } = here
    const waiting = session.prompt("say mine", { delivery: "queue" })
    await waiting.admitted
    other.process.kill("SIGKILL")
    const killedAt = performance.now()
    expect((await waiting).text).toBe("answer to say mine")
    expect(performance.now() - killedAt).toBeLessThan(5000)
    const finishes = (await session.messages()).map(({ message }) => "finish" in message && message.finish)
    expect(finishes).toEqual([false, "interrupted", false, "stop"])
    expect(await here.problems()).toEqual([])
  })
})

it("a process that closes while another process holds the session rejects its waiting prompt, and the prompt stays admitted", async () => {
  await using here = await besideAnother({ recover: false, text: "slow 1" })
  const { stemma, session, other } = here
  const messageID = createID("message", Date.now())
  const waiting = session.prompt("say later", { messageID, delivery: "queue" })
  await waiting.admitted
  const closing = stemma.close()
  await stemma.close()
  await closing
  await expect(waiting).rejects.toMatchObject({ code: "unavailable" })
  const replied = () => here.lines().some((line) => "event" in line && isEndOf(line.event, messageID))
  await until("the other process has answered it", replied)
  expect(other.process.signalCode).toBeNull()
})

it("two processes that prompt alternately each send the model the other's messages", async () => {
  await using directory = await temporaryDirectory()
  await using server = await startModelServer({ fallback: runAnswer })
  const scene: SharedScene = { root: directory.path, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  await using one = await openShared(scene)
  await using other = await openShared(scene)
  const { id } = await one.sessions.create()
  const said: string[] = []
  for (let turn = 0; turn < 8; turn++) {
    said.push(`say ${turn}`)
    const session = await (turn % 2 === 0 ? one : other).sessions.get(id)
    expect((await session.prompt(said.at(-1)!)).text).toBe(`answer to say ${turn}`)
    expect(promptTexts(server.requests.at(-1)!.body)).toEqual(said)
  }
})

it("an abort that arrives while a run is being opened ends the run of its prompt", async () => {
  await using directory = await temporaryDirectory()
  await using server = await startModelServer({ fallback: runAnswer })
  const scene: SharedScene = { root: directory.path, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  await using store = await openStore({ path: sharedPaths(scene).database })
  const opening = Promise.withResolvers<void>()
  const slow = storeWith(store, {
    permissions: async (query) => {
      opening.resolve()
      await new Promise((resolve) => setTimeout(resolve, 100))
      return store.permissions(query)
    },
  })
  await using stemma = await openShared(scene, { store: slow })
  const session = await stemma.sessions.create()
  const waiting = session.prompt("slow 1")
  await opening.promise
  await session.abort("not that")
  expect((await waiting).message).toMatchObject({
    finish: "aborted",
    error: { data: { message: "not that" } },
  })
  expect((await session.prompt("say hello")).text).toBe("answer to say hello")
})

function isEndOf(event: StemmaEvent, promptID: string): boolean {
  if (event.type !== "message.updated" || event.properties.info.role !== "assistant") return false
  const { parentID, finish, time } = event.properties.info
  return parentID === promptID && finish === "stop" && time.completed !== undefined
}

/** This process with an open Stemma, and another process that answers a prompt in the same session. */
async function besideAnother({ recover, text = "work 1" }: { recover: boolean; text?: string }) {
  const stack = new AsyncDisposableStack()
  const directory = stack.use(await temporaryDirectory())
  const server = stack.use(await startModelServer({ fallback: runAnswer }))
  const scene: SharedScene = { root: directory.path, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  const stemma = stack.use(await openShared(scene, { recover }))
  const session = await stemma.sessions.create()
  const other: Child = stack.use(startChild("run-child.ts", { output: join(directory.path, "other") }))
  await other.ready
  const prompts = [{ messageID: createID("message", Date.now()), text }]
  other.process.send({ scene, sessionID: session.id, prompts, recover: false } satisfies RunGo)
  await until("the other process answers", async () => (await session.messages()).length === 2)
  return {
    stemma,
    session,
    other,
    lines: () => other.lines<RunLine>(),
    problems: async () => {
      const ran = ranCalls(sharedPaths(scene).ran)
      const { problems } = await stemma.store.check()
      const found = historyProblems(await session.messages(), { session: await session.info(), ran })
      return [...found, ...problems]
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
