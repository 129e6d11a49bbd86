import { access } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { expectPaid, good, usage } from "../support/fault-checks.ts"
import { sentResults } from "../support/fault-request.ts"
import { faultScene, isDelta, packages } from "../support/fault-scene.ts"
import { signature } from "../support/model-server/server.ts"
import { partsOf, until } from "../support/run-scene.ts"

describe.each(packages)("%s", (npm) => {
  test("tool calls that were streamed before the connection broke do not run", async () => {
    const write = (filePath: string) => ({
      tool: "write",
      id: "call_same",
      input: { filePath, content: "x" },
    })
    await using scene = await faultScene(npm, {
      answers: [
        { fault: "reset-after", afterDeltas: 99, calls: [write("lost.txt")], usage },
        { fault: "truncated", afterDeltas: 99, calls: [write("lost.txt")], usage },
        { calls: [write("kept.txt")], usage },
        good,
      ],
    })
    expect((await scene.ask("Write").reply).text).toBe("A good answer.")
    await access(join(scene.run.directory, "kept.txt"))
    await expect(access(join(scene.run.directory, "lost.txt"))).rejects.toThrow()
    const calls = partsOf(await scene.session.messages(), "tool")
    expect(calls).toMatchObject([{ callID: "call_same", state: { status: "completed" } }])
    expect(sentResults(scene.server.requests.at(-1)!)).toHaveLength(1)
    await expectPaid(scene, 2)
    await scene.settled()
  })

  test("tool calls that were streamed in the last attempt do not run either", async () => {
    const calls = [{ tool: "write", input: { filePath: "lost.txt", content: "x" } }]
    await using scene = await faultScene(npm, {
      answers: [{ fault: "reset-after", afterDeltas: 99, text: "Writing.", calls }],
      timing: { retriesMax: 0 },
    })
    const reply = await scene.ask("Write").reply
    expect(reply.error?.name).toBe("APIError")
    await expect(access(join(scene.run.directory, "lost.txt"))).rejects.toThrow()
    await scene.settled()
  })

  test("an abort during the stream keeps the text so far and closes the connection", async () => {
    await using scene = await faultScene(npm, {
      answers: [{ text: Array.from({ length: 400 }, (_, n) => `word${n} `), tokenDelayMs: 10 }],
    })
    const asked = scene.ask("Hello")
    await asked.first(isDelta)
    await scene.session.abort("enough")
    const reply = await asked.reply
    expect(reply.message.finish).toBe("aborted")
    expect(reply.error).toEqual({
      name: "MessageAbortedError",
      message: "enough",
      data: { message: "enough" },
    })
    expect(reply.text).toMatch(/^word0 /)
    expect(await scene.retries()).toEqual([])
    await until("the connection is closed", () => scene.server.requests[0]!.aborted)
    await scene.settled()
    expect(JSON.stringify(scene.server.requests.at(-1)!.body.messages)).toContain("word0 ")
  })

  test("an abort while a tool call is streamed settles the call as aborted", async () => {
    const input = { filePath: "lost.txt", content: "x".repeat(4000) }
    await using scene = await faultScene(npm, {
      answers: [
        {
          reasoning: "I write.",
          text: "Writing.",
          calls: [{ tool: "write", input, id: "call_w" }],
          chunk: 20,
          tokenDelayMs: 10,
        },
      ],
    })
    const asked = scene.ask("Write")
    await asked.first((event) => event.type === "message.part.delta" && event.properties.field === "raw")
    await scene.session.abort()
    expect((await asked.reply).message.finish).toBe("aborted")
    expect(partsOf(await scene.session.messages(), "tool")).toMatchObject([
      { callID: "call_w", state: { status: "error", error: expect.stringMatching(/^aborted: /) } },
    ])
    await expect(access(join(scene.run.directory, "lost.txt"))).rejects.toThrow()
    await scene.settled()
    const last = scene.server.requests.at(-1)!
    expect(sentResults(last)).toMatchObject([{ id: "call_w", text: expect.stringContaining("aborted: ") }])
    if (npm !== "@ai-sdk/anthropic") return
    // Reasoning is sent back unchanged: the provider refuses a tool call without the reasoning before it.
    expect(last.body.messages[1]).toMatchObject({
      role: "assistant",
      content: [
        { type: "thinking", thinking: "I write.", signature },
        { type: "text" },
        { type: "tool_use", id: "call_w" },
      ],
    })
  })

  test("bad JSON, an unknown tool and wrong input become results that the model sees, and the run continues", async () => {
    await using scene = await faultScene(npm, {
      files: { "a.txt": "alpha\n" },
      answers: [
        {
          calls: [
            { tool: "read", input: '{"filePath": "a.txt', id: "call_bad" },
            { tool: "no_such_tool", input: { a: 1 }, id: "call_unknown" },
            { tool: "read", input: { filePath: 7 }, id: "call_wrong" },
            { tool: "read", input: "[1]", id: "call_list" },
            { tool: "read", input: { filePath: "a.txt" }, id: "call_good" },
          ],
        },
        { calls: [{ tool: "read", input: { filePath: "a.txt" }, id: "call_mended" }] },
        { text: "It says alpha." },
      ],
    })
    const reply = await scene.ask("Read").reply
    expect(reply).toMatchObject({ text: "It says alpha.", message: { finish: "stop" } })
    expect(await scene.retries()).toEqual([])
    const sent = sentResults(scene.server.requests[1]!)
    expect(sent.map(({ id, text }) => [id, text])).toEqual([
      ["call_bad", expect.stringMatching(/not a JSON object/)],
      ["call_unknown", expect.stringMatching(/There is no tool no_such_tool.*read/s)],
      ["call_wrong", expect.stringMatching(/filePath/)],
      ["call_list", expect.stringMatching(/not a JSON object/)],
      ["call_good", expect.stringMatching(/alpha/)],
    ])
    if (npm === "@ai-sdk/anthropic") {
      expect(sent.map(({ isError }) => isError ?? false)).toEqual([true, true, true, true, false])
    }
    await scene.settled()
  })

  test("a tool call that was cut at the output limit becomes a result that the model sees", async () => {
    const call = { tool: "write", input: '{"filePath":"lost.txt","content":"xx', id: "call_cut" }
    await using scene = await faultScene(npm, {
      answers: [{ calls: [call], finish: "length" }, { text: "I see." }],
    })
    expect((await scene.ask("Write").reply).text).toBe("I see.")
    expect(sentResults(scene.server.requests[1]!)).toMatchObject([{ id: "call_cut" }])
    await expect(access(join(scene.run.directory, "lost.txt"))).rejects.toThrow()
    await scene.settled()
  })

  test("tool calls with the same id each get their own result", async () => {
    const read = (filePath: string) => ({ tool: "read", input: { filePath }, id: "call_same" })
    await using scene = await faultScene(npm, {
      files: { "a.txt": "alpha\n", "b.txt": "beta\n" },
      answers: [{ calls: [read("a.txt"), read("b.txt")] }, { calls: [read("b.txt")] }, { text: "Both." }],
    })
    expect((await scene.ask("Read").reply).text).toBe("Both.")
    expect(sentResults(scene.server.requests.at(-1)!).map(({ text }) => text)).toEqual([
      expect.stringContaining("alpha"),
      expect.stringContaining("beta"),
      expect.stringContaining("beta"),
    ])
    await scene.settled()
  })
})
