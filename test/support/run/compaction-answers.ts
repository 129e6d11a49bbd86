import type { ConfigInput } from "../../../src/index.ts"
import type { Answer, RequestBody, ServedRequest } from "../model-server/answer.ts"

const threshold = 20_000

/** A context of more than 20,000 tokens is compacted. */
export const compactionConfig: ConfigInput = { compaction: { threshold } }

export const summaryText = "Of the summary, these are the words."

export function isCompactionRequest({ body }: ServedRequest): boolean {
  return JSON.stringify(body.messages).includes("<conversation>")
}

/**
 * The answers of the model: a slow summary; to `say TEXT` the text; to `loop TEXT` a call of `look` in the first two
 * steps, of which the first reports a full context.
 */
export function compactionAnswer(options: { summary?: Answer } = {}): (request: ServedRequest) => Answer {
  return (request) => {
    if (isCompactionRequest(request)) {
      return options.summary ?? { text: summaryText, firstDelayMs: 100, tokenDelayMs: 30 }
    }
    const { text, looks } = lastPrompt(request.body)
    const isLoop = text.startsWith("loop")
    if (!isLoop || looks >= 2) return { text: `answer to ${text}`, tokenDelayMs: 5 }
    const input = { number: looks, waitMs: 20 }
    return {
      text: "Looking.",
      calls: [{ tool: "look", input }],
      usage: { input: looks === 0 ? 30_000 : 100 },
    }
  }
}

/** The last prompt, even if the summary hides it, and the number of `look` calls that the context shows after it. */
function lastPrompt({ messages }: RequestBody): { text: string; looks: number } {
  const texts = messages.map(({ role, content }) => (role === "user" ? JSON.stringify(content) : ""))
  const at = texts.findLastIndex((text) => /\b(say|loop) \w+/.test(text))
  const text = /\b(?:say|loop) \w+/g
  const found = at < 0 ? [] : [...texts[at]!.matchAll(text)]
  const looks = messages.filter((message, index) => index > at && message.tool_calls !== undefined).length
  const isGoneOn = texts.slice(at).some((later) => later.includes("summarised to make room"))
  return { text: found.at(-1)?.[0] ?? "nothing", looks: isGoneOn ? Math.max(1, looks) : looks }
}
