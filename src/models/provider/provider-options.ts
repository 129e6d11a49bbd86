import type { JsonObject } from "../../protocol/index.ts"
import type { ModelRequest } from "../model.ts"
import type { Api } from "./providers.ts"

/** Reasoning efforts that every provider package maps to the model's own setting: an effort, a level or a budget. */
export const reasoningLevels = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const
export type ReasoningLevel = (typeof reasoningLevels)[number]

/** The reasoning level of a variant; undefined if the config defines the variant itself. */
export function reasoningLevel(
  variant: string | undefined,
  variants: Variants | undefined,
): ReasoningLevel | undefined {
  if (variant !== undefined && variants && Object.hasOwn(variants, variant)) return undefined
  return reasoningLevels.find((level) => level === variant)
}

/** Model options of the config, by the name of a variant. */
export type Variants = Record<string, JsonObject>

export interface OptionsFor {
  api: Api
  providerID: string
  /** The name under which the package looks up its options. */
  namespace: string
  /** Model options of the config. */
  configured: JsonObject | undefined
  variants?: Variants
}

/**
 * Merges the options for a call. Later layers override earlier ones: our defaults, the standard options of the variant,
 * the config's options for the model, the config's options for the variant, the request's options.
 */
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

/**
 * OpenAI stores nothing (`store: false`), because a session may outlive its storage. Reasoning comes back encrypted
 * instead.
 */
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
