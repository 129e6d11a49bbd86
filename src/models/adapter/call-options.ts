import type {
  JSONSchema7,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4Usage,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider"
import type { Tokens } from "../../protocol/index.ts"
import type { ModelRequest, ModelTool } from "../model.ts"
import { providerOptions, reasoningLevel } from "../provider/provider-options.ts"
import { tokensMax } from "../response/mend.ts"
import type { AdapterOptions } from "./adapter.ts"
import { fitToolName } from "./fit-names.ts"

type Asked = AdapterOptions & { request: ModelRequest }

/** The options of a `doStream` call. */
export function callOptions(
  options: Asked,
  prompt: LanguageModelV4Prompt,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { request, api, ref, namespace } = options
  const { tools, toolChoice, maxOutputTokens, temperature, topP, variant } = request
  const reasoning = reasoningLevel(variant, options.variants)
  const configured = options.options
  return {
    prompt,
    abortSignal,
    ...(tools.length > 0 && { tools: tools.map(functionTool), toolChoice: { type: toolChoice ?? "auto" } }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(reasoning !== undefined && { reasoning }),
    providerOptions: providerOptions(request, {
      api,
      providerID: ref.providerID,
      namespace,
      configured,
      variants: options.variants,
    }) as SharedV4ProviderOptions,
  }
}

function functionTool({ name, description, inputSchema }: ModelTool): LanguageModelV4FunctionTool {
  return { type: "function", name: fitToolName(name), description, inputSchema: inputSchema as JSONSchema7 }
}

/**
 * Token counts that do not overlap: output excludes reasoning, input excludes cached tokens. Undefined if the provider
 * sent no counts, or counts that cannot be right.
 */
export function tokensOf({ inputTokens, outputTokens }: LanguageModelV4Usage): Tokens | undefined {
  const read = count(inputTokens.cacheRead)
  const write = count(inputTokens.cacheWrite)
  const reasoning = count(outputTokens.reasoning)
  const given = [inputTokens.total, inputTokens.noCache, outputTokens.total, outputTokens.text]
  if (given.every((value) => value === undefined) || given.some(isWrong)) return undefined
  return {
    input: count(inputTokens.noCache ?? count(inputTokens.total) - read - write),
    output: count(outputTokens.text ?? count(outputTokens.total) - reasoning),
    reasoning,
    cache: { read, write },
  }
}

/** A count may be a little below 0, because some providers do not include reasoning or cached tokens in their sums. */
function isWrong(value: number | undefined): boolean {
  return value !== undefined && !(Math.abs(value) <= tokensMax)
}

function count(value: number | undefined): number {
  return value !== undefined && value > 0 ? Math.min(Math.round(value), tokensMax) : 0
}
