import { expect, test } from "vitest"
import type { SessionHandle, StemmaEvent } from "../../src/index.ts"
import { type RunSceneOptions, runScene, until } from "../support/run-scene.ts"

async function events(of: AsyncIterable<StemmaEvent>): Promise<StemmaEvent[]> {
  const given: StemmaEvent[] = []
  for await (const event of of) given.push(event)
  return given
}

/** The types of events, with the status and the role where they matter. */
function told(given: readonly StemmaEvent[]): string[] {
  return given.map((event) => {
    if (event.type === "session.status") return `status ${event.properties.status.type}`
    if (event.type === "message.updated") return `message ${event.properties.info.role}`
    return event.type
  })
}

function expectOwnRun(given: readonly StemmaEvent[]): void {
  const types = told(given)
  expect(types.filter((type) => type === "session.idle")).toHaveLength(1)
  expect(types.slice(-2)).toEqual(["status idle", "session.idle"])
  expect(types.indexOf("message user")).toBeGreaterThanOrEqual(0)
  expect(types.indexOf("message user")).toBeLessThan(types.indexOf("message assistant"))
}

const options: RunSceneOptions = {
  git: true,
  files: { "a.txt": "a\n" },
  script: ({ messages }, n) =>
    n % 2 === 0 && messages.at(-1)?.role === "user"
      ? { calls: [{ tool: "write", input: { filePath: "a.txt", content: `${n}\n` } }] }
      : { text: `Answer ${n}.` },
}

test("an iteration over a prompt ends with the session.idle of its own run and has none of an earlier run", async () => {
  await using scene = await runScene(options)
  const session = await scene.stemma.sessions.create()
  for (let turn = 0; turn < 6; turn++) {
    // The reply resolves before the session is idle, so the next prompt hears of the end of this run.
    if (turn % 2 === 0) await session.prompt("First")
    const run = session.prompt("Go")
    expectOwnRun(await events(run))
    expect((await run).text).toMatch(/^Answer/)
  }
}, 60_000)

test("an iteration that begins after the prompt was admitted ends with session.idle too", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done.", delayMs: 500 }) })
  const session = await scene.stemma.sessions.create()
  for (let turn = 0; turn < 3; turn++) {
    const run = session.prompt("Go")
    await run.admitted
    expect(told(await events(run)).slice(-2)).toEqual(["status idle", "session.idle"])
  }
}, 60_000)

test("iterations over prompts of one run end one after the other, the last with session.idle", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.`, delayMs: 500 }) })
  const session = await scene.stemma.sessions.create()
  const runs = ["One", "Two", "Three"].map((text) => session.prompt(text, { delivery: "queue" }))
  const all = await Promise.all(runs.map(events))
  expect(all.map((given) => told(given).filter((type) => type === "session.idle").length)).toEqual([0, 0, 1])
  const text = (run: (typeof runs)[number]) => run.then((reply) => reply.text)
  expect(await Promise.all(runs.map(text))).toEqual(["Answer 0.", "Answer 1.", "Answer 2."])
}, 60_000)

test("an iteration over a prompt that another process answers ends with the answer", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.`, delayMs: 300 }) })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const elsewhere: SessionHandle = await other.sessions.get(session.id)
  const first = elsewhere.prompt("First")
  await first.admitted
  await until("the other process runs it", () => scene.model.requests.length === 1)
  const startedMs = performance.now()
  const given = await events(session.prompt("Second", { delivery: "queue" }))
  expect(performance.now() - startedMs).toBeLessThan(4500)
  expect(told(given)).toContain("message assistant")
  await first
}, 60_000)

test("an iterator that is never advanced keeps no timer, and can still be read for a while", async () => {
  await using scene = await runScene({ script: () => ({ text: "Done." }) })
  const session = await scene.stemma.sessions.create()
  await session.prompt("Warm up")
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length
  await until("the session is idle", () => scene.stemma.status(session.id).type === "idle")
  const before = timers()
  const run = session.prompt("Go")
  const iterator = run[Symbol.asyncIterator]()
  await run
  await until("no timer is left", () => timers() <= before)
  expectOwnRun(await events({ [Symbol.asyncIterator]: () => iterator }))
  await until("no timer is left", () => timers() <= before)
}, 20_000)
