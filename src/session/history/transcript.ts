import type { HistoryItem, Part } from "../../protocol/index.ts"

/**
 * The history as text for people, with a line for each text, call and result: `[USER] ...`, `[ASSISTANT] ...`, `[TOOL]
 * tool_use: name`, `[TOOL] tool_result: ...`. A result is put on one line. `last` limits the transcript to the last
 * messages. With `withInput`, the line of a call has the call's arguments as JSON.
 */
export function transcript(
  items: readonly HistoryItem[],
  options: { last?: number; withInput?: boolean } = {},
): string {
  const { last, withInput = false } = options
  const chosen = last === undefined ? items : items.slice(Math.max(0, items.length - last))
  return chosen.flatMap((item) => itemLines(item, withInput)).join("\n")
}

function itemLines(item: HistoryItem, withInput: boolean): string[] {
  const speaker = item.message.role === "user" ? "USER" : "ASSISTANT"
  return item.parts.flatMap((part) => {
    const text = spokenText(part)
    return text === undefined ? toolLines(part, withInput) : [`[${speaker}] ${text}`]
  })
}

function spokenText(part: Part): string | undefined {
  if (part.type === "file") return `[file: ${part.filename ?? part.mime}]`
  return part.type === "text" && part.text !== "" ? part.text : undefined
}

function toolLines(part: Part, withInput: boolean): string[] {
  if (part.type !== "tool") return []
  const use = `[TOOL] tool_use: ${part.tool}${withInput ? ` ${JSON.stringify(part.state.input)}` : ""}`
  if (part.state.status === "completed") return [use, `[TOOL] tool_result: ${onOneLine(part.state.output)}`]
  if (part.state.status === "error") return [use, `[TOOL] tool_result: error: ${onOneLine(part.state.error)}`]
  return [use]
}

function onOneLine(text: string): string {
  return text.replaceAll("\r\n", "\\n").replaceAll("\n", "\\n")
}

/** Only the text parts, as plain text: `[user] ...` and `[assistant] ...` with an empty line between messages. */
export function sessionText(items: readonly HistoryItem[]): string {
  return items
    .map((item) => ({
      role: item.message.role,
      text: item.parts
        .flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
        .join("\n"),
    }))
    .filter(({ text }) => text !== "")
    .map(({ role, text }) => `[${role}] ${text}`)
    .join("\n\n")
}
