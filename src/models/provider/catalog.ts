import type { Price } from "../../protocol/index.ts"
import type { ModelConfig } from "./providers.ts"

export interface ModelFacts {
  /** In tokens; 0 if unknown. */
  limit: { context: number; output: number }
  price?: Price
}

export interface CatalogModel extends ModelFacts {
  id: string
  name: string
}

/**
 * Limits and price of a model, from the config or else from the price list. `priceID` is the provider's name in that
 * list.
 */
export async function modelFacts(of: {
  priceID: string | undefined
  modelID: string
  config: ModelConfig | undefined
}): Promise<ModelFacts> {
  const { limit = {}, cost } = of.config ?? {}
  const needsList = of.priceID !== undefined && (cost === undefined || limit.context === undefined)
  const listed = needsList ? await listedFacts(of.priceID!, of.modelID) : undefined
  const price = cost ? priceOf({ ...cost, read: cost.cache_read, write: cost.cache_write }) : listed?.price
  return {
    limit: { context: limit.context ?? listed?.limit.context ?? 0, output: limit.output ?? 0 },
    ...(price && { price }),
  }
}

/** The models of a provider that have a price and a context limit, for users to choose from. */
export async function listedModels(priceID: string): Promise<CatalogModel[]> {
  const { findProvider } = await import("@pydantic/genai-prices")
  const models = findProvider({ providerId: priceID })?.models ?? []
  const found = await Promise.all(
    models.map(async ({ id, name, deprecated }) => {
      const facts = deprecated ? undefined : await listedFacts(priceID, id)
      return facts?.price && facts.limit.context > 0 ? [{ id, name: name ?? id, ...facts }] : []
    }),
  )
  return found.flat()
}

async function listedFacts(priceID: string, modelID: string): Promise<ModelFacts | undefined> {
  const { calcPrice } = await import("@pydantic/genai-prices")
  const found = calcPrice({}, modelID, { providerId: priceID })
  if (!found) return undefined
  const prices = found.model_price
  const price = priceOf({
    input: base(prices.input_mtok),
    output: base(prices.output_mtok),
    read: base(prices.cache_read_mtok),
    write: base(prices.cache_write_mtok),
  })
  return { limit: { context: found.model.context_window ?? 0, output: 0 }, ...(price && { price }) }
}

/** The base price, if the price rises with the length of the context. */
function base(price: number | { base: number } | undefined): number | undefined {
  return typeof price === "object" ? price.base : price
}

/** Cached tokens without a price of their own cost as much as input tokens. */
function priceOf(per: { input?: number; output?: number; read?: number; write?: number }): Price | undefined {
  const { input, output, read, write } = per
  if (input === undefined || output === undefined) return undefined
  return { input, output, cache: { read: read ?? input, write: write ?? input } }
}
