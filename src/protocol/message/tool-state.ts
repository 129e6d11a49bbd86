import { z } from "zod"
import { JsonObject } from "../json.ts"

/** A file that a tool gave back; a part's fields without its place in a message. */
export const Attachment = z.object({
  id: z.string().optional(),
  type: z.literal("file"),
  mime: z.string(),
  filename: z.string().optional(),
  url: z.string(),
})
export type Attachment = z.infer<typeof Attachment>

/** The model is still writing the call; `raw` is the text of its input so far. */
export const ToolPending = z.object({
  status: z.literal("pending"),
  input: JsonObject,
  raw: z.string(),
})

export const ToolRunning = z.object({
  status: z.literal("running"),
  input: JsonObject,
  title: z.string().optional(),
  metadata: JsonObject.optional(),
  /** What the tool has printed so far. */
  output: z.string().optional(),
  time: z.object({ start: z.number() }),
})

export const ToolCompleted = z.object({
  status: z.literal("completed"),
  input: JsonObject,
  /** What the model sees; the whole output is in `outputBlob` if it was cut. */
  output: z.string(),
  outputBlob: z.string().optional(),
  title: z.string(),
  metadata: JsonObject,
  time: z.object({ start: z.number(), end: z.number(), compacted: z.number().optional() }),
  attachments: z.array(Attachment).optional(),
})

export const ToolFailed = z.object({
  status: z.literal("error"),
  input: JsonObject,
  error: z.string(),
  metadata: JsonObject.optional(),
  time: z.object({ start: z.number(), end: z.number() }),
})

export const ToolState = z.discriminatedUnion("status", [ToolPending, ToolRunning, ToolCompleted, ToolFailed])
export type ToolState = z.infer<typeof ToolState>
export type ToolStatus = ToolState["status"]

/** Which state may follow which. A settled call never changes again. */
export const toolTransitions: Record<ToolStatus, readonly ToolStatus[]> = {
  pending: ["pending", "running", "completed", "error"],
  running: ["running", "completed", "error"],
  completed: ["completed"],
  error: ["error"],
}

export function mayFollow(from: ToolStatus, to: ToolStatus): boolean {
  return toolTransitions[from].includes(to)
}

export function isSettled(state: ToolState): boolean {
  return state.status === "completed" || state.status === "error"
}
