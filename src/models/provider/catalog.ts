import type { Price } from "../../protocol/index.ts"
import { findListed, type ListedPrice, priceAt, priceList } from "./prices/price-list.ts"
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
  const models = (await priceList(priceID))?.models ?? []
  const found = await Promise.all(
    models.map(async ({ id, name, deprecated }) => {
      const facts = deprecated ? undefined : await listedFacts(priceID, id)
      return facts?.price && facts.limit.context > 0 ? [{ id, name: name ?? id, ...facts }] : []
    }),
  )
  return found.flat()
}

async function listedFacts(priceID: string, modelID: string): Promise<ModelFacts | undefined> {
  const list = await priceList(priceID)
  const found = list && (await findListed(list, modelID))
  if (!found) return undefined
  const price = priceOf(priceAt(found, Date.now()))
  return { limit: { context: found.context ?? 0, output: 0 }, ...(price && { price }) }
}

/** Cached tokens without a price of their own cost as much as input tokens. */
function priceOf({ input, output, read, write }: ListedPrice): Price | undefined {
  if (input === undefined || output === undefined) return undefined
  return { input, output, cache: { read: read ?? input, write: write ?? input } }
}
