import { expect, test } from "vitest"
import type { StemmaEvent } from "../../src/index.ts"
import { assertValid, partsOf, runScene, until } from "../support/run-scene.ts"

test("awaiting a prompt gives its reply", async () => {
  await using scene = await runScene({ script: [{ text: "Good day." }] })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Hello")
  expect(reply.text).toBe("Good day.")
  expect(reply.error).toBeUndefined()
  expect(reply.message).toMatchObject({
    role: "assistant",
    finish: "stop",
    providerID: "scripted",
    modelID: "m",
  })
  expect(await session.transcript()).toBe("[USER] Hello\n[ASSISTANT] Good day.")
})

test("iterating over a prompt gives the events until its reply, and their text is that of the reply", async () => {
  const words = Array.from({ length: 40 }, (_, index) => `word${index} `)
  await using scene = await runScene({ script: [{ text: words, deltaDelayMs: 2 }] })
  const session = await scene.stemma.sessions.create()
  const texts = new Map<string, string>()
  const types = new Set<StemmaEvent["type"]>()
  const run = session.prompt("Hello")
  for await (const event of run) {
    types.add(event.type)
    if (event.type === "message.part.updated" && event.properties.part.type === "text") {
      texts.set(event.properties.part.id, event.properties.part.text)
    }
    if (event.type === "message.part.delta") {
      const { partID, offset, delta } = event.properties
      const known = texts.get(partID) ?? ""
      expect(offset).toBe(known.length)
      texts.set(partID, known + delta)
    }
  }
  const reply = await run
  expect([...texts.values()]).toEqual(["Hello", words.join("")])
  expect(reply.text).toBe(words.join(""))
  expect(types).toContain("message.part.delta")
  expect(types).toContain("session.status")
})

test("the same message id is the same prompt, also after it was answered", async () => {
  await using scene = await runScene({ script: [{ text: "One." }, { text: "Two." }] })
  const session = await scene.stemma.sessions.create()
  const first = await session.prompt("Hello", { messageID: "msg_same" })
  const second = await session.prompt("Hello", { messageID: "msg_same" })
  expect(second.message.id).toBe(first.message.id)
  const events: StemmaEvent[] = []
  for await (const event of session.prompt("Hello", { messageID: "msg_same" })) events.push(event)
  expect(scene.model.requests).toHaveLength(1)
  await expect(session.prompt("Something else", { messageID: "msg_same" })).rejects.toMatchObject({
    code: "conflict",
  })
})

test("prompts that are sent at the same time are answered one after the other, each once", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const session = await scene.stemma.sessions.create()
  const replies = await Promise.all([1, 2, 3, 4, 5].map((n) => session.prompt(`Question ${n}`)))
  expect(new Set(replies.map((reply) => reply.message.id)).size).toBe(5)
  const items = await session.messages()
  expect(items.map(({ message }) => message.role)).toEqual(Array(5).fill(["user", "assistant"]).flat())
  for (const [index, reply] of replies.entries()) expect(reply.text).toBe(`Answer ${index}.`)
})

test("a steering prompt is taken at the next step, a queued one when the turn is over", async () => {
  const gate = Promise.withResolvers<void>()
  await using scene = await runScene({
    files: { "a.txt": "a" },
    script: async (_, n) => {
      if (n === 0) {
        await gate.promise
        return { text: "Looking.", calls: [{ tool: "read", input: { filePath: "a.txt" } }] }
      }
      return { text: `Step ${n}.` }
    },
  })
  const session = await scene.stemma.sessions.create()
  const first = session.prompt("First")
  await until("the model is asked", () => scene.model.requests.length === 1)
  const queued = session.prompt("Queued", { delivery: "queue" })
  await queued.admitted
  const steering = session.prompt("Steering", { delivery: "steer" })
  await steering.admitted
  gate.resolve()
  const replies = await Promise.all([first, steering, queued])
  expect(replies.map(({ text }) => text)).toEqual(["Step 1.", "Step 1.", "Step 2."])
  const roles = (await session.messages()).map(({ message, parts }) =>
    message.role === "user" ? partText(parts) : message.finish,
  )
  expect(roles).toEqual(["First", "tool-calls", "Steering", "stop", "Queued", "stop"])
})

function partText(parts: readonly { type: string; text?: string }[]): string | undefined {
  return parts.find((part) => part.type === "text")?.text
}

test("each step of a tool loop gets the earlier steps in its context", async () => {
  await using scene = await runScene({
    files: { "a.txt": "alpha\n" },
    script: [
      {
        reasoning: "I must look.",
        text: "Looking.",
        calls: [{ tool: "read", input: { filePath: "a.txt" }, id: "c1" }],
      },
      { text: "It says alpha." },
      { text: "Yes." },
    ],
  })
  const session = await scene.stemma.sessions.create()
  await session.prompt("What is in a.txt?")
  await session.prompt("Sure?")
  const shown = scene.model.requests.at(-1)!.messages
  expect(shown.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "user"])
  expect(shown[1]!.content).toMatchObject([
    { type: "reasoning", text: "I must look." },
    { type: "text", text: "Looking." },
    { type: "tool-call", callID: "c1", tool: "read", input: { filePath: "a.txt" } },
  ])
  expect(shown[2]!.content).toMatchObject([{ type: "tool-result", callID: "c1", isError: false }])
  await assertValid(session)
})

test("a prompt with an unknown model or agent ends with an error, and nothing is lost", async () => {
  await using scene = await runScene({ script: [{ text: "Fine." }] })
  const session = await scene.stemma.sessions.create()
  await expect(session.prompt("Hello", { agent: "nobody" })).rejects.toMatchObject({ code: "invalid" })
  const reply = await session.prompt("Hello", { model: "nowhere/m" })
  expect(reply.error?.data.message).toContain("nowhere")
  expect(reply.error?.message).toBe(reply.error?.data.message)
  expect(reply.message.finish).toBe("error")
  expect((await session.prompt("Again")).text).toBe("Fine.")
  await assertValid(session)
})

test.each([
  ["no parts", []],
  ["a part that is no prompt's", [{ type: "step-start" }]],
  ["a part without its fields", [{ type: "file" }]],
])("a prompt with %s is refused", async (_, parts) => {
  await using scene = await runScene()
  const session = await scene.stemma.sessions.create()
  await expect(session.prompt(parts as never)).rejects.toMatchObject({ code: "invalid" })
  expect(await session.messages()).toEqual([])
})

test("text with lone surrogates and NUL, cut anywhere, arrives clean and whole", async () => {
  const deltas = ["a\ud83d", "\ude00b", "\ud800", "c\0d", "\ud83d"]
  await using scene = await runScene({ script: [{ text: deltas }] })
  const session = await scene.stemma.sessions.create()
  const reply = await session.prompt("Hello")
  expect(reply.text).toBe("a😀b\ufffdc\ufffdd\ufffd")
  expect(partsOf(await session.messages(), "text")[1]!.text).toBe(reply.text)
})
