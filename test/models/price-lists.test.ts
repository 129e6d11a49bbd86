import { readFileSync } from "node:fs"
import { calcPrice, findProvider, type ModelInfo } from "@pydantic/genai-prices"
import { describe, expect, test } from "vitest"
import { modelFacts } from "../../src/models/provider/catalog.ts"
import { findListed, priceAt, priceList } from "../../src/models/provider/prices/price-list.ts"
import { builtInProviders } from "../../src/models/provider/providers.ts"
import { costOf } from "../../src/session/index.ts"
import { priceListsSource } from "../../tools/price-lists.ts"

const priceIDs = [...new Set(Object.values(builtInProviders).flatMap(({ priceID }) => priceID ?? []))]

/** Moments before and after each start of a price, and in every hour of a day. */
const moments = [
  ...["2024-06-01", "2025-06-01", "2025-12-10", "2026-04-01", "2026-08-18", "2027-02-01"].map((day) =>
    Date.parse(`${day}T12:00:00.500Z`),
  ),
  ...Array.from({ length: 48 }, (_, half) => Date.parse("2026-11-17T00:00:00Z") + half * 30 * 60_000),
]

/** Names that callers write: aliases, dates in two forms, capitals, prefixes. */
function namesOf({ id, match }: ModelInfo): string[] {
  const literals = JSON.stringify(match)
    .matchAll(/"(?:equals|starts_with|ends_with|contains)":"([^"]+)"/g)
    .map(([, text]) => text!)
  return [id, ...literals].flatMap((name) => [
    name,
    name.toUpperCase(),
    ` ${name} `,
    `${name}-20260131`,
    `${name}-20260231`,
    `models/${name}`,
  ])
}

test("the copied lists are those of the package", () => {
  const kept = readFileSync("src/models/provider/prices/price-lists.gen.ts", "utf8")
  expect(kept === priceListsSource(), "Run: node tools/price-lists.ts --write").toBe(true)
})

describe("every price and limit is the package's", () => {
  test.each(priceIDs)("of %s", async (priceID) => {
    const list = (await priceList(priceID))!
    const provider = findProvider({ providerId: priceID })!
    expect(list.models.map(({ id }) => id)).toEqual(provider.models.map(({ id }) => id))
    for (const name of new Set(provider.models.flatMap(namesOf))) {
      const theirs = calcPrice({}, name, { providerId: priceID })
      const ours = await findListed(list, name)
      expect({ name, id: ours?.id, context: ours?.context }).toEqual({
        name,
        id: theirs?.model.id,
        context: theirs?.model.context_window,
      })
    }
  })

  test.each(priceIDs)("of %s at every moment", async (priceID) => {
    const list = (await priceList(priceID))!
    for (const { id } of list.models) {
      const listed = await findListed(list, id)
      // Some entries do not match their own id. The test above says that both find nothing then.
      if (!listed) continue
      for (const nowMs of listed.prices.length > 1 ? moments : moments.slice(-1)) {
        const theirs = calcPrice({}, id, { providerId: priceID, timestamp: new Date(nowMs) })!.model_price
        const base = (key: string) => {
          const price = theirs[key]
          return typeof price === "object" ? price.base : price
        }
        const { input, output, read, write } = priceAt(listed, nowMs)
        expect({ id, nowMs, input, output, read, write }).toEqual({
          id,
          nowMs,
          input: base("input_mtok"),
          output: base("output_mtok"),
          read: base("cache_read_mtok"),
          write: base("cache_write_mtok"),
        })
      }
    }
  })
})

test("the cost of a call is the package's, over a grid of usages", async () => {
  const counts = [0, 1, 999, 50_000]
  for (const [priceID, modelID] of [
    ["anthropic", "claude-sonnet-4-5"],
    ["openai", "gpt-5"],
    ["mistral", "mistral-medium-latest"],
  ] as const) {
    const { price } = await modelFacts({ priceID, modelID, config: undefined })
    for (const input of counts)
      for (const output of counts)
        for (const read of counts) {
          const ours = costOf({ input, output, reasoning: 0, cache: { read, write: 0 } }, price!)
          const usage = { input_tokens: input + read, output_tokens: output, cache_read_tokens: read }
          const theirs = calcPrice(usage, modelID, { providerId: priceID })!
          expect(ours).toBeCloseTo(theirs.total_price, 9)
        }
  }
})

test("a name that no list has, and a list that does not exist", async () => {
  expect(await findListed((await priceList("openai"))!, "nobody-knows")).toBeUndefined()
  for (const name of ["nobody", "constructor", "__proto__"]) expect(await priceList(name)).toBeUndefined()
})
