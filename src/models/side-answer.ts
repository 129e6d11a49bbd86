import { type ContextMessage, titleFromText } from "../session/index.ts"
import type { ModelRequest } from "./model.ts"

const wishesMax = 20
const wishLengthMax = 200

/** What a model without understanding says when it is asked for a title or a summary: the user's own words. */
export function sideAnswer({ purpose, messages }: ModelRequest): string {
  const texts = userTexts(messages)
  if (purpose === "title") return titleFromText(texts[0] ?? "") || "A session"
  if (texts.length === 0) return "Nothing was asked yet."
  const wishes = texts.slice(-wishesMax).map((text) => `- ${shortened(text)}`)
  return `The user asked, in this order:\n${wishes.join("\n")}`
}

function userTexts(messages: readonly ContextMessage[]): string[] {
  const texts: string[] = []
  for (const message of messages) {
    if (message.role !== "user") continue
    for (const part of message.content) if (part.type === "text" && part.text.trim()) texts.push(part.text)
  }
  return texts
}

function shortened(text: string): string {
  const line = text.trim().replace(/\s+/g, " ")
  return line.length > wishLengthMax ? `${line.slice(0, wishLengthMax).toWellFormed()}...` : line
}
