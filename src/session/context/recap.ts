import type { HistoryItem, Part } from "../../protocol/index.ts"

export interface RecapOptions {
  /** So many characters of what was said at once are shown. */
  textMax: number
  /** So many characters of a call's input, and of its result. */
  outputMax: number
}

/** A history as text for whoever summarises it, a piece for each message; long output is cut in its middle. */
export function recap(items: readonly HistoryItem[], options: RecapOptions): string[] {
  return items.flatMap((item) => {
    const lines = item.parts.flatMap((part) => partLines(part, item.message.role, options))
    // Only what stands at the beginning of a line says who speaks.
    return lines.length > 0
      ? [lines.map((line) => line.replace(/\r\n|[\n\r\u2028\u2029]/g, "\n> ")).join("\n")]
      : []
  })
}

function partLines(part: Part, role: "user" | "assistant", options: RecapOptions): string[] {
  switch (part.type) {
    case "text": {
      if (part.ignored || part.text.trim() === "") return []
      const speaker = part.synthetic ? "note" : role
      return [`[${speaker}] ${cutMiddle(part.text, options.textMax)}`]
    }
    case "file":
      return [`[${role}] (file: ${part.filename ?? part.mime})`]
    case "subtask":
      return [`[${role}] Task for @${part.agent}: ${cutMiddle(part.prompt, options.textMax)}`]
    case "tool":
      return toolLines(part, options.outputMax)
    case "patch":
      return [`[files changed] ${cutMiddle(part.files.join(", "), options.textMax)}`]
    default:
      return []
  }
}

function toolLines(part: Extract<Part, { type: "tool" }>, max: number): string[] {
  const { state } = part
  const call = `[call] ${part.tool} ${cutMiddle(JSON.stringify(state.input), max)}`
  if (state.status === "completed") return [call, `[result] ${cutMiddle(state.output, max)}`]
  if (state.status === "error") return [call, `[error] ${cutMiddle(state.error, max)}`]
  return [call, "[error] It was cut off."]
}

/** The beginning and the end, which mostly say what a text is and how it came out. */
function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text
  const head = Math.ceil(max * 0.6)
  const tail = max - head
  const [begin, end] = [text.slice(0, head), text.slice(text.length - tail)]
  // Half a character is refused by some providers.
  return `${begin} [... ${text.length - max} characters ...] ${end}`.toWellFormed()
}
