import { z } from "zod"
import { AgentPart, FilePart, SubtaskPart, TextPart } from "./message/part.ts"

const withoutID = { id: true } as const

/** The parts of a prompt as a caller gives them: ids may be missing and are filled in. */
export const PromptParts = z
  .array(
    z.discriminatedUnion(
      "type",
      [
        TextPart.partial(withoutID),
        FilePart.partial(withoutID),
        AgentPart.partial(withoutID),
        SubtaskPart.omit({ fixed: true, references: true }).partial(withoutID),
      ],
      "expected a text, file, agent or subtask part",
    ),
    "expected a text or a list of parts",
  )
  .min(1, "expected a text or at least one part")

/** In characters. No model takes more, and the server answers nobody else while it reads a text. */
const promptTextMax = 4_000_000

/** What is wrong with parts that have the right shape; undefined for a prompt that a session can answer. */
export function promptProblem(parts: z.infer<typeof PromptParts>): string | undefined {
  const length = parts.reduce((sum, part) => sum + textLength(part), 0)
  if (length > promptTextMax) {
    return `expected texts of at most ${promptTextMax} characters, not ${length}; attach a long text as a file`
  }
  if (!parts.some(hasContent)) return "expected a text that is not blank, a file or a subtask"
  const ids = parts.flatMap(({ id }) => id ?? [])
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  return twice === undefined ? undefined : `two parts have the id ${twice}; give each its own, or none`
}

function textLength(part: z.infer<typeof PromptParts>[number]): number {
  if (part.type === "text") return part.text.length
  return part.type === "subtask" ? part.prompt.length : 0
}

function hasContent(part: z.infer<typeof PromptParts>[number]): boolean {
  if (part.type === "text") return !part.ignored && /\S/.test(part.text)
  return part.type === "file" || part.type === "subtask"
}
