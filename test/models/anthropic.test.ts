import { afterAll, expect, test } from "vitest"
import type { ContextMessage } from "../../src/session/index.ts"
import { signature, startModelServer } from "../support/model-server/server.ts"
import { events, modelAt, userText } from "./ask.ts"

const server = await startModelServer()
afterAll(() => server.close())

const lastBody = () => server.requests.at(-1)!.body
const claude = (id = "claude-test") => modelAt(server.baseURL, "@ai-sdk/anthropic", { id })

test("the signature of reasoning arrives with its end and is sent back unchanged", async () => {
  const model = await claude()
  server.script({ reasoning: "Let me think.", text: "Done." })
  const all = await events(model)
  const end = all.find((event) => event.type === "reasoning-end")!
  expect(end.metadata).toEqual({ anthropic: { signature } })
  const messages: ContextMessage[] = [
    userText("hello"),
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "Let me think.", metadata: end.metadata! },
        { type: "text", text: "Done." },
      ],
    },
    userText("more"),
  ]
  await events(model, { messages })
  expect(lastBody().messages[1]!.content).toEqual([
    { type: "thinking", thinking: "Let me think.", signature },
    { type: "text", text: "Done." },
  ])
})

test("the last system text and the last two user-side messages have a cache mark", async () => {
  const model = await claude()
  const call = { type: "tool-call", callID: "c1", tool: "read", input: {} } as const
  const result = {
    type: "tool-result",
    callID: "c1",
    tool: "read",
    isError: true,
    output: "no such file",
  } as const
  const messages: ContextMessage[] = [
    userText("first"),
    { role: "assistant", content: [{ type: "text", text: "ok" }] },
    userText("second"),
    { role: "assistant", content: [call] },
    { role: "tool", content: [result] },
  ]
  const marked = () => {
    const { system, messages } = lastBody() as unknown as {
      system: { text: string; cache_control?: object }[]
      messages: { content: { text?: string; type: string; cache_control?: object }[] }[]
    }
    return {
      system: system.map((text) => text.cache_control !== undefined),
      messages: messages.map(({ content }) => content.some((part) => part.cache_control !== undefined)),
    }
  }
  await events(model, { system: ["stable", "today"], messages })
  expect(marked()).toEqual({ system: [false, true], messages: [false, false, true, false, true] })
  expect(JSON.stringify(lastBody().messages)).toContain('"is_error":true')

  const longer: ContextMessage[] = [
    ...messages,
    { role: "assistant", content: [{ type: "text", text: "ok" }] },
    userText("third"),
  ]
  await events(model, { system: ["stable", "today"], messages: longer })
  expect(marked().messages).toEqual([false, false, false, false, true, false, true])
})

test("a variant becomes an effort if the model supports it, otherwise a budget", async () => {
  await events(await claude("claude-opus-4-6"), { variant: "low" })
  expect(lastBody()).toMatchObject({ thinking: { type: "adaptive" }, output_config: { effort: "low" } })
  await events(await claude("claude-sonnet-4-5"), { variant: "high" })
  expect(lastBody()).toMatchObject({ thinking: { type: "enabled" } })
  await events(await claude("claude-sonnet-4-5"), { variant: "2000" })
  expect(lastBody()).toMatchObject({ thinking: { type: "enabled", budget_tokens: 2000 } })
})

test("tokens written to the cache are counted separately", async () => {
  server.script({ text: "ok", usage: { input: 1, output: 2, reasoning: 0, cache: { read: 3, write: 4 } } })
  expect((await events(await claude())).at(-1)).toMatchObject({
    usage: { input: 1, output: 2, reasoning: 0, cache: { read: 3, write: 4 } },
  })
})
