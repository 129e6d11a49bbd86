import { describe, expect, test } from "vitest"
import { expectPaid, faultAfterWords, good, usage } from "../support/fault-checks.ts"
import { faultScene, key, packages, traces } from "../support/fault-scene.ts"
import { until } from "../support/run-scene.ts"

describe.each(packages)("%s", (npm) => {
  test("an unknown finish reason ends the answer and keeps its text", async () => {
    await using scene = await faultScene(npm, {
      answers: [{ fault: "unknown-finish", text: "All of it.", usage }],
    })
    const reply = await scene.ask("Hello").reply
    expect(reply).toMatchObject({ text: "All of it.", message: { finish: "other" } })
    expect(reply.error).toBeUndefined()
    expect(scene.server.requests).toHaveLength(1)
    expect(await scene.retries()).toEqual([])
    await expectPaid(scene, 1)
    await scene.settled()
  })

  test("the finish reason tool-calls without a call ends the answer", async () => {
    await using scene = await faultScene(npm, {
      answers: [{ text: "No call.", finish: "tool-calls", usage }],
    })
    const reply = await scene.ask("Hello").reply
    expect(scene.server.requests).toHaveLength(1)
    expect(reply).toMatchObject({ text: "No call.", message: { finish: "other" } })
    await scene.settled()
  })

  test("a context that is too long is not retried, and the error says so", async () => {
    await using scene = await faultScene(npm, { answers: [{ fault: "context-length" }] })
    const reply = await scene.ask("Hello").reply
    expect(reply.error?.name).toBe("ContextOverflowError")
    expect(reply.error?.data.message).toMatch(/^The context is too long for faulty\/m1: \S/)
    expect(reply.message.finish).toBe("error")
    expect(scene.server.requests).toHaveLength(1)
    expect(await scene.retries()).toEqual([])
    await scene.settled()
  })

  test("a refused request is not retried, and the error has the reason", async () => {
    await using scene = await faultScene(npm, { answers: [{ fault: "status", status: 404 }] })
    const reply = await scene.ask("Hello").reply
    expect(reply.error).toMatchObject({ name: "APIError", data: { statusCode: 404, isRetryable: false } })
    expect(reply.error?.data.message).toMatch(/^faulty refused the request \(404\): \S/)
    expect(reply.error?.data.message).not.toContain("tried")
    expect(scene.server.requests).toHaveLength(1)
    await scene.settled()
  })

  test("the text of a last attempt that breaks off is kept once", async () => {
    await using scene = await faultScene(npm, {
      answers: [faultAfterWords("reset-after"), faultAfterWords("reset-after")],
      timing: { retriesMax: 1 },
    })
    const reply = await scene.ask("Hello").reply
    expect(reply.error).toMatchObject({ name: "APIError", data: { isRetryable: true } })
    expect(JSON.stringify(await scene.session.messages()).split("Those").length).toBeLessThanOrEqual(2)
    expect((await scene.session.info()).tokens).toMatchObject({ input: 0, output: 0 })
    await scene.settled()
  })

  test("a wrong key is not retried, and the key is stored nowhere", async () => {
    const repeated = {
      headers: { "x-request-id": key },
      body: { error: { type: "x", message: `Wrong key ${key}, header: Bearer ${key}`, param: { key } } },
    }
    await using scene = await faultScene(npm, {
      answers: [
        { fault: "status", status: 500, ...repeated },
        { fault: "status", status: 401, ...repeated },
        { fault: "status", status: 500, body: `${"x".repeat(480)} ${key}` },
        { fault: "status", status: 403, ...repeated },
      ],
    })
    const asked = [scene.ask("Hello")]
    const reply = await asked[0]!.reply
    expect(reply.error).toMatchObject({ name: "ProviderAuthError", data: { providerID: "faulty" } })
    expect(reply.error?.data.message).toContain("faulty did not accept the key (401, see provider.faulty")
    expect(scene.server.requests).toHaveLength(2)
    asked.push(scene.ask("And now?"))
    expect((await asked[1]!.reply).error?.name).toBe("ProviderAuthError")
    expect(scene.server.requests).toHaveLength(4)
    for (const { headers } of scene.server.requests) expect(JSON.stringify(headers)).toContain(key)
    await scene.settled()
    const found = await traces(scene, asked)
    expect([...found.keys()].join()).toContain("stemma.db")
    for (const [where, text] of found) expect(text.includes(key), where).toBe(false)
  })

  test("a failed title does not fail the run or reveal the key", async () => {
    const body = { error: { type: "x", message: `Wrong key ${key}` } }
    await using scene = await faultScene(npm, {
      config: { title: true },
      answers: [good, { fault: "status", status: 401, body }],
    })
    const asked = scene.ask("Hello")
    expect((await asked.reply).text).toBe("A good answer.")
    await until("the title is asked for", () => scene.server.requests.length === 2)
    await scene.run.stemma.close()
    const found = await traces(scene, [asked])
    for (const [where, text] of found) expect(text.includes(key), where).toBe(false)
  })
})
