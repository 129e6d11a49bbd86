import { estimateFileTokens, estimateTokens } from "../usage/tokens.ts"
import type { ContextMessage, ContextToolResult } from "./context-message.ts"

/** About how many tokens of a context come from where. */
export interface ContextTokens {
  /** What was said by people and by the model, with its calls. */
  messages: number
  toolOutput: number
}

/** What a provider adds to each message of its own. */
const perMessage = 4

/** A context message is never changed, and asked about at every step. */
const known = new WeakMap<ContextMessage, number>()

/** About how many tokens a message of the context is. */
export function estimateContextTokens(message: ContextMessage): number {
  let tokens = known.get(message)
  if (tokens === undefined) {
    const split = splitTokens(message)
    tokens = split.messages + split.toolOutput
    known.set(message, tokens)
  }
  return tokens
}

export function splitTokens(message: ContextMessage): ContextTokens {
  if (message.role === "tool") {
    return {
      messages: perMessage,
      toolOutput: message.content.reduce((sum, part) => sum + resultTokens(part), 0),
    }
  }
  let messages = perMessage
  for (const part of message.content) {
    if (part.type === "text" || part.type === "reasoning") messages += estimateTokens(part.text)
    else if (part.type === "file") messages += estimateFileTokens(part)
    else messages += estimateTokens(part.tool) + estimateTokens(JSON.stringify(part.input))
  }
  return { messages, toolOutput: 0 }
}

function resultTokens({ output, attachments = [] }: ContextToolResult): number {
  return attachments.reduce((sum, file) => sum + estimateFileTokens(file), estimateTokens(output))
}
