import { describe, expect, test } from "vitest"
import type { HistoryItem, Message, Part, Tokens } from "../../protocol/index.ts"
import { estimateMessageTokens, estimateTokens } from "../../session/index.ts"
import { assistant, completed, history, part, text, tool, user } from "../../session/samples.ts"
import { HistoryMemo } from "./history-memo.ts"
import { correctionOf, estimateSystemTokens, estimateToolTokens, nextSize } from "./next-call-tokens.ts"

const overhead = 1000
const words = (count: number) => "word ".repeat(count)

function counted(id: string, tokens: Partial<Tokens>): Message {
  const message = assistant(id)
  return { ...message, tokens: { ...message.tokens, ...tokens } }
}

function size(
  items: readonly HistoryItem[],
  options: {
    real?: { estimate: number; real: number }
    maxHistory?: number
    prompts?: Parameters<typeof nextSize>[0]["prompts"]
  } = {},
) {
  const memo = new HistoryMemo()
  for (const item of items) memo.add(item)
  if (options.real) memo.lastCounted = options.real
  const shown = options.maxHistory === undefined ? {} : { maxHistory: options.maxHistory }
  return nextSize({ memo, shown, prompts: options.prompts ?? [], overhead: () => overhead })
}

const messages: [Message, ...Part[]][] = [
  [user("msg_a"), text("prt_a", words(100))],
  [assistant("msg_b"), text("prt_b", words(50))],
]

describe("the size of the next call", () => {
  test("is estimated, overhead included, if the provider has counted no call", () => {
    const { tokens, correction } = size(history(...messages))
    expect(correction).toBe(1)
    expect(tokens).toBeGreaterThan(overhead + 150)
    expect(tokens).toBeLessThan(overhead + 180)
  })

  test("is the counted last call with its answer, plus its tool results and later messages", () => {
    const usage = { input: 5000, output: 70, cache: { read: 300, write: 20 } }
    const items = history(
      ...messages,
      [counted("msg_c", usage), text("prt_c", "I look."), tool("prt_d", completed(words(400)))],
      [user("msg_d"), text("prt_e", words(60))],
    )
    const since = estimateTokens(words(400)) + estimateTokens(words(60))
    const { tokens } = size(items)
    expect(tokens).toBeGreaterThanOrEqual(5390 + since)
    expect(tokens).toBeLessThan(5390 + since + 20)
  })

  test("includes reasoning that the provider counted separately, since the next call sends it again", () => {
    const reasoning = part("reasoning", "prt_r", { text: words(500), time: { start: 1 } })
    const apart = history(...messages, [
      counted("msg_c", { input: 5000, output: 10, reasoning: 500 }),
      reasoning,
    ])
    const within = history(...messages, [counted("msg_c", { input: 5000, output: 510 }), reasoning])
    expect(size(apart).tokens).toBeGreaterThanOrEqual(5510)
    expect(size(within).tokens).toBeLessThan(5600)
  })

  test("includes the waiting prompts with their system texts", () => {
    const items = history(...messages, [counted("msg_c", { input: 5000, output: 10 }), text("prt_c", "Yes.")])
    const { sessionID: _, ...message } = { ...user("msg_d"), system: words(30) }
    const prompt = { message, parts: [{ id: "prt_d", type: "text" as const, text: words(200) }] }
    expect(size(items, { prompts: [prompt] }).tokens).toBe(size(items).tokens + estimateMessageTokens(prompt))
  })

  test("is estimated anew after a compaction, and if the history is trimmed", () => {
    const before = [
      ...messages,
      [counted("msg_c", { input: 90_000, output: 10 }), text("prt_c", "Yes.")],
    ] as typeof messages
    const compaction = part("compaction", "prt_d", { auto: true, summary: "Short." })
    const items = history(...before, [{ ...assistant("msg_d"), summary: true }, compaction])
    expect(size(items).tokens).toBeLessThan(overhead + 50)
    expect(size(history(...before), { maxHistory: 50 }).tokens).toBeLessThan(overhead + 300)
  })

  test("is never far below the estimate of the shown messages, since the last call may have been trimmed", () => {
    const items = history(
      [user("msg_a"), text("prt_a", words(40_000))],
      [counted("msg_b", { input: 900, output: 10 }), text("prt_b", "Yes.")],
    )
    expect(size(items).tokens).toBeGreaterThan(25_000)
  })

  test("ignores the tokens of a failed compaction", () => {
    const failed: Message = { ...counted("msg_c", { input: 90_000, output: 10 }), summary: true } as Message
    const items = history(...messages, [failed, part("compaction", "prt_c", { auto: true })])
    expect(size(items).tokens).toBeLessThan(overhead + 300)
  })
})

describe("the provider's count corrects the estimate", () => {
  test("by the ratio of count and estimate", () => {
    const plain = size(history(...messages)).tokens
    const { tokens, correction } = size(history(...messages), { real: { estimate: 1000, real: 1500 } })
    expect(correction).toBe(1.5)
    expect(tokens).toBe(Math.ceil(plain * 1.5))
  })

  test("by a factor between 0.5 and 2, and not at all if a count is zero", () => {
    expect(correctionOf({ estimate: 10, real: 1000 })).toBe(2)
    expect(correctionOf({ estimate: 1000, real: 1 })).toBe(0.5)
    expect(correctionOf({ estimate: 1000, real: 0 })).toBe(1)
    expect(correctionOf({ estimate: 0, real: 5 })).toBe(1)
    expect(correctionOf(undefined)).toBe(1)
  })
})

test("tool descriptions and the system prompt are estimated like text", () => {
  const one = { name: "read", description: words(100), inputSchema: { type: "object" } }
  expect(estimateToolTokens([one])).toBeGreaterThan(100)
  expect(estimateToolTokens([one, one])).toBe(2 * estimateToolTokens([one]))
  expect(estimateSystemTokens([words(10), words(20)])).toBe(
    estimateTokens(words(10)) + estimateTokens(words(20)),
  )
})
