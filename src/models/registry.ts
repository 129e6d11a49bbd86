import { type ModelRef, type Price, StemmaError } from "../protocol/index.ts"
import { fromLanguageModel } from "./adapter/adapter.ts"
import { createMask, headerSecrets } from "./adapter/mask-secrets.ts"
import type { Model } from "./model.ts"
import { type CatalogModel, listedModels, modelFacts } from "./provider/catalog.ts"
import { connect } from "./provider/connect.ts"
import { ollamaAddress, ollamaModels } from "./provider/ollama.ts"
import { builtInProviders, type ProviderConfig } from "./provider/providers.ts"
import { type Environment, type ResolvedProvider, resolveProvider } from "./provider/resolve-provider.ts"
import { readyProviders } from "./ready-providers.ts"

export interface ModelsOptions {
  /** Providers of the config, by name. Their fields override those of the built-in providers. */
  provider?: Record<string, ProviderConfig>
  env: Environment
  /** Providers made in code, by name. They take precedence over configured and built-in providers. */
  custom?: Record<string, (modelID: string) => Model>
  fetch?: typeof fetch
  /** Names of providers that must not be used. */
  disabled?: readonly string[]
  /** How many bytes of an answer are read. 64 MiB if absent. */
  answerBytesMax?: number
}

export interface ListedProvider {
  id: string
  name: string
  /** True if the provider has a key or needs none. */
  isReady: boolean
  /** The environment variables that may hold its key. */
  keyNames: readonly string[]
  models: ListedModel[]
  /** The error in its config, if there is one. */
  problem?: string
}

export interface ListedModel {
  id: string
  name: string
  limit: { context: number; output: number }
  price?: Price
}

export interface Models {
  /**
   * The model with a name such as `openai/gpt-5` or `openrouter/anthropic/claude-sonnet-4.5`; the same object for each
   * call. Sends no request. Throws `invalid` for an invalid name or config, `not_found` for an unknown provider,
   * `denied` for a disabled provider, `unavailable` if the key is missing.
   */
  get(name: string): Promise<Model>
  /**
   * The model for sessions that name none: the first model of a configured provider, else of the first provider with a
   * key, else of an Ollama that runs on this machine, else `demo/guide`. Looks for Ollama once, with a timeout of 100
   * ms.
   */
  standard(): Promise<string>
  /** The same model if it is known without looking for Ollama. */
  standardAtHand(): string | undefined
  /** All providers and models, for a settings page. Sends no request. */
  list(): Promise<ListedProvider[]>
  /**
   * The providers that can answer now, the provider of `first` at the front. Every provider has models, and `first` is
   * among them. Looks for Ollama each time, with a timeout of 100 ms.
   */
  ready(first: string): Promise<ListedProvider[]>
  /** The values of all keys in use, so that output can mask them. */
  secrets(): string[]
  /** The environment variables that may hold a key, so that they can be removed from the environment of tools. */
  readonly secretNames: readonly string[]
}

export const demoModel = "demo/guide"

const answerBytesStandard = 64 * 1024 * 1024

/** Splits `provider/model` at the first slash: the model's own name may contain slashes. */
export function parseModelName(name: string): ModelRef {
  const slash = name.indexOf("/")
  if (slash > 0 && slash < name.length - 1) {
    return { providerID: name.slice(0, slash), modelID: name.slice(slash + 1) }
  }
  throw new StemmaError(
    "invalid",
    `"${name.slice(0, 100)}" is not the name of a model: write provider/model, such as openai/gpt-5.`,
  )
}

