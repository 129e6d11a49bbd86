import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { type ConditionalPrice, findProvider, type ModelInfo, type ModelPrice } from "@pydantic/genai-prices"
import type { ListedModel, ListedPrice, Match, TimedPrice } from "../src/models/provider/prices/price-list.ts"
import { builtInProviders } from "../src/models/provider/providers.ts"

const path = fileURLToPath(new URL("../src/models/provider/prices/price-lists.gen.ts", import.meta.url))

/** The source text of the price lists: what Stemma uses of the package's data, one line for each model. */
export function priceListsSource(): string {
  const names = Object.values(builtInProviders).flatMap(({ priceID }) => priceID ?? [])
  const wanted = new Set(names.flatMap((name) => [name, ...fallbacksOf(name)]))
  const lists = [...wanted]
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: String.raw\`${listText(name)}\`,\n`)
  return `/** Written by \`node tools/price-lists.ts --write\` from @pydantic/genai-prices. */
export const priceLists: Readonly<Record<string, string>> = {
${lists.join("")}}
`
}

function providerOf(name: string) {
  const provider = findProvider({ providerId: name })
  if (provider?.id !== name) throw new Error(`@pydantic/genai-prices has no provider ${name}.`)
  return provider
}

function fallbacksOf(name: string): string[] {
  return providerOf(name).fallback_model_providers ?? []
}

function listText(name: string): string {
  const models = providerOf(name).models.map((model) => JSON.stringify(listed(model)))
  const fallbacks = fallbacksOf(name)
  const also = fallbacks.length > 0 ? `"fallbacks":${JSON.stringify(fallbacks)},` : ""
  const text = `{${also}"models":[\n${models.join(",\n")}\n]}`
  if (/`|\$\{/.test(text)) throw new Error(`The price list of ${name} cannot be written as a raw template.`)
  return text
}

function listed(model: ModelInfo): ListedModel {
  const { id, name, context_window, deprecated, prices } = model
  return {
    id,
    ...(name !== undefined && { name }),
    ...(context_window !== undefined && { context: context_window }),
    ...(deprecated && { deprecated: true as const }),
    match: lowerCase(model.match as Match),
    prices: Array.isArray(prices) ? prices.map(timed) : [basePrices(prices)],
  }
}

/** Names are compared in lower case; a regular expression is taken as it is. */
function lowerCase(match: Match): Match {
  if ("or" in match) return { or: match.or.map(lowerCase) }
  if ("and" in match) return { and: match.and.map(lowerCase) }
  if ("regex" in match) return match
  const [[kind, text]] = Object.entries(match) as [[string, string]]
  return { [kind]: text.toLowerCase() } as Match
}

function timed({ constraint, prices }: ConditionalPrice): TimedPrice {
  const price = basePrices(prices)
  if (constraint === undefined) return price
  if (constraint.type === "start_date") return { ...price, from: constraint.start_date }
  return { ...price, daily: [secondOfDay(constraint.start_time), secondOfDay(constraint.end_time)] }
}

function secondOfDay(time: string): number {
  return (Date.parse(`1970-01-02T${time}`) / 1000) % 86_400
}

function basePrices(prices: ModelPrice): ListedPrice {
  const fields = {
    input: "input_mtok",
    output: "output_mtok",
    read: "cache_read_mtok",
    write: "cache_write_mtok",
  }
  return Object.fromEntries(
    Object.entries(fields).flatMap(([field, key]) => {
      const price = prices[key]
      return price === undefined ? [] : [[field, typeof price === "object" ? price.base : price]]
    }),
  )
}

if (import.meta.main) {
  if (process.argv.includes("--write")) writeFileSync(path, priceListsSource())
  else if (readFileSync(path, "utf8") !== priceListsSource()) {
    console.error(
      "src/models/provider/prices/price-lists.gen.ts is stale. Run: node tools/price-lists.ts --write",
    )
    process.exitCode = 1
  }
}
