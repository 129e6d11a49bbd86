import { z } from "zod"
import * as protocol from "../../protocol/index.ts"
import * as shapes from "../../protocol/routes/shapes.ts"

/** The body of every error answer. */
export const ErrorShape = z
  .object({
    code: protocol.ErrorCode,
    message: z.string().describe("What is wrong and what to do, as a sentence"),
    details: protocol.JsonObject.optional(),
  })
  .describe("Why a call was refused or failed")

/** The last frame of a stream that failed. */
export const StreamError = z
  .object({ type: z.literal("error"), properties: ErrorShape })
  .describe("Why a stream ends")

/** Frames about the stream itself: `synced` between past and new events, and the last frame of a stream that ends. */
export const StreamFrame = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("synced"), properties: z.object({ cursor: z.string() }) }),
    z.object({ type: z.literal("lagged"), properties: z.object({ cursor: z.string() }) }),
    StreamError,
  ])
  .describe("A frame about the stream itself")

/** Schemas that have a name in the document, so that each is written once. */
export const namedSchemas: Record<string, z.ZodType> = {
  Agent: shapes.AgentShape,
  AgentPart: protocol.AgentPart,
  AssistantMessage: protocol.AssistantBody,
  Budget: shapes.BudgetShape,
  Command: shapes.CommandShape,
  CompactionPart: protocol.CompactionPart,
  Error: ErrorShape,
  ErrorCode: protocol.ErrorCode,
  Event: protocol.StemmaEvent,
  FileDiff: protocol.FileDiff,
  FilePart: protocol.FilePart,
  HistoryItem: protocol.HistoryItemSchema,
  HistoryPage: shapes.HistoryPageShape,
  InboxItem: protocol.InboxItem,
  LedgerFacts: protocol.LedgerFacts,
  Message: protocol.Message,
  MessageError: protocol.MessageError,
  MessageID: protocol.MessageID,
  ModelRef: protocol.ModelRef,
  Part: protocol.Part,
  PartBody: protocol.PartBody,
  PartID: protocol.PartID,
  PatchPart: protocol.PatchPart,
  PermissionID: protocol.PermissionID,
  PermissionReply: protocol.PermissionReply,
  PermissionRequest: protocol.PermissionRequest,
  Prompt: shapes.PromptBody,
  Provider: shapes.ProviderShape,
  ReasoningPart: protocol.ReasoningPart,
  RetryPart: protocol.RetryPart,
  Reverted: shapes.RevertedShape,
  Row: protocol.RowSchema,
  Rules: shapes.rules,
  Ruleset: protocol.Ruleset,
  RulesInput: protocol.RulesInput,
  SearchPage: shapes.SearchPageShape,
  SegmentID: protocol.SegmentID,
  Session: protocol.Session,
  SessionID: protocol.SessionID,
  SessionPage: shapes.SessionPage,
  SessionStatus: protocol.SessionStatus,
  SnapshotPart: protocol.SnapshotPart,
  StepFinishPart: protocol.StepFinishPart,
  StepStartPart: protocol.StepStartPart,
  StreamError,
  StreamFrame,
  SubtaskPart: protocol.SubtaskPart,
  TextPart: protocol.TextPart,
  Todo: protocol.Todo,
  Tokens: protocol.Tokens,
  ToolPart: protocol.ToolPart,
  ToolState: protocol.ToolState,
  UserMessage: protocol.UserBody,
}
