import { z } from "zod"
import { SessionID } from "../../protocol/index.ts"
import { route } from "../../protocol/routes/index.ts"

const agentName = z.string().min(1).max(256)
const params = z.object({ id: agentName })
const sessionParams = z.object({ id: agentName, sid: SessionID })

const sessionKey = z
  .string()
  .min(1)
  .max(512)
  .regex(/^\P{C}+$/u, "expected a name without control characters")

export const ChatBody = z.strictObject({
  message: z.string().max(1_000_000),
  sessionId: SessionID.optional().describe("Continues this session; a new one if absent"),
  sessionKey: sessionKey
    .optional()
    .describe("The name of an outside channel, whose session is found or created"),
  context: z.string().max(200_000).optional().describe("Added to the system prompt for this message only"),
  images: z
    .array(z.string().min(1))
    .max(20)
    .optional()
    .describe("data: URLs or base64 of png, jpeg, gif, webp or pdf, up to 10 MB each"),
})

const SessionMeta = z.object({
  id: SessionID,
  agentId: z.string(),
  key: z.string().optional(),
  title: z.string(),
  messageCount: z.number().int(),
  createdAt: z.number(),
  lastAt: z.number(),
  archivedAt: z.number().optional(),
  tokenEstimate: z.number().int().describe("Estimated number of tokens of history that the next call sends"),
})
export type SessionMeta = z.infer<typeof SessionMeta>

const Block = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text: z.string() }),
  z.object({ type: z.literal("thinking"), thinking: z.string() }),
  z.object({
    type: z.literal("toolCall"),
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), z.unknown()),
  }),
  z.object({ type: z.literal("file"), mime: z.string(), name: z.string().optional() }),
])
export type Block = z.infer<typeof Block>

const PanelMessage = z.discriminatedUnion("role", [
  z.object({ id: z.string(), role: z.literal("user"), content: z.array(Block), timestamp: z.number() }),
  z.object({
    id: z.string(),
    role: z.literal("assistant"),
    content: z.array(Block),
    timestamp: z.number(),
    error: z.string().optional(),
  }),
  z.object({
    id: z.string(),
    role: z.literal("toolResult"),
    toolCallId: z.string(),
    toolName: z.string(),
    content: z.array(Block),
    isError: z.boolean(),
    timestamp: z.number(),
  }),
  z.object({
    id: z.string(),
    role: z.literal("compaction"),
    summary: z.string(),
    tokensBefore: z.number().optional(),
    tokensAfter: z.number().optional(),
    timestamp: z.number(),
  }),
])
export type PanelMessage = z.infer<typeof PanelMessage>

const limit = z.coerce.number().int().min(1).max(1000)

/** The small API of a panel or a chat channel, which sends only a message and the id of a session. */
export const panelRoutes = {
  chat: route({
    method: "POST",
    path: "/api/agents/:id/chat",
    summary:
      "Sends a message and answers with the events of the reply. Closing the request does not stop the reply.",
    params,
    body: ChatBody,
    kind: "events",
    errors: ["not_found", "conflict", "denied", "unavailable"],
  }),
  join: route({
    method: "GET",
    path: "/api/agents/:id/chat",
    summary:
      "Joins the chat of a session again: sends the last turn from its start, then live events until it is done.",
    params,
    query: z.strictObject({
      sessionId: SessionID.optional(),
      sessionKey: sessionKey.optional(),
    }),
    kind: "events",
    errors: ["not_found"],
  }),
  list: route({
    method: "GET",
    path: "/api/agents/:id/sessions",
    summary: "Lists the sessions of an agent, the most recently used first.",
    params,
    query: z.strictObject({
      limit: limit.optional(),
      cursor: z.string().min(1).max(1024).optional(),
      archived: z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] }).optional(),
    }),
    answer: z.object({ sessions: z.array(SessionMeta), next: z.string().optional() }),
    errors: ["not_found"],
  }),
  history: route({
    method: "GET",
    path: "/api/agents/:id/sessions/:sid",
    summary: "Returns a session with its history, oldest message first.",
    params: sessionParams,
    query: z.strictObject({
      limit: limit.optional().describe("Maximum number of messages, counted from the end; 1,000 if absent"),
      before: z.coerce.number().int().nonnegative().optional().describe("Only messages before this position"),
    }),
    answer: z.object({
      session: SessionMeta,
      messages: z.array(PanelMessage),
      before: z
        .number()
        .int()
        .optional()
        .describe("Value of `before` for the next older page; absent if there are no older messages"),
    }),
    errors: ["not_found"],
  }),
  update: route({
    method: "PATCH",
    path: "/api/agents/:id/sessions/:sid",
    summary: "Changes the title, or archives or restores the session.",
    params: sessionParams,
    body: z.strictObject({ title: z.string().min(1).max(1000).optional(), archived: z.boolean().optional() }),
    answer: SessionMeta,
    errors: ["not_found"],
  }),
  remove: route({
    method: "DELETE",
    path: "/api/agents/:id/sessions/:sid",
    summary: "Deletes a session.",
    params: sessionParams,
    kind: "none",
    errors: ["not_found"],
  }),
}
