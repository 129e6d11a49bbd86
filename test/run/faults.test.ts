import { describe, expect, test } from "vitest"
import { expectLost, expectPaid, faultAfterWords, good, usage } from "../support/fault-checks.ts"
import { sentResults } from "../support/fault-request.ts"
import { faultScene, packages, statuses } from "../support/fault-scene.ts"
import type { Answer, FaultName } from "../support/model-server/server.ts"
import { partsOf } from "../support/run-scene.ts"

const status = (status: number, body?: object | string): Answer => ({
  fault: "status",
  status,
  ...(body !== undefined && { body }),
})
const atOnce = (fault: FaultName): Answer => faultAfterWords(fault, { afterDeltas: 0 })

/** Failures that may pass, with their error messages. */
const passing: [name: string, fault: Answer, said: RegExp][] = [
  ["an answer of 500", status(500), /^faulty failed \(500\): \S/],
  ["an answer of 503", status(503), /^faulty failed \(503\): \S/],
  ["an answer of 529", status(529), /^faulty failed \(529\): \S/],
  ["a page of HTML with 502", status(502, "<html>Bad gateway"), /^faulty failed \(502\): \S/],
  ["a reset before the headers", atOnce("reset-before"), /^The connection to faulty failed: /],
  ["a reset before the first token", atOnce("reset-after"), /^The connection to faulty failed: /],
  ["a stream cut before the first token", atOnce("truncated"), /was cut off before its end\.$/],
  ["broken JSON before the first token", atOnce("malformed"), /^The answer of faulty\/m1 made no sense: /],
  ["an error in the stream before the first token", atOnce("error-event"), /^faulty failed \(5\d\d\): \S/],
  ["an empty answer", { fault: "empty" }, /^The answer of faulty\/m1 was empty\.$/],
  ["an empty answer that ends for calls", { finish: "tool-calls" }, /^The answer of faulty\/m1 was empty\.$/],
  ["an answer that is no stream", status(200, { error: "no" }), /^The answer of faulty\/m1 was /],
]

const passingLater: typeof passing = [
  ["a reset", faultAfterWords("reset-after"), /^The connection to faulty failed: /],
  ["a stream cut in the middle", faultAfterWords("truncated"), /was cut off before its end\.$/],
  [
    "a stream cut before its finish",
    faultAfterWords("truncated", { afterDeltas: 99 }),
    /was cut off before its/,
  ],
  ["broken JSON", faultAfterWords("malformed"), /^The answer of faulty\/m1 made no sense: /],
  ["an error in the stream", faultAfterWords("error-event"), /^faulty failed \(5\d\d\): \S/],
]

describe.each(packages)("%s", (npm) => {
  test.each([
    ...passing.map((one) => [...one, { wasSeen: false }] as const),
    ...passingLater.map(
      ([name, ...one]) => [`${name} after the first token`, ...one, { wasSeen: true }] as const,
    ),
  ])(
    "%s is retried: its text is removed and its tokens are not counted",
    async (_, fault, said, { wasSeen }) => {
      await using scene = await faultScene(npm, { answers: [fault, good] })
      const asked = scene.ask("Hello")
      const reply = await asked.reply
      expect({ text: reply.text, error: reply.error }).toEqual({ text: "A good answer.", error: undefined })
      expect(reply.message).toMatchObject({ finish: "stop", tokens: usage })
      expect(reply.parts.map(({ type }) => type)).toEqual(["step-start", "retry", "text", "step-finish"])
      expect(scene.server.requests).toHaveLength(2)
      expect(scene.server.requests[1]!.body).toEqual(scene.server.requests[0]!.body)
      const retry = (await scene.retries())[0]!
      expect(retry).toMatchObject({ attempt: 1, error: { name: "APIError", data: { isRetryable: true } } })
      expect(retry.error.data.message).toMatch(said)
      const seen = statuses(asked)
      expect(seen.map(({ type }) => type)).toEqual(["busy", "retry", "busy", "idle"])
      expect(seen[1]).toMatchObject({ attempt: 1, message: retry.error.data.message })
      await expectLost(scene, asked, { wasSeen })
      await expectPaid(scene, 1)
      await scene.settled()
    },
  )

  test("each failed attempt leaves one retry part, in order", async () => {
    await using scene = await faultScene(npm, {
      answers: [
        status(529),
        faultAfterWords("reset-after"),
        faultAfterWords("truncated", { reasoning: "Those thoughts too.", afterDeltas: 5 }),
        good,
      ],
    })
    const asked = scene.ask("Hello")
    const reply = await asked.reply
    expect(reply.text).toBe("A good answer.")
    expect(reply.parts.slice(1, -2)).toMatchObject([
      { type: "retry", attempt: 1 },
      { type: "retry", attempt: 2 },
      { type: "retry", attempt: 3 },
    ])
    expect(reply.parts.slice(-2).map(({ type }) => type)).toEqual(["text", "step-finish"])
    await expectLost(scene, asked, { wasSeen: true })
    await expectPaid(scene, 1)
    await scene.settled()
  })

  test("a failure after a tool call does not repeat the call", async () => {
    await using scene = await faultScene(npm, {
      files: { "a.txt": "alpha\n" },
      answers: [
        { text: "Looking.", calls: [{ tool: "read", input: { filePath: "a.txt" }, id: "call_a" }], usage },
        faultAfterWords("reset-after"),
        status(503),
        good,
      ],
    })
    const asked = scene.ask("Look")
    expect((await asked.reply).text).toBe("A good answer.")
    const items = await scene.session.messages()
    expect(items).toHaveLength(3)
    expect(partsOf(items.slice(0, 2), "retry")).toEqual([])
    expect(partsOf(items.slice(2), "retry").map(({ attempt }) => attempt)).toEqual([1, 2])
    for (const request of scene.server.requests.slice(1)) {
      expect(sentResults(request)).toMatchObject([{ id: "call_a", text: expect.stringContaining("alpha") }])
    }
    await expectLost(scene, asked, { wasSeen: true })
    await expectPaid(scene, 2)
    await scene.settled()
  })

  test("a refused connection is retried, then reported", async () => {
    await using scene = await faultScene(npm, { timing: { retriesMax: 1 } })
    await scene.server.close()
    const reply = await scene.ask("Hello").reply
    expect(await scene.retries()).toHaveLength(1)
    expect(reply.error).toMatchObject({ name: "APIError", data: { isRetryable: true } })
    expect(reply.error?.data.message).toMatch(
      /^The connection to faulty failed: .*ECONNREFUSED.* tried 2 times/,
    )
  })
})
