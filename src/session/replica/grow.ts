import type { GrowingField, PartBody } from "../../protocol/index.ts"

/** The field of this part that may grow by pieces in its current state, if any. */
export function growingField(part: PartBody): GrowingField | undefined {
  if (part.type === "text" || part.type === "reasoning") return "text"
  if (part.type !== "tool") return undefined
  if (part.state.status === "pending") return "raw"
  if (part.state.status === "running") return "output"
  return undefined
}

/** The text of the growing field. */
export function grownText(part: PartBody): string {
  if (part.type === "text" || part.type === "reasoning") return part.text
  if (part.type !== "tool") return ""
  if (part.state.status === "pending") return part.state.raw
  if (part.state.status === "running") return part.state.output ?? ""
  return ""
}

/** The same part with its growing field replaced. */
export function withGrownText<T extends PartBody>(part: T, text: string): T {
  if (part.type === "text" || part.type === "reasoning") return { ...part, text }
  if (part.type !== "tool") return part
  if (part.state.status === "pending") return { ...part, state: { ...part.state, raw: text } }
  if (part.state.status === "running") return { ...part, state: { ...part.state, output: text } }
  return part
}
