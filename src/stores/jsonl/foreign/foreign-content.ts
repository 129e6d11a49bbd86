import type { Attachment, PartBody } from "../../../protocol/index.ts"
import { isObject } from "../format/lines.ts"

type ToolPart = PartBody & { type: "tool" }
type RunningPart = ToolPart & { state: { status: "running" } }

/** Decodes the parts of a foreign message. Its content is a string or a list of blocks; unknown blocks are skipped. */
export function foreignParts(
  content: unknown,
  context: { timeMs: number; partID(number: number): string },
): PartBody[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content
  if (!Array.isArray(blocks)) return []
  const parts: PartBody[] = []
  for (const block of blocks as unknown[]) {
    const part = isObject(block) ? foreignPart(block, context.timeMs) : undefined
    if (part) parts.push({ ...part, id: context.partID(parts.length + 1) })
  }
  return parts
}

function foreignPart(block: Record<string, unknown>, timeMs: number): PartBody | undefined {
  const id = ""
  switch (block.type) {
    case "text":
      return typeof block.text === "string" ? { id, type: "text", text: block.text } : undefined
    case "thinking":
      return typeof block.thinking === "string"
        ? { id, type: "reasoning", text: block.thinking, time: { start: timeMs, end: timeMs } }
        : undefined
    case "image":
      return imagePart(block)
    case "toolCall":
    case "tool_use": {
      const callID = messageText(block.id)
      const tool = messageText(block.name)
      const input = isObject(block.arguments) ? block.arguments : isObject(block.input) ? block.input : {}
      if (!callID || !tool) return undefined
      return { id, type: "tool", callID, tool, state: { status: "running", input, time: { start: timeMs } } }
    }
    default:
      return undefined
  }
}

function imagePart(block: Record<string, unknown>): (PartBody & { type: "file" }) | undefined {
  const { data, mimeType } = block
  if (typeof data !== "string" || typeof mimeType !== "string" || mimeType === "") return undefined
  return { id: "", type: "file", mime: mimeType, url: `data:${mimeType};base64,${data}` }
}

/** Returns the tool calls without a result. */
export function unsettledCalls(parts: PartBody[]): { index: number; part: RunningPart }[] {
  return parts.flatMap((part, index) =>
    part.type === "tool" && part.state.status === "running" ? [{ index, part: part as RunningPart }] : [],
  )
}

/** Returns the tool call with the result from a `toolResult` line. */
export function settleCall(part: ToolPart, message: Record<string, unknown>, timeMs: number): ToolPart {
  const { input } = part.state
  const start = part.state.status === "running" ? part.state.time.start : timeMs
  const time = { start, end: Math.max(start, timeMs) }
  const blocks = Array.isArray(message.content) ? (message.content as unknown[]).filter(isObject) : []
  const texts = blocks.flatMap((block) => (typeof block.text === "string" ? [block.text] : []))
  const text = typeof message.content === "string" ? message.content : texts.join("\n")
  if (message.isError === true) return { ...part, state: { status: "error", input, error: text, time } }
  const attachments = blocks.flatMap((block): Attachment[] => {
    const image = block.type === "image" ? imagePart(block) : undefined
    return image ? [{ type: "file", mime: image.mime, url: image.url }] : []
  })
  return {
    ...part,
    state: {
      status: "completed",
      input,
      output: text,
      title: part.tool,
      metadata: {},
      time,
      ...(attachments.length > 0 ? { attachments } : {}),
    },
  }
}

export function messageText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined
}
