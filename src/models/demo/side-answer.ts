import { type ContextMessage, titleFromText } from "../../session/index.ts"
import type { ModelRequest } from "../model.ts"

const wishesMax = 20
const wishLengthMax = 200

/** The answer of the guide and of scripted models to a request for a title or a summary: the user's own words. */
export function sideAnswer({ purpose, messages }: ModelRequest): string {
  const texts = purpose === "compaction" ? recappedTexts(messages) : userTexts(messages)
  if (purpose === "title") return titleFromText(texts[0] ?? "") || "A session"
  if (texts.length === 0) return "Nothing was asked yet."
  const wishes = texts.slice(-wishesMax).map((text) => `- ${shortened(text)}`)
  return `The user asked, in this order:\n${wishes.join("\n")}`
}

/** A request for a compaction holds the conversation as text, with one line for each message and each earlier item. */
function recappedTexts(messages: readonly ContextMessage[]): string[] {
  const lines = userTexts(messages).join("\n").split("\n")
  const said = lines.filter((line) => line.startsWith("[user] ")).map((line) => line.slice("[user] ".length))
  const before = lines.filter((line) => line.startsWith("- ")).map((line) => line.slice(2))
  const all = [...before, ...said].filter((line) => line.trim() !== "")
  return all.length > 0 ? all : userTexts(messages)
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
