import { type JsonObject, StemmaError } from "../../protocol/index.ts"

/** The wire protocol of a provider. */
export type Api = "openai-responses" | "openai-chat" | "openai-compatible" | "anthropic" | "google"

/** The only packages that a config may name: a config file must never load any other package. */
export const providerPackages = [
  "@ai-sdk/openai",
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai-compatible",
] as const
export type ProviderPackage = (typeof providerPackages)[number]

/** The block of one provider in a config file. */
export interface ProviderConfig {
  /** One of `providerPackages`. */
  npm?: string
  name?: string
  options?: {
    baseURL?: string
    apiKey?: string
    headers?: Record<string, string>
    /** `responses` or `chat`, for `@ai-sdk/openai` only. */
    api?: string
    organization?: string
    project?: string
    [name: string]: unknown
  }
  models?: Record<string, ModelConfig>
}

export interface ModelConfig {
  /** The provider's own name for the model, if it differs. */
  id?: string
  name?: string
  limit?: { context?: number; output?: number }
  /** Dollars per million tokens. */
  cost?: { input?: number; output?: number; cache_read?: number; cache_write?: number }
  /** Options of the provider's package for this model. */
  options?: JsonObject
  /** Options by the name of a variant. They replace the standard meaning of that name. */
  variants?: Record<string, JsonObject>
  [name: string]: unknown
}

export interface BuiltInProvider {
  name: string
  npm: ProviderPackage
  /** Always passed to the package, which would otherwise read the environment of the process. */
  baseURL: string
  /**
   * Environment variables that may hold the key; error texts name the first. An empty list: the provider needs no key.
   */
  env: readonly string[]
  /** An environment variable that overrides the address. */
  baseURLEnv?: string
  /** The model to use if a key is present and no model was chosen. */
  standardModel?: string
  /** The provider's name in the price list. */
  priceID?: string
  /** False if the server refuses a request that contains earlier reasoning. */
  takesReasoning?: boolean
  /** False if the server refuses a request for token counts. Such a server sends the counts without being asked. */
  asksForUsage?: boolean
}

/** In order of preference: the first provider with a key in the environment gives the standard model. */
export const builtInProviders: Record<string, BuiltInProvider> = {
  anthropic: {
    name: "Anthropic",
    npm: "@ai-sdk/anthropic",
    baseURL: "https://api.anthropic.com/v1",
    env: ["ANTHROPIC_API_KEY"],
    baseURLEnv: "ANTHROPIC_BASE_URL",
    standardModel: "claude-sonnet-5",
    priceID: "anthropic",
  },
  openai: {
    name: "OpenAI",
    npm: "@ai-sdk/openai",
    baseURL: "https://api.openai.com/v1",
    env: ["OPENAI_API_KEY"],
    baseURLEnv: "OPENAI_BASE_URL",
    standardModel: "gpt-6-sol",
    priceID: "openai",
  },
  google: {
    name: "Google",
    npm: "@ai-sdk/google",
    baseURL: "https://generativelanguage.googleapis.com/v1beta",
    env: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY"],
    standardModel: "gemini-3.8-flash",
    priceID: "google",
  },
  openrouter: {
    name: "OpenRouter",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://openrouter.ai/api/v1",
    env: ["OPENROUTER_API_KEY"],
    standardModel: "anthropic/claude-sonnet-5",
    priceID: "openrouter",
  },
  deepseek: {
    name: "DeepSeek",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://api.deepseek.com/v1",
    env: ["DEEPSEEK_API_KEY"],
    standardModel: "deepseek-v4-pro",
    priceID: "deepseek",
  },
  xai: {
    name: "xAI",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://api.x.ai/v1",
    env: ["XAI_API_KEY"],
    standardModel: "grok-4.6",
    priceID: "x-ai",
  },
  mistral: {
    name: "Mistral",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://api.mistral.ai/v1",
    env: ["MISTRAL_API_KEY"],
    standardModel: "mistral-medium-latest",
    priceID: "mistral",
    takesReasoning: false,
    asksForUsage: false,
  },
  groq: {
    name: "Groq",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://api.groq.com/openai/v1",
    env: ["GROQ_API_KEY"],
    standardModel: "openai/gpt-oss-120b",
    priceID: "groq",
    takesReasoning: false,
  },
  moonshot: {
    name: "Moonshot AI",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "https://api.moonshot.ai/v1",
    env: ["MOONSHOT_API_KEY"],
    priceID: "moonshotai",
  },
  ollama: {
    name: "Ollama",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "http://127.0.0.1:11434/v1",
    env: [],
  },
  lmstudio: {
    name: "LM Studio",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "http://127.0.0.1:1234/v1",
    env: [],
  },
  vllm: {
    name: "vLLM",
    npm: "@ai-sdk/openai-compatible",
    baseURL: "http://127.0.0.1:8000/v1",
    env: [],
  },
}

export function providerPackage(npm: string, providerID: string): ProviderPackage {
  const known = providerPackages.find((name) => name === npm)
  if (known) return known
  throw new StemmaError(
    "invalid",
    `Provider ${providerID} names the package ${npm}, which is not built in. Set npm to one of ${providerPackages.join(", ")}.`,
  )
}
