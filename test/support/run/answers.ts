import type { Answer, PlainAnswer, RequestBody, ServedRequest } from "../model-server/answer.ts"

/** The delay between two deltas of a long answer. */
const tokenDelayMs = 6
const waitMs = 40

/**
 * The answers of the model. To `work N` it streams reasoning and text and calls tools in the first steps, and only
 * streams text in the last; N separates the files of prompts. To `say TEXT` it answers with the text, to `wish N` it
 * calls a tool that needs permission first, to `slow N` it streams for long, to `die` it calls a tool that kills the
 * process.
 */
export function runAnswer(request: ServedRequest): Answer {
  const { text, rounds } = lastPrompt(request.body)
  const [word, ...rest] = text.split(" ")
  const number = Number(rest[0] ?? 0)
  switch (word) {
    case "work":
      return workAnswer(number, rounds)
    case "wish":
      if (rounds > 0) return { text: `granted ${number}` }
      return { text: "May I?", calls: [{ tool: "wish", input: { number, waitMs: 0 } }] }
    case "slow":
      return { text: words(`slow${number}`, 80), tokenDelayMs: 10 }
    case "die":
      return rounds > 0
        ? { text: "alive" }
        : { text: "Farewell.", calls: [{ tool: "die", input: { number: 0, waitMs: 0 } }] }
    default:
      return { text: `answer to ${text}` }
  }
}

function workAnswer(number: number, rounds: number): PlainAnswer {
  const call = (tool: string, offset: number) => ({
    tool,
    input: { number: number * 10 + offset, waitMs: waitMs + offset * 10 },
  })
  if (rounds === 0) {
    return {
      reasoning: words("thought", 8),
      text: words("first", 45),
      calls: [call("look", 0), call("note", 1), call("put", 2), call("note", 3)],
      tokenDelayMs,
    }
  }
  if (rounds === 1) {
    return { text: words("second", 20), calls: [call("note", 4), call("look", 5)], tokenDelayMs }
  }
  return { text: words("third", 30), tokenDelayMs }
}

/** Contains characters of two UTF-16 units, to find code that splits them. */
function words(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}${index} 🙂 `)
}

/** The last prompt and the number of steps with calls that have answered it. */
function lastPrompt({ messages }: RequestBody): { text: string; rounds: number } {
  const at = messages.findLastIndex((message) => message.role === "user" && isPrompt(textOf(message.content)))
  const rounds = messages.filter((message, index) => index > at && message.tool_calls !== undefined).length
  return { text: textOf(messages[at]?.content), rounds }
}

function isPrompt(text: string): boolean {
  return /^(work|wish|slow|say|die)\b/.test(text)
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content
  const parts = (Array.isArray(content) ? content : []) as { text?: string }[]
  return parts.map((part) => part.text ?? "").join("")
}

/** The prompts in a request, in order. */
export function promptTexts({ messages }: RequestBody): string[] {
  return messages.flatMap(({ role, content }) => {
    const text = role === "user" ? textOf(content) : ""
    return isPrompt(text) ? [text] : []
  })
}

/**
 * Problems in a request: every call must be followed by exactly one result before the next message, and the last
 * message must not be the model's own.
 */
export function pairProblems({ messages }: RequestBody): string[] {
  const problems: string[] = []
  let waiting = new Set<string>()
  const known = new Set<string>()
  for (const message of messages) {
    if (message.role === "tool") {
      const id = message.tool_call_id!
      if (!waiting.delete(id)) problems.push(`a result without its call: ${id}`)
      continue
    }
    for (const id of waiting) problems.push(`a call without its result: ${id}`)
    waiting = new Set((message.tool_calls as { id: string }[] | undefined)?.map(({ id }) => id))
    for (const id of waiting) {
      if (known.has(id)) problems.push(`a call twice: ${id}`)
      known.add(id)
    }
  }
  for (const id of waiting) problems.push(`a call without its result: ${id}`)
  if (messages.at(-1)?.role === "assistant") problems.push("the model is asked by itself")
  return problems
}