/** Creates the registry. Loads no package and sends no request until a model is needed. */
export function createModels(options: ModelsOptions): Models {
  const { env, provider: configured = {}, custom = {}, disabled = [] } = options
  const fetch = options.fetch ?? globalThis.fetch
  const answerBytesMax = options.answerBytesMax ?? answerBytesStandard
  const secretNames = [...new Set(Object.values(builtInProviders).flatMap((entry) => entry.env))]
  const models = new Map<string, Promise<Model>>()
  let standard: Promise<string> | undefined

  const ids = () =>
    [
      ...new Set([
        ...Object.keys(custom),
        ...Object.keys(configured),
        ...Object.keys(builtInProviders),
        "demo",
      ]),
    ].filter((id) => !disabled.includes(id))
  const isDemo = (id: string) => id === "demo" && !own(configured, id)
  const resolve = (id: string) => resolveProvider(id, { config: own(configured, id), env })

  const secrets = () => {
    const found = secretNames.flatMap((name) => env[name] ?? [])
    for (const { options: settings = {} } of Object.values(configured)) {
      if (settings.apiKey) found.push(settings.apiKey)
      found.push(...headerSecrets(settings.headers ?? {}))
    }
    return [...new Set(found.map((value) => value.trim()).filter((value) => value !== ""))]
  }

  async function make(name: string): Promise<Model> {
    const ref = parseModelName(name)
    const { providerID, modelID } = ref
    if (disabled.includes(providerID)) {
      throw new StemmaError(
        "denied",
        `Provider ${providerID} is switched off in the config: choose another model.`,
      )
    }
    const made = own(custom, providerID)
    if (made) return made(modelID)
    if (isDemo(providerID)) {
      const { createDemoModel } = await import("./demo/demo.ts")
      return createDemoModel(modelID)
    }
    if (!ids().includes(providerID)) {
      throw new StemmaError(
        "not_found",
        `There is no provider ${providerID}. There are ${ids().join(", ")}; others go under "provider" in the config.`,
      )
    }
    return providersModel(ref, resolve(providerID))
  }

  async function providersModel(ref: ModelRef, provider: ResolvedProvider): Promise<Model> {
    requireKey(provider)
    const config = own(provider.models, ref.modelID)
    const modelID = typeof config?.id === "string" && config.id !== "" ? config.id : ref.modelID
    const [connected, facts] = await Promise.all([
      connect({ ...provider, providerID: provider.id, modelID, fetch, answerBytesMax }),
      modelFacts({ priceID: provider.priceID, modelID, config }),
    ])
    return fromLanguageModel({
      ...connected,
      ...facts,
      ref,
      ...(config?.options && { options: config.options }),
      ...(config?.variants && { variants: config.variants }),
      mask: createMask(secrets()),
      keyName: provider.keySource,
      takesReasoning: provider.takesReasoning,
    })
  }

  async function listed(id: string): Promise<ListedProvider> {
    if (isDemo(id)) return listedDemo(await make(demoModel))
    try {
      return await listedProvider(resolve(id))
    } catch (error) {
      if (!StemmaError.is(error)) throw error
      const name = own(configured, id)?.name ?? id
      return { id, name, isReady: false, keyNames: [], models: [], problem: error.message }
    }
  }

  function standardAtHand(): string | undefined {
    for (const id of ids()) {
      const first = Object.keys(own(configured, id)?.models ?? {})[0]
      if (first !== undefined && isReady(resolve(id))) return `${id}/${first}`
    }
    for (const id of Object.keys(builtInProviders)) {
      if (disabled.includes(id)) continue
      const { standardModel, apiKey } = resolve(id)
      if (standardModel !== undefined && apiKey !== undefined) return `${id}/${standardModel}`
    }
    return undefined
  }

  async function findStandard(): Promise<string> {
    const atHand = standardAtHand()
    if (atHand !== undefined) return atHand
    const local = disabled.includes("ollama") ? [] : await ollamaModels(ollamaAddress(env), { fetch })
    return local[0] === undefined ? demoModel : `ollama/${local[0]}`
  }

  return {
    secretNames,
    secrets,
    get(name) {
      let model = models.get(name)
      if (!model) {
        model = make(name)
        models.set(name, model)
        model.catch(() => models.delete(name))
      }
      return model
    },
    standardAtHand,
    standard() {
      standard ??= findStandard()
      return standard
    },
    async ready(first) {
      const all = await Promise.all(ids().map((id) => (own(custom, id) ? customProvider(id) : listed(id))))
      const isOllamaMoved = own(configured, "ollama")?.options?.baseURL !== undefined
      const localModels = () => (isOllamaMoved ? undefined : ollamaModels(ollamaAddress(env), { fetch }))
      return readyProviders(first, { all, localModels, get: (name) => models.get(name) ?? make(name) })
    },
    list() {
      const shown = ids().filter((id) => !own(custom, id))
      return Promise.all(shown.map((id) => listed(id)))
    },
  }
}

/** A provider that was made in code. Its models are not known before one is named. */
function customProvider(id: string): ListedProvider {
  return { id, name: id, isReady: true, keyNames: [], models: [] }
}

function listedDemo({ ref, limit, price }: Model): ListedProvider {
  const model = { id: ref.modelID, name: "Guide", limit, ...(price && { price }) }
  return { id: ref.providerID, name: "Demo, without a key", isReady: true, keyNames: [], models: [model] }
}

async function listedProvider(provider: ResolvedProvider): Promise<ListedProvider> {
  const known: CatalogModel[] = provider.priceID === undefined ? [] : await listedModels(provider.priceID)
  const named = await Promise.all(
    Object.entries(provider.models).map(async ([id, config]) => {
      const facts = await modelFacts({ priceID: provider.priceID, modelID: config.id ?? id, config })
      return { id, name: config.name ?? id, ...facts }
    }),
  )
  const others = known.filter(({ id }) => !named.some((model) => model.id === id))
  const { id, name, keyNames } = provider
  return { id, name, isReady: isReady(provider), keyNames, models: [...named, ...others] }
}

function isReady({ apiKey, needsKey }: ResolvedProvider): boolean {
  return apiKey !== undefined || !needsKey
}

function requireKey(provider: ResolvedProvider): void {
  if (isReady(provider)) return
  const { id, name, keyNames } = provider
  throw new StemmaError(
    "unavailable",
    `There is no key for ${name}: set ${keyNames.join(" or ")}, or provider.${id}.options.apiKey in the config.`,
  )
}

/** Names come from files and users, so inherited properties such as `constructor` must not match. */
function own<T>(record: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
