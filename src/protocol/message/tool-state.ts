import { z } from "zod"
import { JsonObject } from "../json.ts"

/** A file that a tool returned. It has the fields of a file part without the ids of a session and message. */
export const Attachment = z.object({
  id: z.string().optional(),
  type: z.literal("file"),
  mime: z.string(),
  filename: z.string().optional(),
  url: z.string(),
})
export type Attachment = z.infer<typeof Attachment>

/** The model is still writing the call. `raw` is the text of the input so far. */
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
  /** The output that the tool has printed so far. */
  output: z.string().optional(),
  time: z.object({ start: z.number() }),
})

export const ToolCompleted = z.object({
  status: z.literal("completed"),
  input: JsonObject,
  /** The output that the model sees. If it was cut, the blob `outputBlob` has the whole output. */
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

/** The transitions that are allowed. A settled call (completed or error) never changes again. */
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
