import { StemmaError } from "../../protocol/index.ts"
import { headerSecrets } from "../adapter/mask-secrets.ts"
import { ollamaAddress } from "./ollama.ts"
import {
  type BuiltInProvider,
  builtInProviders,
  type ProviderConfig,
  type ProviderPackage,
  providerPackage,
} from "./providers.ts"

export type Environment = Record<string, string | undefined>

/** A provider as it will be used: the built-in entry, overridden by the config and the environment. */
export interface ResolvedProvider {
  id: string
  name: string
  npm: ProviderPackage
  baseURL: string
  /** True if `baseURL` is the provider's own address, not a gateway or another server. */
  isOfficial: boolean
  apiKey: string | undefined
  /** Where the key was found: the name of an environment variable or of a config field. */
  keySource: string | undefined
  /** Environment variables that may hold the key. */
  keyNames: readonly string[]
  /** False if the address is the user's own, a header has the key, or the provider needs none. */
  needsKey: boolean
  headers: Record<string, string>
  options: NonNullable<ProviderConfig["options"]>
  models: NonNullable<ProviderConfig["models"]>
  standardModel: string | undefined
  /** The provider's name in the price list; undefined if the prices do not apply to this address. */
  priceID: string | undefined
  takesReasoning: boolean
  asksForUsage: boolean
}

/** Throws `invalid` for an invalid config. */
export function resolveProvider(
  id: string,
  { config = {}, env }: { config?: ProviderConfig; env: Environment },
): ResolvedProvider {
  const options = config.options ?? {}
  const entry = Object.hasOwn(builtInProviders, id) ? builtInProviders[id] : undefined
  const npm =
    config.npm === undefined ? (entry?.npm ?? "@ai-sdk/openai-compatible") : providerPackage(config.npm, id)
  const base = entry?.npm === npm ? entry : ownProvider(npm)
  const baseURL = baseURLOf(id, { options, env, entry: base })
  const isOfficial = base !== undefined && sameOrigin(baseURL, base.baseURL)
  const keyNames = (entry ?? base)?.env ?? []
  const keyName = keyNames.find((name) => env[name]?.trim())
  const headers = stringsOf(options.headers)
  return {
    id,
    name: config.name ?? entry?.name ?? id,
    npm,
    baseURL,
    isOfficial,
    apiKey: options.apiKey?.trim() || (keyName === undefined ? undefined : env[keyName]?.trim()),
    keySource: options.apiKey?.trim() ? `provider.${id}.options.apiKey` : keyName,
    keyNames,
    needsKey: isOfficial && base.env.length > 0 && headerSecrets(headers).length === 0,
    headers,
    options,
    models: config.models ?? {},
    standardModel: entry?.standardModel,
    priceID: isOfficial ? base.priceID : undefined,
    takesReasoning: base?.takesReasoning ?? true,
    asksForUsage: base?.asksForUsage ?? true,
  }
}

/** The provider that a package is made for; undefined for the package for compatible servers. */
function ownProvider(npm: ProviderPackage): BuiltInProvider | undefined {
  if (npm === "@ai-sdk/openai-compatible") return undefined
  return Object.values(builtInProviders).find((entry) => entry.npm === npm)
}

function baseURLOf(
  id: string,
  of: { options: ResolvedProvider["options"]; env: Environment; entry: BuiltInProvider | undefined },
): string {
  const { options, env, entry } = of
  const moved = entry?.baseURLEnv === undefined ? undefined : env[entry.baseURLEnv]
  const usual = id === "ollama" ? `${ollamaAddress(env)}/v1` : entry?.baseURL
  const baseURL = options.baseURL || moved || usual
  if (baseURL === undefined) {
    throw new StemmaError("invalid", `Provider ${id} has no address: set provider.${id}.options.baseURL.`)
  }
  const url = URL.parse(baseURL)
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new StemmaError(
      "invalid",
      `The baseURL of provider ${id} is not an http or https address: correct provider.${id}.options.baseURL.`,
    )
  }
  if (url.username !== "" || url.password !== "") {
    throw new StemmaError(
      "invalid",
      `The baseURL of provider ${id} holds a name or a password: put the key into provider.${id}.options.apiKey or headers.`,
    )
  }
  return baseURL
}

function sameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin
}

function stringsOf(headers: Record<string, unknown> = {}): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : [])),
  )
}
