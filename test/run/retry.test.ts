import { describe, expect, test } from "vitest"
import type { StemmaEvent } from "../../src/index.ts"
import {
  type Asked,
  type FaultScene,
  faultScene,
  isRetryStatus,
  packages,
  statuses,
} from "../support/fault-scene.ts"
import type { Answer } from "../support/model-server/server.ts"
import { until } from "../support/run-scene.ts"

const rateLimit = (headers: Record<string, string>): Answer => ({ fault: "status", status: 429, headers })
const failure: Answer = { fault: "status", status: 500 }

/** The delay begins when the provider's response arrives, so two requests are at least that far apart. */
const timerMs = 2
/** On a busy machine the retry may be late, but not as late as with a wrong unit. */
const lateMs = 4_000

/** HTTP dates have whole seconds. */
function secondsFromNow(seconds: number): number {
  return (Math.ceil(Date.now() / 1000) + seconds) * 1000
}

/** The status that a person sees: the reason, and the time of the retry. */
async function expectSeen(scene: FaultScene, asked: Asked, retry: { leastMs: number }): Promise<void> {
  const [part, ...others] = await scene.retries()
  expect(others).toEqual([])
  expect(part).toMatchObject({
    attempt: 1,
    error: { name: "APIError", data: { statusCode: 429, isRetryable: true } },
  })
  const seen = statuses(asked)
  expect(seen.map(({ type }) => type)).toEqual(["busy", "retry", "busy", "idle"])
  const waiting = seen[1]!
  if (waiting.type !== "retry") throw new Error("not a retry")
  expect(waiting).toMatchObject({ attempt: 1, message: expect.stringContaining("429") })
  const { created } = part!.time
  expect(waiting.next - created).toBeGreaterThanOrEqual(retry.leastMs - timerMs)
  expect(waiting.next - created).toBeLessThan(retry.leastMs + lateMs)
  expect(scene.server.requests[1]!.at).toBeGreaterThanOrEqual(waiting.next - timerMs)
  expect(scene.server.requests[1]!.at).toBeLessThan(waiting.next + lateMs)
  const partEvent = asked.events.findIndex(({ event }) => isRetryPart(event))
  expect(partEvent).toBeGreaterThan(-1)
  expect(partEvent).toBeLessThan(asked.events.findIndex(({ event }) => isRetryStatus(event)))
}

function isRetryPart(event: StemmaEvent): boolean {
  return event.type === "message.part.updated" && event.properties.part.type === "retry"
}

