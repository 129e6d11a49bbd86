import { describe, expect, test } from "vitest"
import { faultScene, isDelta, packages, statuses } from "../support/fault-scene.ts"
import type { StreamFault } from "../support/model-server/server.ts"
import { until } from "../support/run-scene.ts"

/** Long enough for a busy machine to answer in between. */
const idleTimeoutMs = 1_500

describe.concurrent.each(packages)("%s", (npm) => {
  // OpenAI's own chat completions have no reasoning.
  const showsReasoning = npm !== "@ai-sdk/openai"

  test.each<[string, StreamFault, boolean]>([
    ["before the headers", { fault: "stall", beforeHeaders: true }, false],
    ["before the first token", { fault: "stall", afterDeltas: 0 }, false],
    ["after the first tokens", { fault: "stall", text: "These words are lost." }, true],
    ["in the reasoning", { fault: "stall", reasoning: "These thoughts are lost." }, showsReasoning],
    [
      "in a call",
      {
        fault: "stall",
        afterDeltas: 3,
        calls: [{ tool: "write", input: { filePath: "lost.txt", content: "x" } }],
      },
      true,
    ],
  ])("a stall %s ends by the idle timeout, and the call is retried", async (_, stall, isSeen) => {
    await using scene = await faultScene(npm, {
      answers: [stall, { text: "Awake again." }],
      config: { idleTimeoutMs },
    })
    const asked = scene.ask("Hello")
    const reply = await asked.reply
    expect({ text: reply.text, error: reply.error }).toEqual({ text: "Awake again.", error: undefined })
    expect(scene.server.requests).toHaveLength(2)
    await until("the silent connection is closed", () => scene.server.requests[0]!.aborted)
    expect(statuses(asked).map(({ type }) => type)).toEqual(["busy", "retry", "busy", "idle"])
    const retries = await scene.retries()
    expect(retries[0]!.time.created - reply.message.time.created).toBeGreaterThanOrEqual(idleTimeoutMs - 5)
    expect(retries).toMatchObject([
      {
        attempt: 1,
        error: { name: "APIError", data: { message: "Nothing came from faulty/m1 for 1.5 s." } },
      },
    ])
    const lost = asked.events.filter(({ event }) => isDelta(event)).map(({ event }) => JSON.stringify(event))
    expect(lost.some((event) => /These|lost\.txt/.test(event))).toBe(isSeen)
    expect(JSON.stringify(await scene.session.messages())).not.toMatch(/These|lost/)
    expect(JSON.stringify(asked.replica.parts)).not.toMatch(/These|lost/)
    await scene.settled()
  })

  test("a stall of the last attempt ends with an error that names it", async () => {
    const stall: StreamFault = { fault: "stall", text: "Some words." }
    await using scene = await faultScene(npm, {
      answers: [stall],
      config: { idleTimeoutMs },
      timing: { retriesMax: 0 },
    })
    const reply = await scene.ask("Hello").reply
    expect(reply.error).toMatchObject({ name: "APIError", data: { isRetryable: true } })
    expect(reply.error?.data.message).toMatch(/^Nothing came from faulty\/m1 for 1\.5 s/)
    expect(scene.server.requests).toHaveLength(1)
    expect(await scene.retries()).toEqual([])
    await scene.settled()
  })

  test("a slow stream is no stall, even if it takes long in all", async () => {
    await using scene = await faultScene(npm, {
      answers: [{ fault: "slow", text: "a b c d e f g h i j", tokenDelayMs: 250 }],
      config: { idleTimeoutMs },
    })
    const before = Date.now()
    const reply = await scene.ask("Hello").reply
    expect(Date.now() - before).toBeGreaterThan(idleTimeoutMs)
    expect(reply.text).toBe("a b c d e f g h i j")
    expect(scene.server.requests).toHaveLength(1)
    expect(await scene.retries()).toEqual([])
    await scene.settled()
  })

  test("an abort ends a stall at once and keeps the text so far", async () => {
    await using scene = await faultScene(npm, { answers: [{ fault: "stall", text: "Some words." }] })
    const asked = scene.ask("Hello")
    await asked.first(isDelta)
    await scene.session.abort()
    const reply = await asked.reply
    expect(reply.message.finish).toBe("aborted")
    expect(reply.error?.name).toBe("MessageAbortedError")
    expect(reply.text).toMatch(/^Some/)
    expect(await scene.retries()).toEqual([])
    await until("the connection is closed", () => scene.server.requests[0]!.aborted)
    await scene.settled()
  })
})
