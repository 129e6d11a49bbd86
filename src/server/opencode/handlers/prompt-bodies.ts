import { z } from "zod"
import { AgentPart, FilePart, MessageID, ModelRef, SubtaskPart, TextPart } from "../../../protocol/index.ts"
import { modelName, name, tools } from "../../../protocol/routes/shapes.ts"
import type { PromptOptions } from "../../../run/index.ts"

/** The model of a session, in the shape of the OpenCode client. */
export const WireModelName = z.object({
  id: z.string().min(1),
  providerID: z.string().min(1),
  variant: z.never("a session cannot have a variant: send it with each prompt").optional(),
})

const noID = { id: true } as const
const sourceText = z.object({ value: z.string(), start: z.number().int(), end: z.number().int() })

/** A symbol counts as the file that contains it. */
const FileSource = z
  .discriminatedUnion(
    "type",
    [
      z.object({ type: z.literal("file"), path: z.string(), text: sourceText }),
      z.object({ type: z.literal("symbol"), path: z.string(), text: sourceText }),
    ],
    "expected a source of the type file or symbol: resources are not supported",
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
  "answers by a schema are not supported: leave out format and ask for JSON in the prompt",
)

export const PromptBody = z.object({
  messageID: MessageID.optional(),
  model: ModelRef.optional(),
  agent: name.optional(),
  noReply: z.boolean().optional().describe("Only adds the message, without an answer"),
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
    .max(0, "a command takes no files: name them in its arguments with @path")
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

/**
 * No references are resolved: the OpenCode client finds the files and agents in a text itself, and sends them as parts.
 */
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
