import { describe, expect, test } from "vitest"
import { listedModels, modelFacts } from "./catalog.ts"
import { builtInProviders } from "./providers.ts"

test("an unknown model works: no limit is known and no cost is claimed", async () => {
  expect(await modelFacts({ priceID: "openai", modelID: "nobody-knows", config: undefined })).toEqual({
    limit: { context: 0, output: 0 },
  })
  expect(await modelFacts({ priceID: undefined, modelID: "gpt-5", config: undefined })).toEqual({
    limit: { context: 0, output: 0 },
  })
})

test("limits and prices come from the list, in dollars per million tokens", async () => {
  expect(await modelFacts({ priceID: "openai", modelID: "gpt-5", config: undefined })).toEqual({
    limit: { context: 400_000, output: 0 },
    price: { input: 1.25, output: 10, cache: { read: 0.125, write: 1.25 } },
  })
  const tiered = await modelFacts({ priceID: "anthropic", modelID: "claude-sonnet-4-5", config: undefined })
  expect(tiered.price).toEqual({ input: 3, output: 15, cache: { read: 0.3, write: 3.75 } })
})

test("values of the config win, field by field", async () => {
  const config = { limit: { output: 8192 }, cost: { input: 1, output: 2, cache_read: 0.1 } }
  expect(await modelFacts({ priceID: "openai", modelID: "gpt-5", config })).toEqual({
    limit: { context: 400_000, output: 8192 },
    price: { input: 1, output: 2, cache: { read: 0.1, write: 1 } },
  })
  const free = { limit: { context: 1000, output: 10 }, cost: { input: 0, output: 0 } }
  expect(await modelFacts({ priceID: undefined, modelID: "m1", config: free })).toEqual({
    limit: { context: 1000, output: 10 },
    price: { input: 0, output: 0, cache: { read: 0, write: 0 } },
  })
})

describe("the default models", () => {
  const named = Object.entries(builtInProviders).filter(([, entry]) => entry.standardModel !== undefined)
  test.each(named)("of %s has a known price", async (_, { priceID, standardModel }) => {
    const { price } = await modelFacts({ priceID, modelID: standardModel!, config: undefined })
    expect(price?.input).toBeGreaterThan(0)
    expect(price?.output).toBeGreaterThan(0)
  })
})

test("only models that answer in text are listed", async () => {
  const ids = (await listedModels("openai")).map(({ id }) => id)
  expect(ids).toContain("gpt-5")
  expect(ids).not.toContain("text-embedding-3-small")
  expect(ids).not.toContain("whisper-1")
})
