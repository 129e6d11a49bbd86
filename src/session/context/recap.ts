import type { HistoryItem, Part } from "../../protocol/index.ts"

export interface RecapOptions {
  /** The most characters of one text that are shown. */
  textMax: number
  /** The most characters of a call's input, and of its result, that are shown. */
  outputMax: number
}

/** A history as text for the model that summarises it: one string for each message. Long text is cut in the middle. */
export function recap(items: readonly HistoryItem[], options: RecapOptions): string[] {
  return items.flatMap((item) => {
    const lines = item.parts.flatMap((part) => partLines(part, item.message.role, options))
    // Continuation lines get a "> " prefix, so that quoted text cannot imitate a line that names a speaker.
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

/** Keeps the beginning and the end, which mostly say what a text is and how it ended. */
function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text
  const head = Math.ceil(max * 0.6)
  const tail = max - head
  const [begin, end] = [text.slice(0, head), text.slice(text.length - tail)]
  // Some providers reject a text with a lone surrogate.
  return `${begin} [... ${text.length - max} characters ...] ${end}`.toWellFormed()
}
