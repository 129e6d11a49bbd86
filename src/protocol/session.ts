import { z } from "zod"
import { MessageID, PartID, SegmentID, SessionID } from "./id/id.ts"
import { FileDiff } from "./message/file-diff.ts"
import { Ruleset } from "./permission.ts"
import { ModelRef, Tokens } from "./usage.ts"

const timeMs = z.number().int().nonnegative().max(8.64e15)

/**
 * The mark of a revert that is not yet permanent: the first message or part that it hides, and a snapshot of the files
 * from before the revert.
 */
export const Revert = z.object({
  messageID: MessageID,
  partID: PartID.optional(),
  snapshot: z.string().optional(),
  diff: z.string().optional(),
})
export type Revert = z.infer<typeof Revert>

/** A tail that a revert left behind: the messages from `keep` to `count` of that segment's history. */
export const LeftTail = z.object({
  segment: SegmentID,
  keep: z.number().int().nonnegative(),
  count: z.number().int().nonnegative(),
})
export type LeftTail = z.infer<typeof LeftTail>

export const History = z.object({
  segment: SegmentID,
  /** How many messages the history has, including an open one. */
  count: z.number().int().nonnegative(),
  /** Grows whenever messages that a replica may hold were dropped or replaced. */
  epoch: z.number().int().nonnegative(),
  left: z.array(LeftTail),
})
export type History = z.infer<typeof History>

/**
 * The message of the parent session that a child works for, with that message's agent and tools. Their permissions
 * limit the child's.
 */
export const Caller = z.object({
  messageID: MessageID,
  agent: z.string().min(1),
  tools: z.record(z.string(), z.boolean()).optional(),
})
export type Caller = z.infer<typeof Caller>

/**
 * The public page of a session: its URL, the secret that a reader needs, and what the page shows beside the text. A row
 * written by an earlier version has no secret, and its page cannot be read.
 */
export const Share = z.object({
  url: z.string(),
  secret: z.string().min(20).max(256).optional(),
  include: z.object({ reasoning: z.boolean().optional(), tools: z.boolean().optional() }).optional(),
})
export type Share = z.infer<typeof Share>

/** One conversation: metadata and a pointer to a history. */
export const Session = z.object({
  id: SessionID,
  /** An outside name, unique per agent, such as `telegram:group:-100123`. */
  key: z.string().min(1).max(512).optional(),
  projectID: z.string().min(1),
  directory: z.string().min(1),
  /** Children only. */
  parentID: SessionID.optional(),
  /** Children only. */
  caller: Caller.optional(),
  forkedFrom: z.object({ sessionID: SessionID, messageID: MessageID.optional() }).optional(),
  agent: z.string().min(1).optional(),
  model: ModelRef.optional(),
  title: z.string(),
  /** The version of Stemma that made the session. */
  version: z.string(),
  summary: z
    .object({
      additions: z.number().int().nonnegative(),
      deletions: z.number().int().nonnegative(),
      files: z.number().int().nonnegative(),
      diffs: z.array(FileDiff).optional(),
    })
    .optional(),
  share: Share.optional(),
  permission: Ruleset.optional(),
  maxHistory: z.number().int().positive().optional(),
  /** The cost in dollars after which a run asks before the next model call. */
  budget: z.number().nonnegative().optional(),
  revert: Revert.optional(),
  cost: z.number().nonnegative(),
  tokens: Tokens,
  time: z.object({
    created: timeMs,
    updated: timeMs,
    compacting: timeMs.optional(),
    archived: timeMs.optional(),
  }),
  history: History,
  /** How many commits touched the session. */
  seq: z.number().int().nonnegative(),
})
export type Session = z.infer<typeof Session>

/** The fields that a caller passes to create a session. The store sets the others. */
export const NewSession = Session.omit({
  forkedFrom: true,
  revert: true,
  cost: true,
  tokens: true,
  history: true,
  seq: true,
})
export type NewSession = z.infer<typeof NewSession>

/** The fields that may be set after creation, each alone. `null` removes an optional field. */
export const SessionPatch = z
  .object({
    key: Session.shape.key.nullable(),
    caller: Session.shape.caller.nullable(),
    agent: Session.shape.agent.nullable(),
    model: Session.shape.model.nullable(),
    title: Session.shape.title,
    summary: Session.shape.summary.nullable(),
    share: Session.shape.share.nullable(),
    permission: Session.shape.permission.nullable(),
    maxHistory: Session.shape.maxHistory.nullable(),
    budget: Session.shape.budget.nullable(),
    revert: Session.shape.revert.nullable(),
    time: z.object({ updated: timeMs, compacting: timeMs.nullable(), archived: timeMs.nullable() }).partial(),
  })
  .partial()
  .strict()
export type SessionPatch = z.infer<typeof SessionPatch>

export const SessionStatus = z.discriminatedUnion("type", [
  z.object({ type: z.literal("idle") }),
  z.object({ type: z.literal("busy") }),
  z.object({ type: z.literal("retry"), attempt: z.number(), message: z.string(), next: z.number() }),
])
export type SessionStatus = z.infer<typeof SessionStatus>
