import { z } from "zod"
import { MessageID, PartID, SessionID } from "../id/id.ts"
import { JsonObject } from "../json.ts"
import { ModelRef, Tokens } from "../usage.ts"
import { LedgerFacts } from "./ledger.ts"
import { MessageError } from "./message-error.ts"
import { ToolState } from "./tool-state.ts"

const span = z.object({ start: z.number(), end: z.number().optional() })

/** Spans of a text, in UTF-16 units. */
export const TextSpans = z.array(
  z.object({ start: z.number().int().nonnegative(), end: z.number().int().nonnegative() }),
)
export type TextSpans = z.infer<typeof TextSpans>

export const TextPart = z.object({
  id: PartID,
  type: z.literal("text"),
  text: z.string(),
  /** Written by Stemma, not by a person or a model. */
  synthetic: z.boolean().optional(),
  /** Shown to people, never to the model. */
  ignored: z.boolean().optional(),
  time: span.optional(),
  metadata: JsonObject.optional(),
})

export const ReasoningPart = z.object({
  id: PartID,
  type: z.literal("reasoning"),
  text: z.string(),
  time: span,
  metadata: JsonObject.optional(),
})

export const ToolPart = z.object({
  id: PartID,
  type: z.literal("tool"),
  callID: z.string().min(1),
  tool: z.string().min(1),
  state: ToolState,
  metadata: JsonObject.optional(),
})

const sourceText = z.object({ value: z.string(), start: z.number().int(), end: z.number().int() })

export const FilePart = z.object({
  id: PartID,
  type: z.literal("file"),
  mime: z.string().min(1),
  filename: z.string().optional(),
  /** `blob:<sha256>`, `file:`, `data:` or `https:`. */
  url: z.string().min(1),
  source: z.object({ type: z.literal("file"), path: z.string(), text: sourceText }).optional(),
})

export const AgentPart = z.object({
  id: PartID,
  type: z.literal("agent"),
  name: z.string().min(1),
  source: sourceText.optional(),
})

export const SubtaskPart = z.object({
  id: PartID,
  type: z.literal("subtask"),
  prompt: z.string(),
  description: z.string(),
  agent: z.string().min(1),
  model: ModelRef.optional(),
  command: z.string().optional(),
  /**
   * Spans of references in `prompt` that come from a command template the user trusts. They need no permission request.
   */
  fixed: TextSpans.optional(),
  /** Limits which references in `prompt` are resolved. Absent: all. */
  references: z.enum(["files", "none"]).optional(),
})

export const CompactionPart = z.object({
  id: PartID,
  type: z.literal("compaction"),
  auto: z.boolean(),
  summary: z.string().optional(),
  /** Made by code from the history: the facts that must survive word for word. */
  ledger: z.string().optional(),
  /** The facts that the ledger was made from. The next compaction adds to them. */
  facts: LedgerFacts.optional(),
  /** The first message that stays whole in the context. */
  firstKeptEntryId: MessageID.optional(),
  tokensBefore: z.number().int().nonnegative().optional(),
  tokensAfter: z.number().int().nonnegative().optional(),
  /** About how many tokens of history the summary and the ledger replace. */
  tokensHidden: z.number().int().nonnegative().optional(),
})

export const RetryPart = z.object({
  id: PartID,
  type: z.literal("retry"),
  attempt: z.number().int().positive(),
  error: MessageError,
  time: z.object({ created: z.number() }),
})

export const StepStartPart = z.object({
  id: PartID,
  type: z.literal("step-start"),
  snapshot: z.string().optional(),
  /** From this step on, the output of these tool calls is hidden from the model. */
  prune: z.object({ time: z.number(), parts: z.array(PartID) }).optional(),
})

export const StepFinishPart = z.object({
  id: PartID,
  type: z.literal("step-finish"),
  reason: z.string(),
  snapshot: z.string().optional(),
  cost: z.number().nonnegative(),
  tokens: Tokens,
})

export const SnapshotPart = z.object({ id: PartID, type: z.literal("snapshot"), snapshot: z.string() })

export const PatchPart = z.object({
  id: PartID,
  type: z.literal("patch"),
  hash: z.string(),
  files: z.array(z.string()),
})

/** A part as it is stored. It does not name its session or message, because many sessions may share it. */
export const PartBody = z.discriminatedUnion("type", [
  TextPart,
  ReasoningPart,
  ToolPart,
  FilePart,
  AgentPart,
  SubtaskPart,
  CompactionPart,
  RetryPart,
  StepStartPart,
  StepFinishPart,
  SnapshotPart,
  PatchPart,
])
export type PartBody = z.infer<typeof PartBody>
export type PartType = PartBody["type"]

const owner = z.object({ sessionID: SessionID, messageID: MessageID })

/** A part as it is read, with the ids of its session and message. */
export const Part = z.intersection(PartBody, owner)
export type Part = PartBody & { sessionID: string; messageID: string }
export type PartOf<T extends PartType> = Extract<PartBody, { type: T }> & {
  sessionID: string
  messageID: string
}

/** The fields of a part that grow by pieces while the part's message is open. */
export const GrowingField = z.enum(["text", "raw", "output"])
export type GrowingField = z.infer<typeof GrowingField>
