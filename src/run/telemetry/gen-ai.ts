import type { Attributes } from "@opentelemetry/api"
import { maskDeep } from "../../config/secrets/environment.ts"
import type { ModelRequest } from "../../models/model.ts"
import { ModelError } from "../../models/model-error.ts"
import {
  type ModelRef,
  type PartBody,
  StemmaError,
  type Tokens,
  type ToolState,
} from "../../protocol/index.ts"
import type { ContextMessage } from "../../session/index.ts"
import { cutText } from "../../tools/output.ts"
import { PermissionRefused } from "../permission/approvals.ts"
import { errorText } from "../step/error-text.ts"

/** Names and values of the semantic conventions for generative AI, as of version 1.41. */

/** Providers that the conventions name differently. */
const providerNames: Record<string, string> = {
  google: "gcp.gemini",
  mistral: "mistral_ai",
  moonshot: "moonshot_ai",
  xai: "x_ai",
}

const finishNames: Record<string, string> = { "tool-calls": "tool_call", "content-filter": "content_filter" }

export function modelAttributes({ providerID, modelID }: ModelRef): Attributes {
  const provider = Object.hasOwn(providerNames, providerID) ? providerNames[providerID] : providerID
  return { "gen_ai.provider.name": provider, "gen_ai.request.model": modelID }
}

export function requestAttributes({ maxOutputTokens, temperature, topP }: ModelRequest): Attributes {
  return {
    "gen_ai.request.stream": true,
    ...(maxOutputTokens !== undefined && { "gen_ai.request.max_tokens": maxOutputTokens }),
    ...(temperature !== undefined && { "gen_ai.request.temperature": temperature }),
    ...(topP !== undefined && { "gen_ai.request.top_p": topP }),
  }
}

/** In the conventions, input tokens include cache reads and writes, and output tokens include reasoning. */
export function usageAttributes({ input, output, reasoning, cache }: Tokens): Attributes {
  return {
    "gen_ai.usage.input_tokens": input + cache.read + cache.write,
    "gen_ai.usage.output_tokens": output + reasoning,
    ...(reasoning > 0 && { "gen_ai.usage.reasoning.output_tokens": reasoning }),
    ...(cache.read > 0 && { "gen_ai.usage.cache_read.input_tokens": cache.read }),
    ...(cache.write > 0 && { "gen_ai.usage.cache_creation.input_tokens": cache.write }),
  }
}

export function finishAttributes(finish: string): Attributes {
  return {
    "gen_ai.response.finish_reasons": [Object.hasOwn(finishNames, finish) ? finishNames[finish]! : finish],
  }
}

/** Matched by name: importing these classes from loop/run.ts would make an import cycle. */
const errorTypes: Record<string, string> = { Aborted: "aborted", Closing: "interrupted" }

/** A value of low cardinality for `error.type`. */
export function errorTypeOf(error: unknown): string {
  if (error instanceof ModelError) return error.kind
  if (error instanceof PermissionRefused) return "permission_refused"
  if (StemmaError.is(error)) return error.code
  const name = error instanceof Error ? error.name : ""
  return Object.hasOwn(errorTypes, name) ? errorTypes[name]! : "_OTHER"
}

const statusUnitsMax = 500

/** The status text of a failed model call. Only ModelError and StemmaError have texts that are safe to show. */
export function statusText(error: unknown, mask: (text: string) => string): string {
  if (!(error instanceof ModelError) && !StemmaError.is(error)) return "The call failed."
  return cutText(mask(errorText(error)), statusUnitsMax)
}

/** Span backends limit the size of attributes: long texts are cut, and older messages are left out. */
const textUnitsMax = 16 * 1024
const attributeUnitsMax = 64 * 1024

interface SpanMessage {
  role: string
  parts: object[]
  finish_reason?: string
}

/** The request of a model call, with secrets masked. */
export function inputContent(
  { system, messages }: Pick<ModelRequest, "system" | "messages">,
  mask: (text: string) => string,
): Attributes {
  const instructions = system.map((text) => ({ type: "text", content: shortened(mask(text)) }))
  return {
    ...(instructions.length > 0 && { "gen_ai.system_instructions": JSON.stringify(instructions) }),
    "gen_ai.input.messages": newestMessages(messages, mask),
  }
}

/** The answer of a model call, with secrets masked. */
export function outputContent(
  answer: { parts: readonly PartBody[]; finish: string },
  mask: (text: string) => string,
): Attributes {
  const parts = answer.parts.flatMap((part): object[] => {
    if (part.type === "text" || part.type === "reasoning")
      return [{ type: part.type, content: shortened(mask(part.text)) }]
    if (part.type !== "tool") return []
    const text = part.state.status === "pending" ? part.state.raw : JSON.stringify(part.state.input)
    return [{ type: "tool_call", id: part.callID, name: part.tool, arguments: shortened(mask(text)) }]
  })
  const message: SpanMessage = {
    role: "assistant",
    parts: withinLimit(parts),
    finish_reason: finishNames[answer.finish] ?? answer.finish,
  }
  return { "gen_ai.output.messages": JSON.stringify([message]) }
}

/** The input and the result of a tool call, with secrets masked. */
export function callContent(state: ToolState, mask: (text: string) => string): Attributes {
  const result =
    state.status === "completed" ? state.output : state.status === "error" ? state.error : undefined
  return {
    "gen_ai.tool.call.arguments": shortened(JSON.stringify(maskDeep(state.input, mask))),
    ...(result !== undefined && { "gen_ai.tool.call.result": shortened(mask(result)) }),
  }
}

function newestMessages(messages: readonly ContextMessage[], mask: (text: string) => string): string {
  const shown: string[] = []
  let units = 0
  for (const message of messages.toReversed()) {
    const text = JSON.stringify({
      role: message.role,
      parts: withinLimit(message.content.map((part) => spanPart(part, mask))),
    })
    units += text.length
    if (units > attributeUnitsMax && shown.length > 0) break
    shown.unshift(text)
  }
  return `[${shown.join(",")}]`
}

/** The first parts that fit into an attribute, and a notice if some are left out. */
function withinLimit(parts: readonly object[]): object[] {
  let units = 0
  const end = parts.findIndex((part) => {
    units += JSON.stringify(part).length
    return units > attributeUnitsMax
  })
  return end < 0
    ? [...parts]
    : [...parts.slice(0, end), { type: "text", content: "(The rest was left out.)" }]
}

function spanPart(part: ContextMessage["content"][number], mask: (text: string) => string): object {
  switch (part.type) {
    case "text":
    case "reasoning":
      return { type: part.type, content: shortened(mask(part.text)) }
    case "file":
      return { type: "uri", mime_type: part.mime, ...(part.filename && { name: mask(part.filename) }) }
    case "tool-call": {
      const input = shortened(JSON.stringify(maskDeep(part.input, mask)))
      return { type: "tool_call", id: part.callID, name: part.tool, arguments: input }
    }
    case "tool-result":
      return { type: "tool_call_response", id: part.callID, result: shortened(mask(part.output)) }
  }
}

/** Cuts a text. The text must be masked already, since half a secret is not recognised. */
function shortened(text: string): string {
  return cutText(text, textUnitsMax)
}
