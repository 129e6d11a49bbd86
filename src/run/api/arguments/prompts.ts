import { z } from "zod"
import { JsonObject, MessageID, PartBody, PromptParts, type TextPart } from "../../../protocol/index.ts"
import type { PromptOptions, PromptPart } from "../../prompt/prompt.ts"
import type { AppendInput, AppendPart } from "../append-message.ts"
import type { ShellInput, ShellOptions } from "../shell-command.ts"
import { flag, modelName, name, optionsOf, text } from "./call-options.ts"
import { checkArgument, checkOptions, ownCopy, wrongArgument } from "./check.ts"

export const promptOptions = optionsOf<PromptOptions>("session.prompt", {
  messageID: MessageID,
  delivery: z.enum(["steer", "queue"], "expected steer or queue"),
  agent: name,
  model: modelName,
  system: text,
  tools: z.record(z.string(), flag, "expected names of tools with true or false"),
  variant: text,
  references: z.enum(["all", "files", "none"], "expected all, files or none"),
  unattended: flag,
})

const shellOptions = optionsOf<ShellOptions>("session.shell", {
  agent: name,
  model: modelName,
  messageID: MessageID,
})
const line = "expected a command that is not blank, has no NUL in it and at most 100,000 characters"
const commandText = z
  .string(line)
  .max(100_000, line)
  .regex(/\S/, line)
  .regex(/^[^\0]*$/, line)

export function shellInput(command: unknown, options: unknown): ShellInput {
  const checked = checkArgument(commandText, command, { call: "session.shell", name: "command" })
  return { command: checked, ...shellOptions(options) }
}

const noID = { id: true } as const

const prompt = { call: "session.prompt", name: "prompt" }
const message = { call: "session.append", name: "message" }

/** The parts of a prompt, as copies. `promptItem` checks whether they make a prompt. */
export function promptInput(value: unknown): PromptPart[] {
  if (typeof value === "string") return [{ type: "text", text: value }]
  return checkArgument(PromptParts, value, prompt).map(ownMetadata)
}

/** zod passes metadata through without copying it. */
function ownMetadata(part: PromptPart): PromptPart {
  return part.type === "text" && part.metadata ? { ...part, metadata: ownCopy(part.metadata, prompt) } : part
}

function checkPartIDs(parts: readonly { id?: string }[], argument: { call: string; name: string }): void {
  const ids = parts.flatMap(({ id }) => id ?? [])
  const twice = ids.find((id, index) => ids.indexOf(id) !== index)
  if (twice === undefined) return
  throw wrongArgument(argument, `two parts have the id ${twice}; give each its own, or none`)
}

const appended = { id: MessageID.optional(), role: z.string() }

const appendShapes = {
  text: { ...appended, text: z.string("expected a text, or parts instead"), synthetic: flag.optional() },
  parts: {
    ...appended,
    parts: z.array(
      z.discriminatedUnion(
        "type",
        PartBody.options.map((part) => (part as typeof TextPart).partial(noID)) as never,
        "expected a part with its type",
      ) as z.ZodType<AppendPart>,
      "expected a list of parts",
    ),
  },
  tool: {
    ...appended,
    tool: name,
    callID: name.optional(),
    input: JsonObject.optional(),
    output: text.optional(),
    error: text.optional(),
    title: text.optional(),
  },
}

const appendSchemas = {
  text: z.strictObject(appendShapes.text),
  parts: z.strictObject(appendShapes.parts),
  tool: z.strictObject(appendShapes.tool),
}

const roled = z.looseObject({
  role: z.enum(["user", "assistant", "tool"], "expected user, assistant or tool"),
})

export function appendInput(value: unknown): AppendInput {
  const given = checkOptions(roled, value, message)
  if (given.role !== "tool" && given.text !== undefined && given.parts !== undefined) {
    throw wrongArgument(message, "give text or parts, not both")
  }
  if (given.role === "tool" && given.output !== undefined && given.error !== undefined) {
    throw wrongArgument(message, "give output or error, not both")
  }
  const form = given.role === "tool" ? "tool" : given.parts === undefined ? "text" : "parts"
  const known = Object.keys(appendShapes[form])
  const input = checkArgument<unknown>(appendSchemas[form], given, { ...message, known })
  const own = ownCopy(input, message) as AppendInput
  if ("parts" in own) checkPartIDs(own.parts, message)
  return own
}
