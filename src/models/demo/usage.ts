import type { Tokens } from "../../protocol/index.ts"
import { type ContextMessage, estimateTokens } from "../../session/index.ts"
import type { ModelRequest } from "../model.ts"
import type { PlayedAnswer } from "../play-answer.ts"

/** A message or schema is the same object in every step, so its tokens are counted once. */
const counted = new WeakMap<object, number>()

function countOnce(value: object, text: () => string): number {
  const known = counted.get(value)
  if (known !== undefined) return known
  const tokens = estimateTokens(text())
  counted.set(value, tokens)
  return tokens
}

/** Estimates the tokens that a real model would have used. */
export function estimateUsage(request: ModelRequest, answer: PlayedAnswer): Tokens {
  let input = estimateTokens(request.system.join("\n"))
  for (const message of request.messages) input += countOnce(message, () => messageText(message))
  for (const tool of request.tools) {
    input += estimateTokens(tool.name + tool.description)
    input += countOnce(tool.inputSchema, () => JSON.stringify(tool.inputSchema))
  }
  const text = typeof answer.text === "string" ? answer.text : (answer.text?.join("") ?? "")
  const output = estimateTokens(text + (answer.calls?.length ? JSON.stringify(answer.calls) : ""))
  return { input, output, reasoning: 0, cache: { read: 0, write: 0 } }
}

function messageText(message: ContextMessage): string {
  const texts: string[] = []
  for (const part of message.content) {
    if (part.type === "text" || part.type === "reasoning") texts.push(part.text)
    else if (part.type === "tool-call") texts.push(part.tool, JSON.stringify(part.input))
    else if (part.type === "tool-result") texts.push(part.output)
  }
  return texts.join("\n")
}
