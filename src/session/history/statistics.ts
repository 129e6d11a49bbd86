import { type HistoryItem, isSettled } from "../../protocol/index.ts"

export interface Statistics {
  /** `tool` counts the results of tool calls. */
  messages: { user: number; assistant: number; tool: number }
  /** How often each tool was called. */
  calls: Record<string, number>
  /** The tools that were called, in the order of their first call. */
  tools: string[]
}

export function statistics(items: readonly HistoryItem[]): Statistics {
  const messages = { user: 0, assistant: 0, tool: 0 }
  const calls = new Map<string, number>()
  for (const { message, parts } of items) {
    messages[message.role]++
    for (const part of parts) {
      if (part.type !== "tool") continue
      if (isSettled(part.state)) messages.tool++
      calls.set(part.tool, (calls.get(part.tool) ?? 0) + 1)
    }
  }
  return { messages, calls: Object.fromEntries(calls), tools: [...calls.keys()] }
}
