import type { JsonObject } from "../../src/protocol/index.ts"
import type { Called, Phrasing } from "./phrasings/phrasing.ts"
import type { ToolCall } from "./tool-part.ts"
import { fill, type Slots, type Values } from "./values.ts"

/** A phrasing with filled slots. */
export interface FilledFact {
  phrasing: Phrasing
  keep: string[][]
  /** Fills another text of the phrasing with the same values. */
  text(template: string): string
  json(value: JsonObject): JsonObject
}

export function fillFact(phrasing: Phrasing, values: Values): FilledFact {
  const slots: Slots = new Map()
  if (phrasing.outcome !== undefined) {
    const { command, output, exit } = values.command(phrasing.outcome)
    slots.set("command", command)
    slots.set("exit", JSON.stringify(exit))
    slots.set("output", phrasing.by === "tool" ? `${filler(values)}${output}` : output)
  }
  const text = (template: string) => fill(template, { values, slots })
  const keep = phrasing.keep.map((kept) => (typeof kept === "string" ? [kept] : kept).map(text))
  return { phrasing, keep, text, json: (value) => fillJson(value, text) as JsonObject }
}

export function filledCall(
  fact: FilledFact,
  { tool, title, output, error, input, metadata }: Called,
): ToolCall {
  return {
    tool,
    input: fact.json(input),
    metadata: fact.json(metadata),
    title: fact.text(title),
    ...(output !== undefined && { output: fact.text(output) }),
    ...(error !== undefined && { error: fact.text(error) }),
  }
}

/** Lines that a command prints before its result. */
function filler({ draw, fn, noun }: Values): string {
  const lines = Array.from(
    { length: draw.int(0, 40) },
    () => `  ${draw.one(["-", "✓", "…"])} ${fn()} ${noun()} (${draw.int(1, 90)} ms)`,
  )
  return lines.map((line) => `${line}\n`).join("")
}

function fillJson(value: unknown, text: (template: string) => string): unknown {
  // A number in the JSON, not a string.
  if (value === "{exit}") return JSON.parse(text("{exit}"))
  // The command as an array of its words.
  if (value === "{argv}") return text("{command}").split(" ")
  if (typeof value === "string") return text(value)
  if (Array.isArray(value)) return value.map((each) => fillJson(each, text))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fillJson(each, text)]))
}
