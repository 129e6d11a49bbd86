import type { JsonObject } from "../../protocol/index.ts"

/** `metadata` is data that the provider sent with the text and expects back, such as a signature. */
export interface ContextText {
  type: "text"
  text: string
  metadata?: JsonObject
}

export interface ContextReasoning {
  type: "reasoning"
  text: string
  metadata?: JsonObject
}

export interface ContextFile {
  type: "file"
  mime: string
  url: string
  filename?: string
}

export interface ContextToolCall {
  type: "tool-call"
  /** Unique in the context. */
  callID: string
  tool: string
  input: JsonObject
  metadata?: JsonObject
}

export interface ContextToolResult {
  type: "tool-result"
  callID: string
  tool: string
  isError: boolean
  output: string
  attachments?: ContextFile[]
}

/**
 * A message that the model is shown. A context begins with a user message and has no empty message. An assistant
 * message with tool calls is followed by one tool message with exactly one result for each call, in the same order.
 */
export type ContextMessage =
  | { role: "user"; content: (ContextText | ContextFile)[] }
  | { role: "assistant"; content: (ContextText | ContextReasoning | ContextToolCall)[] }
  | { role: "tool"; content: ContextToolResult[] }
