import type { HistoryItem, Part } from "../../protocol/index.ts"
import type { Block, PanelMessage } from "./routes.ts"

/** One message of a history in the shape of a panel. The results of its tool calls follow as separate messages. */
export function panelMessages({ message, parts }: HistoryItem): PanelMessage[] {
  const { id } = message
  const timestamp = message.time.created
  const compaction = parts.find((part) => part.type === "compaction")
  if (compaction?.type === "compaction" && compaction.summary !== undefined) {
    const { summary, tokensBefore, tokensAfter } = compaction
    const counts = {
      ...(tokensBefore !== undefined && { tokensBefore }),
      ...(tokensAfter !== undefined && { tokensAfter }),
    }
    return [{ id, role: "compaction", summary, ...counts, timestamp }]
  }
  const content = parts.flatMap(blocks)
  if (message.role === "user") return [{ id, role: "user", content, timestamp }]
  const error = message.error?.data.message
  return [
    { id, role: "assistant", content, timestamp, ...(error !== undefined && { error }) },
    ...parts.flatMap((part) => results(part, timestamp)),
  ]
}

function blocks(part: Part): Block[] {
  switch (part.type) {
    case "text":
      return part.ignored ? [] : [{ type: "text", text: part.text }]
    case "reasoning":
      return [{ type: "thinking", thinking: part.text }]
    case "tool":
      return [{ type: "toolCall", id: part.callID, name: part.tool, arguments: part.state.input }]
    case "file":
      return [{ type: "file", mime: part.mime, ...(part.filename !== undefined && { name: part.filename }) }]
    default:
      return []
  }
}

function results(part: Part, timestamp: number): PanelMessage[] {
  if (part.type !== "tool") return []
  const { state, callID: toolCallId, tool: toolName } = part
  if (state.status !== "completed" && state.status !== "error") return []
  const isError = state.status === "error"
  const text = isError ? state.error : state.output
  const content: Block[] = [{ type: "text", text }]
  return [
    {
      id: part.id,
      role: "toolResult",
      toolCallId,
      toolName,
      content,
      isError,
      timestamp: state.time.end ?? timestamp,
    },
  ]
}
