import type { JsonObject } from "../../protocol/index.ts"
import type { ModelRequest } from "../model.ts"
import type { Api } from "./providers.ts"

/** Efforts that every provider package maps to what the model has: an effort, a level or a budget. */
export const reasoningLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export type ReasoningLevel = (typeof reasoningLevels)[number]

/** The level that a variant stands for; none if the config says what it means. */
export function reasoningLevel(
  variant: string | undefined,
  variants: Variants | undefined,
): ReasoningLevel | undefined {
  if (variant !== undefined && variants && Object.hasOwn(variants, variant)) return undefined
  return reasoningLevels.find((level) => level === variant)
}

/** The config's options by the name of a variant. */
export type Variants = Record<string, JsonObject>

export interface OptionsFor {
  api: Api
  providerID: string
  /** Under which name the package looks for its options. */
  namespace: string
  /** The config's options of the model. */
  configured: JsonObject | undefined
  variants?: Variants
}

/** Later ones win: our defaults, what a variant usually means, the config's for the model and its variant, the request's. */
export function providerOptions(request: ModelRequest, of: OptionsFor): Record<string, JsonObject> {
  const { api, providerID, namespace, configured } = of
  const { variant } = request
  const named = variant !== undefined ? objectAt(of.variants, variant) : undefined
  const merged: JsonObject = { ...defaults(api) }
  const layers = [
    named ? undefined : variantOptions(api, variant),
    configured,
    named,
    objectAt(request.options, namespace),
    namespace === providerID ? undefined : objectAt(request.options, providerID),
  ]
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer ?? {})) {
      const before = merged[name]
      merged[name] = isObject(before) && isObject(value) ? { ...before, ...value } : value
    }
  }
  return { [namespace]: merged }
}

/** Nothing is kept at OpenAI: a session outlives what is stored there, so reasoning comes back encrypted instead. */
function defaults(api: Api): JsonObject {
  return api === "openai-responses" ? { store: false } : {}
}

function variantOptions(api: Api, variant: string | undefined): JsonObject {
  if (variant === undefined) return {}
  const level = reasoningLevel(variant, undefined)
  const budget = /^\d+$/.test(variant) ? Number(variant) : undefined
  if (api === "google") {
    const thinking = level
      ? {}
      : budget === undefined
        ? { thinkingLevel: variant }
        : { thinkingBudget: budget }
    return { thinkingConfig: { ...(variant !== "none" && { includeThoughts: true }), ...thinking } }
  }
  if (level) return {}
  if (api !== "anthropic") return { reasoningEffort: variant }
  return budget === undefined ? { effort: variant } : { thinking: { type: "enabled", budgetTokens: budget } }
}

function objectAt(options: JsonObject | undefined, name: string): JsonObject | undefined {
  const value = options && Object.hasOwn(options, name) ? options[name] : undefined
  return isObject(value) ? value : undefined
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
