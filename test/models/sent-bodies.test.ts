import { expect, test } from "vitest"
import { fromLanguageModel } from "../../src/models/adapter/adapter.ts"
import { SentBodies } from "../../src/models/adapter/sent-bodies.ts"
import type { Model } from "../../src/models/model.ts"
import { connect } from "../../src/models/provider/connect.ts"
import type { ContextMessage } from "../../src/session/index.ts"
import { randomFrom, testSeed } from "../support/seed.ts"
import { request, userText } from "./ask.ts"

const packages = ["@ai-sdk/openai-compatible", "@ai-sdk/openai"] as const
const words = [
  "plain",
  'with "quotes"',
  "back\\slash",
  "中文",
  "🙂 emoji",
  "line\nbreak",
  "\u2028",
  "{}",
  "],[",
]

/** A model whose requests are recorded and never answered. */
async function captured(npm: (typeof packages)[number], options: { whole?: boolean } = {}) {
  const bodies: string[] = []
  const { bodies: sent, ...connected } = await connect({
    npm,
    providerID: "p",
    modelID: "m1",
    baseURL: "http://127.0.0.1:9/v1",
    isOfficial: false,
    apiKey: "key",
    headers: {},
    options: {},
    asksForUsage: true,
    fetch: async (_, init) => {
      bodies.push(Buffer.from(init!.body as string).toString("utf8"))
      throw new TypeError("fetch failed")
    },
  })
  const model = fromLanguageModel({
    ...connected,
    ...(!options.whole && { bodies: sent! }),
    ref: { providerID: "p", modelID: "m1" },
    limit: { context: 0, output: 0 },
    mask: (text) => text,
  })
  return { model, bodies }
}

async function send(model: Model, messages: readonly ContextMessage[]): Promise<void> {
  const readFile = async (url: string) => Buffer.from(`bytes of ${url}`)
  const ask = async () => {
    for await (const _ of model.stream(request({ messages, readFile }))) throw new Error("It was answered.")
  }
  await expect(ask()).rejects.toMatchObject({ kind: "network" })
}

function turn(random: () => number, at: number): ContextMessage[] {
  const text = () =>
    `${at} ${words[Math.floor(random() * words.length)]} ${words[Math.floor(random() * words.length)]}`
  const messages: ContextMessage[] = [userText(text())]
  if (random() < 0.01) {
    messages[0]!.content.push({ type: "file", mime: "image/png", url: `blob:${at}` } as never)
  }
  if (random() < 0.3) {
    const callID = `call_${at}`
    messages.push(
      { role: "assistant", content: [{ type: "tool-call", callID, tool: "read", input: { path: text() } }] },
      {
        role: "tool",
        content: [{ type: "tool-result", callID, tool: "read", isError: random() < 0.2, output: text() }],
      },
    )
  }
  messages.push({ role: "assistant", content: [{ type: "text", text: text() }] })
  return messages
}

test.each(packages)(
  "a body for %s that reuses serialised messages equals a body that is serialised as a whole",
  async (npm) => {
    const { seed } = testSeed(npm)
    const random = randomFrom(seed)
    const kept = await captured(npm)
    const whole = await captured(npm, { whole: true })
    const conversations: ContextMessage[][] = [[], [], []]
    for (let at = 0; at < 240; at++) {
      const index = Math.floor(random() * 3)
      // Sometimes the last messages are removed, sometimes all but the last.
      if (random() < 0.05) conversations[index]!.splice(-Math.ceil(random() * 6))
      if (random() < 0.02) conversations[index] = conversations[index]!.slice(-60)
      conversations[index]!.push(...turn(random, at))
      const messages = [...conversations[index]!]
      await send(kept.model, messages)
      await send(whole.model, messages)
      expect(kept.bodies.at(-1), `seed ${seed}, request ${at}`).toBe(whole.bodies.at(-1))
    }
    expect(Math.max(...kept.bodies.map((body) => JSON.parse(body).messages.length))).toBeGreaterThan(100)
  },
)

test("a package that serialises messages differently gets whole messages from the next attempt on", async () => {
  const conversation = Array.from({ length: 60 }, (_, at) => userText(`message ${at}`))
  const bodies = new SentBodies()
  const sent: string[] = []
  const model = fromLanguageModel({
    api: "openai-chat",
    namespace: "openai",
    bodies,
    model: {
      async doStream({ prompt }: { prompt: unknown }) {
        const written = bodies.complete(JSON.stringify({ input: prompt }))
        sent.push(Buffer.from(written).toString("utf8"))
        throw new TypeError("fetch failed")
      },
    } as never,
    ref: { providerID: "p", modelID: "m1" },
    limit: { context: 0, output: 0 },
    mask: (text) => text,
  })
  await send(model, conversation)
  expect(sent).toEqual([])
  await send(model, conversation)
  expect(sent).toHaveLength(1)
  for (let at = 0; at < 60; at++) expect(sent[0]).toContain(`"message ${at}"`)
})
