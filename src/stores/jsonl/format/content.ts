import type { PartBody } from "../../../protocol/index.ts"

/** A content block of a message, as other programs know it. */
export type Block =
  | { type: "text"; text: string }
  | { type: "thinking"; thinking: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "toolCall"; id: string; name: string; arguments: Record<string, unknown> }

/**
 * A part without the fields that its content block holds; `block` is the index of that block. A part that other
 * programs have no block for is stored whole.
 */
export type StoredPart = Record<string, unknown> & { block?: number }

type Role = "user" | "assistant"

/** Splits parts into content blocks for other programs and the remaining fields, so that nothing is stored twice. */
export function toContent(parts: PartBody[], role: Role): { content: Block[]; stored: StoredPart[] } {
  const content: Block[] = []
  const stored = parts.map((part): StoredPart => {
    const split = splitPart(part, role)
    if (!split) return { ...part }
    content.push(split.block)
    return { ...split.rest, block: content.length - 1 }
  })
  return { content, stored }
}

function splitPart(part: PartBody, role: Role): { block: Block; rest: object } | undefined {
  switch (part.type) {
    case "text": {
      // Some models refuse empty text, and ignored text is for people only.
      if (part.text === "" || part.ignored) return undefined
      const { text, ...rest } = part
      return { block: { type: "text", text }, rest }
    }
    case "reasoning": {
      if (part.text === "" || role === "user") return undefined
      const { text, ...rest } = part
      return { block: { type: "thinking", thinking: text }, rest }
    }
    case "file": {
      const image = role === "user" ? imageOf(part) : undefined
      if (!image) return undefined
      const { url: _url, ...rest } = part
      return { block: image, rest }
    }
    case "tool": {
      if (role === "user") return undefined
      const { callID, tool, state, ...rest } = part
      const { input, ...restState } = state
      const { output: _output, error: _error, ...kept } = restState as Record<string, unknown>
      return {
        block: { type: "toolCall", id: callID, name: tool, arguments: input },
        rest: { ...rest, state: kept },
      }
    }
    default:
      return undefined
  }
}

/** Returns the image block of a part with a base64 data URL that can be restored exactly. */
function imageOf(part: { mime: string; url: string }): (Block & { type: "image" }) | undefined {
  const start = `data:${part.mime};base64,`
  if (!part.mime.startsWith("image/") || !part.url.startsWith(start)) return undefined
  return { type: "image", data: part.url.slice(start.length), mimeType: part.mime }
}

/** The result of a finished tool call, as its own line stores it. */
interface CallResult {
  toolCallId: string
  toolName: string
  text: string
  isError: boolean
  endMs: number
}

/** Returns the result of a finished tool call; undefined for every other part. */
export function resultOf(part: PartBody, role: Role): CallResult | undefined {
  if (part.type !== "tool" || role === "user") return undefined
  const { callID: toolCallId, tool: toolName, state } = part
  if (state.status !== "completed" && state.status !== "error") return undefined
  const isError = state.status === "error"
  const text = state.status === "error" ? state.error : state.output
  return { toolCallId, toolName, text, isError, endMs: state.time.end }
}

/** Joins stored parts with their content blocks and results. Undefined if a block or a result is missing. */
export function fromContent(
  stored: StoredPart[],
  content: unknown[],
  results: Map<number, string>,
): unknown[] | undefined {
  const parts: unknown[] = []
  for (const [index, { block, ...rest }] of stored.entries()) {
    const part = block === undefined ? rest : joinPart(rest, content[block], results.get(index))
    if (!part) return undefined
    parts.push(part)
  }
  return parts
}

function joinPart(rest: Record<string, unknown>, block: unknown, result: string | undefined): unknown {
  const found = block as Block | undefined
  switch (found?.type) {
    case "text":
      return { ...rest, text: found.text }
    case "thinking":
      return { ...rest, text: found.thinking }
    case "image":
      return { ...rest, url: `data:${found.mimeType};base64,${found.data}` }
    case "toolCall": {
      const state = rest.state as { status?: unknown } | undefined
      if (result === undefined || !state) return undefined
      const outcome = state.status === "error" ? { error: result } : { output: result }
      const { id, name } = found
      return { ...rest, callID: id, tool: name, state: { ...state, input: found.arguments, ...outcome } }
    }
    default:
      return undefined
  }
}
