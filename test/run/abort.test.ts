import { expect, test } from "vitest"
import { z } from "zod"
import type { Tool } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

const stuck: Tool = {
  name: "stuck",
  description: "Never ends.",
  input: z.object({}),
  replay: "never",
  writes: false,
  wants: async () => [],
  execute: () => new Promise(() => {}),
}

test("an abort keeps the text so far, ends the answer as aborted, and the next prompt works", async () => {
  const words = Array.from({ length: 1000 }, (_, index) => `word${index} `)
  await using scene = await runScene({ script: [{ text: words, deltaDelayMs: 5 }, { text: "Here again." }] })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Talk")
  for await (const event of run) {
    if (event.type === "message.part.delta" && event.properties.offset > 20) await session.abort("Enough.")
  }
  const reply = await run
  expect(reply.message).toMatchObject({ finish: "aborted", error: { name: "MessageAbortedError" } })
  expect(reply.text.startsWith("word0 word1 ")).toBe(true)
  expect(reply.text.length).toBeLessThan(5000)
  expect((await session.prompt("Still there?")).text).toBe("Here again.")
  await assertValid(session)
})

test("after an abort running tools get 250 ms, then their calls are settled as aborted", async () => {
  await using scene = await runScene({
    tools: [stuck],
    files: { "a.txt": "a" },
    script: [
      {
        calls: [
          { tool: "read", input: { filePath: "a.txt" } },
          { tool: "stuck", input: {} },
        ],
      },
      { text: "Here again." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  let abortedAt = 0
  const statuses = new Map<string, string>()
  for await (const event of run) {
    const part = event.type === "message.part.updated" ? event.properties.part : undefined
    if (part?.type !== "tool" || abortedAt > 0) continue
    statuses.set(part.tool, part.state.status)
    if (statuses.get("stuck") === "running" && statuses.get("read") === "completed") {
      abortedAt = performance.now()
      await session.abort()
    }
  }
  expect(performance.now() - abortedAt).toBeGreaterThan(240)
  const states = partsOf(await session.messages(), "tool").map(({ state }) => state)
  expect(states.map(({ status }) => status)).toEqual(["completed", "error"])
  expect(states[1]).toMatchObject({ error: expect.stringContaining("aborted") })
  expect((await run).message.finish).toBe("aborted")
  await session.prompt("Next")
  const shown = scene.model.requests[1]!.messages
  expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"])
  await assertValid(session)
})

test("an abort right after a prompt aborts that prompt", async () => {
  // The abort may come before or after the model is asked.
  await using scene = await runScene({
    script: (request) =>
      JSON.stringify(request.messages).includes("And now?")
        ? { text: "Next." }
        : { text: "Too late.", delayMs: 5000 },
  })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await run.admitted
  await session.abort()
  expect((await run).message.finish).toBe("aborted")
  expect((await session.prompt("And now?")).text).toBe("Next.")
})

test("an abort of an idle session does nothing, now and later", async () => {
  await using scene = await runScene({ script: [{ text: "One." }, { text: "Two." }] })
  const session = await scene.stemma.sessions.create()
  await session.abort()
  expect((await session.prompt("Go")).text).toBe("One.")
  await session.abort()
  expect((await session.prompt("Go")).text).toBe("Two.")
})

test("an abort in another process reaches the run", async () => {
  await using scene = await runScene({ script: [{ text: "Slow.", delayMs: 20_000 }] })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the model is asked", () => scene.model.requests.length === 1)
  await (await other.sessions.get(session.id)).abort("From elsewhere.")
  expect((await run).error).toMatchObject({
    name: "MessageAbortedError",
    data: { message: "From elsewhere." },
  })
})

test("a queued prompt is answered after the one before it was aborted", async () => {
  await using scene = await runScene({
    script: [{ text: "Slow.", delayMs: 20_000 }, { text: "Queued answer." }],
  })
  const session = await scene.stemma.sessions.create()
  const first = session.prompt("First")
  await until("the model is asked", () => scene.model.requests.length === 1)
  const second = session.prompt("Second", { delivery: "queue" })
  await second.admitted
  await session.abort()
  expect((await first).message.finish).toBe("aborted")
  expect((await second).text).toBe("Queued answer.")
})

test("the first close waits for the run; the second one interrupts it, and the next process can continue", async () => {
  await using scene = await runScene({ script: [{ text: "Slow.", delayMs: 20_000 }, { text: "Gone on." }] })
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  await until("the model is asked", () => scene.model.requests.length === 1)
  const closing = scene.stemma.close()
  await expect(session.prompt("More")).rejects.toMatchObject({ code: "unavailable" })
  await scene.stemma.close()
  await closing
  expect((await run).message).toMatchObject({ finish: "interrupted", error: { name: "InterruptedError" } })
  const next = await scene.again({ recover: true })
  const again = await next.sessions.get(session.id)
  await until("the run went on", async () => (await again.text()).includes("Gone on."))
})
