import { z } from "zod"

const file = z.object({
  type: z.literal("file"),
  name: z.string().describe("Without its folder"),
  mime: z.string(),
  bytes: z.number().int().nonnegative().optional(),
})

/** A part of a message in its public form. */
export const SharedPart = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("reasoning"), text: z.string() }),
  z.object({
    type: z.literal("tool"),
    tool: z.string(),
    status: z.enum(["completed", "error"]),
    title: z.string().optional(),
    input: z.string().optional().describe("JSON"),
    output: z.string().optional(),
    error: z.string().optional(),
  }),
  file,
  z.object({ type: z.literal("task").describe("A subagent worked on a task") }),
  z.object({ type: z.literal("compaction").describe("The history was summarised for the model") }),
])
export type SharedPart = z.infer<typeof SharedPart>

export const SharedMessage = z.object({
  id: z.string(),
  position: z.number().int().nonnegative().describe("The order of messages; there may be gaps"),
  role: z.enum(["user", "assistant"]),
  agent: z.string().optional(),
  model: z.string().optional(),
  time: z.object({ created: z.number(), completed: z.number().optional() }),
  parts: z.array(SharedPart),
  error: z.object({ name: z.string(), message: z.string() }).optional(),
})
export type SharedMessage = z.infer<typeof SharedMessage>

export const SharedHeader = z.object({
  title: z.string(),
  agent: z.string().optional(),
  model: z.string().optional(),
  time: z.object({ created: z.number(), updated: z.number() }),
  include: z.object({ reasoning: z.boolean(), tools: z.boolean() }),
})
export type SharedHeader = z.infer<typeof SharedHeader>

export const SharedDocument = z.object({
  session: SharedHeader,
  messages: z.array(SharedMessage).describe("The newest messages that fit, in order"),
  earlier: z.number().int().optional().describe("The value of `before` for earlier messages"),
  cursor: z.string().describe("Where the stream continues"),
})
export type SharedDocument = z.infer<typeof SharedDocument>

/** What the page of a session would show, before it is shared. */
export const SharePreview = SharedDocument.omit({ cursor: true }).extend({
  masked: z
    .array(
      z.object({
        kind: z.string().describe("The kind of secret, never the secret"),
        count: z.number().int().positive(),
        messageID: z.string().optional().describe("Absent for the title"),
        position: z.number().int().nonnegative().optional(),
      }),
    )
    .describe("What is masked in the title and in these messages"),
})
export type SharePreview = z.infer<typeof SharePreview>
