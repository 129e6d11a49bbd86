import { createInterface } from "node:readline/promises"
import type { AskHandler, PermissionRequest, StemmaEvent } from "../src/index.ts"

/** Removes escape sequences and text-direction characters from model output before it reaches the terminal. */
export function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, "")
}

/** Prints an answer while it streams: text, tool calls and errors. */
export function createPrinter(): (event: StemmaEvent) => void {
  const hidden = new Set<string>()
  const printed = new Map<string, number>()
  const seen = new Set<string>()
  let isAtStart = true
  const print = (partID: string, offset: number, text: string) => {
    const from = printed.get(partID) ?? 0
    if (hidden.has(partID) || offset > from) return
    const rest = text.slice(from - offset)
    if (rest === "") return
    process.stdout.write(plain(rest))
    printed.set(partID, from + rest.length)
    isAtStart = rest.endsWith("\n")
  }
  const line = (key: string, text: string) => {
    if (seen.has(key)) return
    seen.add(key)
    console.log(`${isAtStart ? "" : "\n"}  ${plain(text).replaceAll("\n", " ").slice(0, 300)}`)
    isAtStart = true
  }
  return ({ type, properties }) => {
    // The user's own prompt is not printed again.
    if (type === "message.updated" && properties.info.role === "user") hidden.add(properties.info.id)
    if (type === "message.part.delta" && properties.field === "text") {
      print(properties.partID, properties.offset, properties.delta)
    }
    if (type !== "message.part.updated") return
    const { part } = properties
    if (hidden.has(part.messageID) || part.type === "reasoning") hidden.add(part.id)
    if (part.type === "text") print(part.id, 0, part.text)
    if (part.type === "retry") line(part.id, `trying again: ${part.error.data.message}`)
    if (part.type !== "tool") return
    const { status } = part.state
    if (status === "running") line(`${part.id} running`, `> ${part.tool} ${JSON.stringify(part.state.input)}`)
    if (status === "completed") line(part.id, `< ${part.state.title}`)
    if (status === "error") line(part.id, `< ${part.tool} failed: ${part.state.error}`)
  }
}

/** Asks questions on the terminal, one at a time: y means once, a means always, anything else means reject. */
export function askOnTerminal(options: { signal: AbortSignal }): AskHandler {
  let turn: Promise<unknown> = Promise.resolve()
  return (request) => {
    const answer = turn.then(() => askOnce(request, options))
    turn = answer.catch(() => {})
    return answer
  }
}

async function askOnce(request: PermissionRequest, { signal }: { signal: AbortSignal }) {
  const { permission, patterns, always, metadata } = request
  const diff = typeof metadata.diff === "string" ? `\n${metadata.diff}` : ""
  console.log(plain(`\n? ${permission}: ${patterns.join(", ")}${diff}`))
  const offer = always.length > 0 ? `, a = always for ${plain(always.join(", "))}` : ""
  using terminal = createInterface({ input: process.stdin, output: process.stdout })
  // While a question is open, the terminal sends Ctrl-C as a key, not as a signal. Both abort the answer.
  terminal.on("SIGINT", () => process.emit("SIGINT"))
  try {
    const key = (await terminal.question(`Allow it? y = once${offer}, n = no: `, { signal }))
      .trim()
      .toLowerCase()
    if (key === "y") return { reply: "once" as const }
    if (key === "a" && always.length > 0) return { reply: "always" as const }
    return { reply: "reject" as const }
  } catch {
    return undefined
  }
}
