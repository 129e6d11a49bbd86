import { estimateFileTokens, estimateTokens } from "../usage/tokens.ts"
import type { ContextMessage, ContextToolResult } from "./context-message.ts"

/** Estimated tokens of a context, by source. */
export interface ContextTokens {
  /** Text of people and the model, and the model's tool calls. */
  messages: number
  toolOutput: number
}

/** The tokens that a provider adds for each message. */
const messageOverhead = 4

/** A cache: a context message never changes, and every step asks for its size. */
const estimates = new WeakMap<ContextMessage, number>()

/** The estimated tokens of a context message. */
export function estimateContextTokens(message: ContextMessage): number {
  let tokens = estimates.get(message)
  if (tokens === undefined) {
    const split = splitTokens(message)
    tokens = split.messages + split.toolOutput
    estimates.set(message, tokens)
  }
  return tokens
}

export function splitTokens(message: ContextMessage): ContextTokens {
  if (message.role === "tool") {
    return {
      messages: messageOverhead,
      toolOutput: message.content.reduce((sum, part) => sum + resultTokens(part), 0),
    }
  }
  let messages = messageOverhead
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
