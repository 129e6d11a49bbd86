import { z } from "zod"
import { JsonObject, ModelRef, Tokens } from "../../../protocol/index.ts"
import { WireFileDiff } from "./wire-session.ts"

const message = z.string()

export const WireApiError = z.object({
  name: z.literal("APIError"),
  data: z.object({
    message,
    statusCode: z.number().optional(),
    isRetryable: z.boolean(),
    responseHeaders: z.record(z.string(), z.string()).optional(),
    responseBody: z.string().optional(),
  }),
})
export type WireApiError = z.infer<typeof WireApiError>

export const WireMessageError = z.discriminatedUnion("name", [
  z.object({ name: z.literal("ProviderAuthError"), data: z.object({ providerID: z.string(), message }) }),
  z.object({ name: z.literal("UnknownError"), data: z.object({ message }) }),
  z.object({ name: z.literal("MessageOutputLengthError"), data: z.record(z.string(), z.unknown()) }),
  z.object({ name: z.literal("MessageAbortedError"), data: z.object({ message }) }),
  z.object({ name: z.literal("ContextOverflowError"), data: z.object({ message }) }),
  WireApiError,
])
export type WireMessageError = z.infer<typeof WireMessageError>

const messageIDs = { id: z.string(), sessionID: z.string() }

export const WireUserMessage = z.object({
  ...messageIDs,
  role: z.literal("user"),
  time: z.object({ created: z.number() }),
  summary: z
    .object({ title: z.string().optional(), body: z.string().optional(), diffs: z.array(WireFileDiff) })
    .optional(),
  agent: z.string(),
  model: ModelRef.extend({ variant: z.string().optional() }),
  system: z.string().optional(),
  tools: z.record(z.string(), z.boolean()).optional(),
})

export const WireAssistantMessage = z.object({
  ...messageIDs,
  role: z.literal("assistant"),
  time: z.object({ created: z.number(), completed: z.number().optional() }),
  error: WireMessageError.optional(),
  parentID: z.string(),
  modelID: z.string(),
  providerID: z.string(),
  mode: z.string(),
  agent: z.string(),
  path: z.object({ cwd: z.string(), root: z.string() }),
  summary: z.boolean().optional(),
  cost: z.number(),
  tokens: Tokens,
  finish: z.string().optional(),
})

export const WireMessage = z.discriminatedUnion("role", [WireUserMessage, WireAssistantMessage])
export type WireMessage = z.infer<typeof WireMessage>

const partIDs = { ...messageIDs, messageID: z.string() }
const span = z.object({ start: z.number(), end: z.number().optional() })
const sourceText = z.object({ value: z.string(), start: z.number(), end: z.number() })
const input = { input: JsonObject }

export const WireFilePart = z.object({
  ...partIDs,
  type: z.literal("file"),
  mime: z.string(),
  filename: z.string().optional(),
  url: z.string(),
  source: z.object({ type: z.literal("file"), path: z.string(), text: sourceText }).optional(),
})
export type WireFilePart = z.infer<typeof WireFilePart>

export const WireToolState = z.discriminatedUnion("status", [
  z.object({ status: z.literal("pending"), ...input, raw: z.string() }),
  z.object({
    status: z.literal("running"),
    ...input,
    title: z.string().optional(),
    metadata: JsonObject.optional(),
    time: z.object({ start: z.number() }),
  }),
  z.object({
    status: z.literal("completed"),
    ...input,
    output: z.string(),
    title: z.string(),
    metadata: JsonObject,
    time: z.object({ start: z.number(), end: z.number(), compacted: z.number().optional() }),
    attachments: z.array(WireFilePart).optional(),
  }),
  z.object({
    status: z.literal("error"),
    ...input,
    error: z.string(),
    metadata: JsonObject.optional(),
    time: z.object({ start: z.number(), end: z.number() }),
  }),
])
export type WireToolState = z.infer<typeof WireToolState>

export const WirePart = z.discriminatedUnion("type", [
  z.object({
    ...partIDs,
    type: z.literal("text"),
    text: z.string(),
    synthetic: z.boolean().optional(),
    ignored: z.boolean().optional(),
    time: span.optional(),
    metadata: JsonObject.optional(),
  }),
  z.object({
    ...partIDs,
    type: z.literal("reasoning"),
    text: z.string(),
    metadata: JsonObject.optional(),
    time: span,
  }),
  z.object({
    ...partIDs,
    type: z.literal("tool"),
    callID: z.string(),
    tool: z.string(),
    state: WireToolState,
    metadata: JsonObject.optional(),
  }),
  WireFilePart,
  z.object({ ...partIDs, type: z.literal("agent"), name: z.string(), source: sourceText.optional() }),
  z.object({
    ...partIDs,
    type: z.literal("subtask"),
    prompt: z.string(),
    description: z.string(),
    agent: z.string(),
    model: ModelRef.optional(),
    command: z.string().optional(),
  }),
  z.object({
    ...partIDs,
    type: z.literal("compaction"),
    auto: z.boolean(),
    tail_start_id: z.string().optional(),
  }),
  z.object({
    ...partIDs,
    type: z.literal("retry"),
    attempt: z.number(),
    error: WireApiError,
    time: z.object({ created: z.number() }),
  }),
  z.object({ ...partIDs, type: z.literal("step-start"), snapshot: z.string().optional() }),
  z.object({
    ...partIDs,
    type: z.literal("step-finish"),
    reason: z.string(),
    snapshot: z.string().optional(),
    cost: z.number(),
    tokens: Tokens,
  }),
  z.object({ ...partIDs, type: z.literal("snapshot"), snapshot: z.string() }),
  z.object({ ...partIDs, type: z.literal("patch"), hash: z.string(), files: z.array(z.string()) }),
])
export type WirePart = z.infer<typeof WirePart>

export const WireItem = z.object({ info: WireMessage, parts: z.array(WirePart) })
export type WireItem = z.infer<typeof WireItem>

export const WireReply = z.object({ info: WireAssistantMessage, parts: z.array(WirePart) })
export type WireReply = z.infer<typeof WireReply>
