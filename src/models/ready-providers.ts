import { StemmaError } from "../protocol/index.ts"
import type { Model } from "./model.ts"
import { modelFacts } from "./provider/catalog.ts"
import { type ListedModel, type ListedProvider, parseModelName } from "./registry.ts"

interface ReadyOptions {
  all: readonly ListedProvider[]
  /** The models that a running Ollama reports; undefined if its address is unknown. */
  localModels: () => Promise<string[]> | undefined
  get: (name: string) => Promise<Model>
}

/** The providers that can answer now, each with its models. The provider of the model `first` comes first. */
export async function readyProviders(first: string, options: ReadyOptions): Promise<ListedProvider[]> {
  const ready = options.all.filter((one) => one.isReady)
  const found = await Promise.all(ready.map((one) => withLocalModels(one, options)))
  const { providerID, modelID } = parseModelName(first)
  const home = found.find(({ id }) => id === providerID)
  if (home?.models.every(({ id }) => id !== modelID)) {
    const model = await listedModel(first, options)
    if (model) home.models = [model, ...home.models]
  }
  const others = found.filter((one) => one !== home)
  return [...(home ? [home] : []), ...others].filter(({ models }) => models.length > 0)
}

/** Ollama needs no key, so only its answer says whether it runs. */
async function withLocalModels(
  provider: ListedProvider,
  { localModels }: ReadyOptions,
): Promise<ListedProvider> {
  const names = provider.id === "ollama" ? await localModels() : undefined
  if (names === undefined) return { ...provider }
  if (names.length === 0) return { ...provider, models: [] }
  const others = names.filter((name) => provider.models.every(({ id }) => id !== name))
  const facts = others.map(async (id) => ({
    id,
    name: id,
    ...(await modelFacts({ priceID: undefined, modelID: id, config: undefined })),
  }))
  return { ...provider, models: [...provider.models, ...(await Promise.all(facts))] }
}

/** A model that no list names, such as the model of a provider that was made in code. Undefined if it cannot be used. */
async function listedModel(name: string, { get }: ReadyOptions): Promise<ListedModel | undefined> {
  try {
    const { ref, limit, price } = await get(name)
    return { id: ref.modelID, name: ref.modelID, limit, ...(price && { price }) }
  } catch (error) {
    if (StemmaError.is(error)) return undefined
    throw error
  }
}
