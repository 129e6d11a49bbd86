import type { JsonObject } from "../../protocol/index.ts"

/** `metadata` is what the provider gave with it and wants back, such as a signature. */
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
 * What the model is shown. A context begins with a user message, no message is empty, and an assistant message with tool
 * calls is followed by one tool message with exactly one result for each of them, in order.
 */
export type ContextMessage =
  | { role: "user"; content: (ContextText | ContextFile)[] }
  | { role: "assistant"; content: (ContextText | ContextReasoning | ContextToolCall)[] }
  | { role: "tool"; content: ContextToolResult[] }
