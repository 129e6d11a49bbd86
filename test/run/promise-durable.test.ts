import { expect, test } from "vitest"
import { z } from "zod"
import type { Tool } from "../../src/index.ts"
import { partsOf, runScene, until } from "../support/run-scene.ts"

test("once `admitted` resolves, another process sees the prompt", async () => {
  await using scene = await runScene({ script: () => ({ text: "Fine.", delayMs: 50 }) })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  for (let n = 0; n < 5; n++) {
    const run = session.prompt(`Prompt ${n}`)
    await run.admitted
    const id = await run.messageID
    const [waiting, { items }] = await Promise.all([
      other.store.inbox(session.id),
      other.store.history(session.id, { limit: 10 }),
    ])
    const ids = [...waiting.map((item) => item.id), ...items.map(({ message }) => message.id)]
    expect(ids).toContain(id)
    await run
  }
})

test("once a prompt's reply resolves, another process sees the whole sealed answer", async () => {
  await using scene = await runScene({ script: (_, n) => ({ text: `Answer ${n}.` }) })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  for (let n = 0; n < 5; n++) {
    const reply = await session.prompt("Go")
    const { items } = await other.store.history(session.id, { limit: 1 })
    expect(items[0]).toMatchObject({ sealed: true, message: { id: reply.message.id, finish: "stop" } })
    expect(partsOf(items, "text")[0]!.text).toBe(`Answer ${n}.`)
  }
})

test("streamed text and printed output are in the store while the model and the tool pause", async () => {
  const told = Promise.withResolvers<void>()
  const heard = Promise.withResolvers<void>()
  const chatty: Tool = {
    name: "chatty",
    description: "Prints and waits.",
    input: z.object({}),
    replay: "never",
    writes: false,
    wants: async () => [],
    async execute(_, context) {
      context.print("Half of the output.")
      await heard.promise
      return { title: "chatty", output: "" }
    },
  }
  await using scene = await runScene({
    tools: [chatty],
    models: {
      pausing: () => ({
        ref: { providerID: "pausing", modelID: "m" },
        limit: { context: 0, output: 0 },
        async *stream({ messages }) {
          if (messages.length > 1) {
            yield { type: "finish", reason: "stop" }
            return
          }
          yield { type: "reasoning-start", id: "r" }
          yield { type: "reasoning-delta", id: "r", text: "Half a thought." }
          yield { type: "text-start", id: "t" }
          yield { type: "text-delta", id: "t", text: "Half an answer." }
          yield { type: "tool-input-start", id: "c", tool: "chatty" }
          yield { type: "tool-input-delta", id: "c", text: '{"half": ' }
          await told.promise
          yield { type: "tool-call", id: "c", tool: "chatty", input: "{}" }
          yield { type: "finish", reason: "tool-calls" }
        },
      }),
    },
    config: { model: "pausing/m" },
  })
  const other = await scene.again()
  const session = await scene.stemma.sessions.create()
  const run = session.prompt("Go")
  const stored = async (text: string) => {
    const { items } = await other.store.history(session.id, { limit: 1 })
    return JSON.stringify(items).includes(JSON.stringify(text).slice(1, -1))
  }
  for (const text of ["Half a thought.", "Half an answer.", '{"half": ']) {
    await until(`${text} is stored`, () => stored(text))
  }
  told.resolve()
  await until("the output is stored", () => stored("Half of the output."))
  heard.resolve()
  expect((await run).message.finish).toBe("stop")
})
