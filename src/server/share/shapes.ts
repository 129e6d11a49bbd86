import { z } from "zod"

const file = z.object({
  type: z.literal("file"),
  name: z.string().describe("Without the folder that it was in"),
  mime: z.string(),
  bytes: z.number().int().nonnegative().optional(),
})

/** A part of a message, as everybody may see it. */
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
  z.object({ type: z.literal("task").describe("A subagent was asked") }),
  z.object({ type: z.literal("compaction").describe("The history was summarised for the model") }),
])
export type SharedPart = z.infer<typeof SharedPart>

export const SharedMessage = z.object({
  id: z.string(),
  position: z.number().int().nonnegative().describe("Orders messages; there may be gaps"),
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
  messages: z.array(SharedMessage).describe("The newest that fit, in order"),
  earlier: z.number().int().optional().describe("Give it as `before` for what came earlier"),
  cursor: z.string().describe("From where the stream goes on"),
})
export type SharedDocument = z.infer<typeof SharedDocument>
