import { describe, expect, test } from "vitest"
import type { Agent } from "../../config/agents/agent.ts"
import { Config } from "../../config/files/schema.ts"
import { tailTokensOf, windowOf } from "./context-window.ts"

function window(
  limit: { context: number; output: number },
  options: { threshold?: number; agentThreshold?: number } = {},
) {
  const { threshold, agentThreshold } = options
  const agent: Agent = {
    name: "build",
    mode: "primary",
    hidden: false,
    builtIn: true,
    tools: {},
    permission: [],
    ...(agentThreshold !== undefined && { compaction: { threshold: agentThreshold } }),
  }
  const config = Config.parse(threshold === undefined ? {} : { compaction: { threshold } })
  return windowOf({ model: { limit }, agent, config })
}

describe("the usable window", () => {
  test("is the context window without the output limit, of which at most 32,000 tokens count", () => {
    expect(window({ context: 200_000, output: 8_000 }).usable).toBe(192_000)
    expect(window({ context: 200_000, output: 64_000 }).usable).toBe(168_000)
    expect(window({ context: 200_000, output: 0 }).usable).toBe(168_000)
  })

  test("is at least half of the context window, even if the output limit is as large as the window", () => {
    expect(window({ context: 8_000, output: 8_000 }).usable).toBe(4_000)
    expect(window({ context: 8_000, output: 0 }).usable).toBe(4_000)
  })

  test("is infinite if the model's window is unknown", () => {
    const unknown = window({ context: 0, output: 0 })
    expect(unknown).toMatchObject({ context: 0, usable: Number.POSITIVE_INFINITY })
    expect(unknown.limit).toBe(Number.POSITIVE_INFINITY)
  })
})

describe("the limit above which room is made", () => {
  test("is the threshold of the agent, else that of the config", () => {
    const limit = { context: 200_000, output: 8_000 }
    expect(window(limit).limit).toBe(192_000)
    expect(window(limit, { threshold: 80_000 }).limit).toBe(80_000)
    expect(window(limit, { threshold: 80_000, agentThreshold: 40_000 }).limit).toBe(40_000)
    expect(window({ context: 0, output: 0 }, { threshold: 80_000 }).limit).toBe(80_000)
  })

  test("is at most the usable window, even if the threshold is higher", () => {
    expect(window({ context: 50_000, output: 10_000 }, { threshold: 80_000 }).limit).toBe(40_000)
  })
})

test("a compaction keeps a quarter of the limit, between 2,000 and 15,000 tokens", () => {
  const tail = (limit: number) => tailTokensOf({ context: limit, usable: limit, limit })
  expect([4_000, 20_000, 60_000, 1_000_000].map(tail)).toEqual([2_000, 5_000, 15_000, 15_000])
  expect(tail(Number.POSITIVE_INFINITY)).toBe(15_000)
})
