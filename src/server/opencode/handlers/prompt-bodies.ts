import { z } from "zod"
import { AgentPart, FilePart, MessageID, ModelRef, SubtaskPart, TextPart } from "../../../protocol/index.ts"
import { modelName, name, tools } from "../../../protocol/routes/shapes.ts"
import type { PromptOptions } from "../../../run/index.ts"

/** As that client names the model of a session. */
export const WireModelName = z.object({
  id: z.string().min(1),
  providerID: z.string().min(1),
  variant: z.never("a session has no variant here: send it with each prompt").optional(),
})

const noID = { id: true } as const
const sourceText = z.object({ value: z.string(), start: z.number().int(), end: z.number().int() })

/** A symbol is taken for the file that it is in. */
const FileSource = z
  .discriminatedUnion(
    "type",
    [
      z.object({ type: z.literal("file"), path: z.string(), text: sourceText }),
      z.object({ type: z.literal("symbol"), path: z.string(), text: sourceText }),
    ],
    "expected a source of the type file or symbol: resources are not there",
  )
  .transform(({ path, text }) => ({ type: "file" as const, path, text }))

const Parts = z
  .array(
    z.discriminatedUnion("type", [
      TextPart.partial(noID),
      FilePart.partial(noID).extend({ source: FileSource.optional() }),
      AgentPart.partial(noID),
      SubtaskPart.omit({ fixed: true, references: true }).partial(noID),
    ]),
  )
  .min(1, "expected at least one part")

const Format = z.discriminatedUnion(
  "type",
  [z.object({ type: z.literal("text") })],
  "answers by a schema are not there: leave format out and ask for JSON in the prompt",
)

export const PromptBody = z.object({
  messageID: MessageID.optional(),
  model: ModelRef.optional(),
  agent: name.optional(),
  noReply: z.boolean().optional().describe("Only adds the message; nobody answers"),
  tools: tools.optional(),
  format: Format.optional(),
  system: z.string().optional(),
  variant: z.string().optional(),
  parts: Parts,
})
export type PromptBody = z.infer<typeof PromptBody>

export const CommandBody = z.object({
  messageID: MessageID.optional(),
  agent: name.optional(),
  model: modelName.optional(),
  arguments: z.string(),
  command: z.string().min(1).max(1000),
  variant: z.string().optional(),
  parts: z
    .array(z.unknown())
    .max(0, "a command takes no files here: name them in its arguments with @path")
    .optional(),
})
export type CommandBody = z.infer<typeof CommandBody>

export const ShellBody = z.object({
  messageID: MessageID.optional(),
  agent: name.optional(),
  model: ModelRef.optional(),
  command: z.string().min(1).max(100_000),
})
export type ShellBody = z.infer<typeof ShellBody>

/** That client finds the files and agents that a text names by itself, and sends them as parts. */
export function promptOptions({
  noReply: _,
  format: _f,
  parts: _p,
  model,
  ...rest
}: PromptBody): PromptOptions {
  return { ...rest, ...(model && { model: modelText(model) }), references: "none" }
}

export function modelText({ providerID, modelID }: ModelRef): string {
  return `${providerID}/${modelID}`
}
