import { z } from "zod"
import { MessageID, SessionID } from "../id/id.ts"
import { ModelRef, Tokens } from "../usage.ts"
import { FileDiff } from "./file-diff.ts"
import { MessageError } from "./message-error.ts"

/** Whole milliseconds since 1970, within the range of a JavaScript Date. */
const timeMs = z.number().int().nonnegative().max(8.64e15)

export const UserSummary = z.object({
  title: z.string().optional(),
  body: z.string().optional(),
  diffs: z.array(FileDiff),
})
export type UserSummary = z.infer<typeof UserSummary>

export const UserBody = z.object({
  id: MessageID,
  role: z.literal("user"),
  time: z.object({ created: timeMs }),
  agent: z.string(),
  model: ModelRef,
  /** Added to the system prompt for this message only. */
  system: z.string().optional(),
  tools: z.record(z.string(), z.boolean()).optional(),
  variant: z.string().optional(),
  /** Limits which references are resolved, in the message and in the tasks that its answer starts. Absent: all. */
  references: z.enum(["files", "none"]).optional(),
  /** No person can answer for this message: a call that needs a person's permission is refused at once. */
  unattended: z.boolean().optional(),
  /** Written after the turn ended; stored as a note. */
  summary: UserSummary.optional(),
})
export type UserBody = z.infer<typeof UserBody>

export const AssistantBody = z.object({
  id: MessageID,
  role: z.literal("assistant"),
  time: z.object({ created: timeMs, completed: timeMs.optional() }),
  error: MessageError.optional(),
  /** The id of the user message that this message answers. */
  parentID: MessageID,
  modelID: z.string(),
  providerID: z.string(),
  /** An older name for `agent`, kept for sessions that were imported. */
  mode: z.string().optional(),
  agent: z.string(),
  path: z.object({ cwd: z.string(), root: z.string() }),
  /** True for the message that holds a compaction's summary. */
  summary: z.boolean().optional(),
  cost: z.number().nonnegative(),
  tokens: Tokens,
  finish: z.string().optional(),
})
export type AssistantBody = z.infer<typeof AssistantBody>

/** A message as it is stored. It does not name its session, because many sessions may share it. */
export const MessageBody = z.discriminatedUnion("role", [UserBody, AssistantBody])
export type MessageBody = z.infer<typeof MessageBody>

/** A message as it is read, with the id of the session that it was read from. */
export const Message = z.intersection(MessageBody, z.object({ sessionID: SessionID }))
export type Message = MessageBody & { sessionID: string }
export type UserMessage = UserBody & { sessionID: string }
export type AssistantMessage = AssistantBody & { sessionID: string }
