import { expect, test } from "vitest"
import type { ModelRequest } from "../model.ts"
import { type OptionsFor, providerOptions, reasoningLevel } from "./provider-options.ts"

function optionsOf(request: Partial<ModelRequest>, of: Partial<OptionsFor>) {
  const defaults = {
    api: "openai-compatible",
    providerID: "p",
    namespace: "p",
    configured: undefined,
  } as const
  return providerOptions(request as ModelRequest, { ...defaults, ...of })
}

test("later layers win, and objects are merged", () => {
  const of = {
    api: "google",
    namespace: "google",
    configured: { thinkingConfig: { thinkingBudget: 1 }, a: 1 },
  } as const
  expect(
    optionsOf({ variant: "500", options: { google: { a: 2 }, p: { b: 3 }, openai: { c: 4 } } }, of),
  ).toEqual({
    google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1 }, a: 2, b: 3 },
  })
})

test.each([
  ["openai-chat", "high", {}],
  ["openai-chat", "turbo", { reasoningEffort: "turbo" }],
  ["openai-responses", "high", { store: false }],
  ["anthropic", "high", {}],
  ["anthropic", "4096", { thinking: { type: "enabled", budgetTokens: 4096 } }],
  ["google", "high", { thinkingConfig: { includeThoughts: true } }],
  ["google", "none", { thinkingConfig: {} }],
  ["google", "2048", { thinkingConfig: { includeThoughts: true, thinkingBudget: 2048 } }],
] as const)("%s with the variant %s", (api, variant, expected) => {
  expect(optionsOf({ variant }, { api })).toEqual({ p: expected })
})

test("the config may define the options of a variant", () => {
  const variants = { high: { reasoning: { budget: 9 } }, think: { a: 1 } }
  expect(optionsOf({ variant: "high" }, { api: "google", variants })).toEqual({
    p: { reasoning: { budget: 9 } },
  })
  expect(reasoningLevel("high", variants)).toBeUndefined()
  expect(reasoningLevel("low", variants)).toBe("low")
  expect(optionsOf({ variant: "constructor" }, { variants })).toEqual({
    p: { reasoningEffort: "constructor" },
  })
})