describe.concurrent.each(packages)("%s", (npm) => {
  test.each([
    ["milliseconds in retry-after-ms", { "retry-after-ms": "600" }, 600],
    ["seconds in retry-after", { "retry-after": "1" }, 1000],
  ])("%s delay the retry, and subscribers see when it comes", async (_, headers, leastMs) => {
    await using scene = await faultScene(npm, { answers: [rateLimit(headers), { text: "Now." }] })
    const asked = scene.ask("Hello")
    expect((await asked.reply).text).toBe("Now.")
    expect(scene.server.requests).toHaveLength(2)
    expect(scene.waits()[0]).toBeGreaterThanOrEqual(leastMs - timerMs)
    expect(scene.waits()[0]).toBeLessThan(leastMs + lateMs)
    await expectSeen(scene, asked, { leastMs })
    await scene.settled()
  })

  test("a date in retry-after delays the retry, and subscribers see when it comes", async () => {
    let date = 0
    const limited = () => {
      date = secondsFromNow(1)
      return rateLimit({ "retry-after": new Date(date).toUTCString() })
    }
    await using scene = await faultScene(npm, { answers: [limited, { text: "Now." }] })
    const asked = scene.ask("Hello")
    expect((await asked.reply).text).toBe("Now.")
    expect(scene.server.requests).toHaveLength(2)
    expect(scene.server.requests[1]!.at).toBeGreaterThanOrEqual(date - timerMs)
    expect(scene.server.requests[1]!.at).toBeLessThan(date + lateMs)
    const part = (await scene.retries())[0]!
    await expectSeen(scene, asked, { leastMs: date - part.time.created })
    await scene.settled()
  })

  test("without a header the delays double from the base to the maximum", async () => {
    await using scene = await faultScene(npm, {
      answers: [failure, failure, failure, failure, { text: "At last." }],
      timing: { retryBaseMs: 100, retryMaxMs: 250 },
    })
    const asked = scene.ask("Hello")
    expect((await asked.reply).text).toBe("At last.")
    expect((await scene.retries()).map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
    // Jitter makes each delay up to a quarter shorter.
    for (const [index, least] of [75, 150, 187, 187].entries()) {
      expect(scene.waits()[index]).toBeGreaterThanOrEqual(least - timerMs)
      expect(scene.waits()[index]).toBeLessThan(250 + lateMs)
    }
    await scene.settled()
  })

  test("after the last attempt the answer ends with an error that has the reason and the number of attempts", async () => {
    await using scene = await faultScene(npm, {
      answers: [failure, { fault: "status", status: 503 }, { fault: "status", status: 502 }],
      timing: { retriesMax: 2 },
    })
    const reply = await scene.ask("Hello").reply
    expect(scene.server.requests).toHaveLength(3)
    expect(reply.message.finish).toBe("error")
    expect(reply.error).toMatchObject({ name: "APIError", data: { statusCode: 502 } })
    expect(reply.error?.data.message).toMatch(/^faulty failed \(502\): .*3 times/)
    expect((await scene.retries()).map(({ error }) => error.data)).toMatchObject([
      { statusCode: 500 },
      { statusCode: 503 },
    ])
    expect(reply.message).toMatchObject({ cost: 0, tokens: { input: 0, output: 0 } })
    await scene.settled()
  })

  test("a retry-after that is too long is not waited for: the error has the delay", async () => {
    await using scene = await faultScene(npm, {
      answers: [rateLimit({ "retry-after": "5400" })],
      timing: { retryAfterMaxMs: 60_000 },
    })
    const reply = await scene.ask("Hello").reply
    expect(scene.server.requests).toHaveLength(1)
    expect(await scene.retries()).toEqual([])
    expect(reply.error).toMatchObject({ name: "APIError", data: { statusCode: 429 } })
    expect(reply.error?.data.message).toMatch(/90 minutes/)
    await scene.settled()
  })

  test("an abort ends the wait for a retry at once", async () => {
    await using scene = await faultScene(npm, { answers: [rateLimit({ "retry-after": "600" })] })
    const asked = scene.ask("Hello")
    await asked.first(isRetryStatus)
    expect(scene.run.stemma.status(scene.session.id).type).toBe("retry")
    const before = performance.now()
    await scene.session.abort("enough")
    const reply = await asked.reply
    expect(performance.now() - before).toBeLessThan(lateMs)
    expect(reply.message.finish).toBe("aborted")
    expect(reply.error).toEqual({
      name: "MessageAbortedError",
      message: "enough",
      data: { message: "enough" },
    })
    expect(await scene.retries()).toHaveLength(1)
    await until("it is idle", () => scene.run.stemma.status(scene.session.id).type === "idle")
    expect(scene.server.requests).toHaveLength(1)
    await scene.settled()
  })
})

test("closing twice ends the wait for a retry", async () => {
  await using scene = await faultScene("@ai-sdk/openai", { answers: [rateLimit({ "retry-after": "600" })] })
  const asked = scene.ask("Hello")
  await asked.first(isRetryStatus)
  const closing = scene.run.stemma.close()
  await scene.run.stemma.close()
  await closing
  const other = await scene.run.again()
  const session = await other.sessions.get(scene.session.id)
  const [, answer] = await session.messages()
  expect(answer!.message).toMatchObject({ finish: "interrupted", error: { name: "InterruptedError" } })
  expect((await session.prompt("Again")).error).toBeUndefined()
})
