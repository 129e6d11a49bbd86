import { join } from "node:path"
import { expect, it } from "vitest"
import { createID, openStore, type PermissionRequest, type Store } from "../../src/index.ts"
import { startChild } from "../support/child-process.ts"
import type { RunGo, RunLine } from "../support/children/run-child.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { pairProblems, runAnswer } from "../support/run/answers.ts"
import { type RunCrashReport, runCrashLane } from "../support/run/crash-lane.ts"
import { historyProblems, ranCalls, toolParts } from "../support/run/history-problems.ts"
import { recoveriesMax } from "../support/run/left-behind.ts"
import { makeShared, openShared, sharedPaths } from "../support/run/scene.ts"
import { storeWith } from "../support/run/store-with.ts"
import { until } from "../support/run-scene.ts"
import { testSeed } from "../support/seed.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

const { seed } = testSeed("run crash")

/** `test/soak/run-crash.test.ts` runs more of these. */
const lanes = [
  { what: "at any moment, with snapshots", snapshots: true, by: "time", kills: 8, offset: 0 },
  { what: "at any moment, without snapshots", snapshots: false, by: "time", kills: 8, offset: 1 },
  { what: "between two commits", snapshots: true, by: "commit", kills: 4, offset: 2 },
] as const

it.concurrent.each(lanes)(
  "an answer survives the kill of its process, again and again: $what",
  { timeout: 300_000 },
  async ({ kills, snapshots, by, what, offset }) => {
    await using directory = await temporaryDirectory()
    const options = { kills, seed: seed + offset, snapshots, by }
    const report = await runCrashLane({ directory: directory.path, ...options })
    process.stdout.write(`${what}: ${JSON.stringify(report, undefined, 2)}\n`)
    expectGood(report, kills)
  },
)

function expectGood(report: RunCrashReport, kills: number): void {
  expect(report.kills).toBe(kills)
  expect(report.starved).toBeLessThanOrEqual(Math.max(2, kills / 4))
  // A lease expires after 10 s; the lease of a dead holder is taken immediately.
  expect(report.takeoverMaxMs).toBeLessThan(5000)
}

it("a repeatable call that kills its process is retried a limited number of times", async () => {
  await using directory = await temporaryDirectory()
  await using server = await startModelServer({ fallback: runAnswer })
  const scene = { root: directory.path, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  const sessionID = createID("session", Date.now())
  const prompts = [{ messageID: createID("message", Date.now()), text: "die" }]
  const answer = (number: number) => {
    const child = startChild("run-child.ts", {
      output: join(directory.path, `child-${number}`),
    })
    const go: RunGo = { scene, sessionID, prompts, recover: true }
    child.ready.then(
      () => child.process.send(go),
      () => {},
    )
    return child
  }
  for (let death = 0; death <= recoveriesMax; death++) {
    await using child = answer(death)
    expect(await child.ended).toMatchObject({ signal: "SIGKILL" })
  }
  await using last = answer(recoveriesMax + 1)
  const replied = () => last.lines<RunLine>().find((line) => "replied" in line)
  const isGone = () => last.process.signalCode !== null
  await until("it is answered, or dies once more", () => replied() !== undefined || isGone())
  expect(replied()).toMatchObject({ finish: "interrupted" })
  last.process.kill()
  await last.ended
  await using stemma = await openShared(scene)
  const session = await stemma.sessions.get(sessionID)
  expect((await session.prompt("say hello")).text).toBe("answer to say hello")
  const items = await session.messages()
  const ran = ranCalls(sharedPaths(scene).ran)
  expect(ran).toHaveLength(1 + recoveriesMax)
  expect(historyProblems(items, { session: await session.info(), ran })).toEqual([])
  expect(toolParts(items)).toMatchObject([{ tool: "die", state: { status: "error" } }])
  expect(server.requests.flatMap(({ body }) => pairProblems(body))).toEqual([])
})

it("a question survives its process, and an answer that arrives during the takeover is used", async () => {
  await using left = await questionOfDeadProcess()
  const { scene, store, prompt, question } = left
  // The next process reads the open questions late, so that the answer is stored before it reads them.
  const slow = storeWith(store, {
    permissions: async (query) => {
      if (query.open) await new Promise((resolve) => setTimeout(resolve, 200))
      return store.permissions(query)
    },
  })
  await using stemma = await openShared(scene, { store: slow, recover: true, interactive: true })
  const session = await stemma.sessions.get(question.sessionID)
  const reply = session.prompt(prompt.text, { messageID: prompt.messageID, delivery: "queue" })
  await stemma.permissions.reply(question.sessionID, question.id, { reply: "once" })
  expect((await reply).text).toBe("granted 1")
  await left.expectGranted()
})

it("an answer that is being stored while the next process asks the same question again is used", async () => {
  await using left = await questionOfDeadProcess()
  const { scene, store, prompt, question } = left
  const storing = Promise.withResolvers<void>()
  const slow = storeWith(store, {
    commit: async (commit) => {
      // The takeover waits here until the answer is about to be stored, which then takes longer than asking again.
      if (commit.ops.some((op) => op.op === "part.put" && op.part.type === "retry")) {
        await stemma.permissions.reply(question.sessionID, question.id, { reply: "once" })
        await storing.promise
      }
      if (commit.ops.some((op) => op.op === "permission.put" && op.request.reply === "once")) {
        storing.resolve()
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
      return store.commit(commit)
    },
  })
  await using stemma = await openShared(scene, { store: slow, recover: true, interactive: true })
  const session = await stemma.sessions.get(question.sessionID)
  const reply = session.prompt(prompt.text, { messageID: prompt.messageID, delivery: "queue" })
  expect((await reply).text).toBe("granted 1")
  await left.expectGranted()
})

/** A process that was killed while its question was open, and the store that it left. */
async function questionOfDeadProcess() {
  const stack = new AsyncDisposableStack()
  const directory = stack.use(await temporaryDirectory())
  const server = stack.use(await startModelServer({ fallback: runAnswer }))
  const scene = { root: directory.path, baseURL: server.baseURL, snapshots: false }
  await makeShared(scene)
  const sessionID = createID("session", Date.now())
  const prompt = { messageID: createID("message", Date.now()), text: "wish 1" }
  const store = stack.use(await openStore({ path: sharedPaths(scene).database }))
  const child = stack.use(startChild("run-child.ts", { output: join(directory.path, "child") }))
  await child.ready
  const go: RunGo = { scene, sessionID, prompts: [prompt], recover: false, interactive: true }
  child.process.send(go)
  await until("the question is asked", async () => (await questions(store, sessionID)).length === 1)
  child.process.kill("SIGKILL")
  await child.ended
  const [question] = await questions(store, sessionID)
  return {
    scene,
    store,
    prompt,
    question: question!,
    async expectGranted() {
      expect(ranCalls(sharedPaths(scene).ran)).toMatchObject([{ tool: "wish" }])
      expect(await store.permissions({ sessionID })).toMatchObject([{ id: question!.id, reply: "once" }])
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function questions(store: Store, sessionID: string): Promise<PermissionRequest[]> {
  return store.permissions({ sessionID, open: true }).catch(() => [])
}
