import { z } from "zod"
import { MessageID, PartID, SessionID } from "../id.ts"
import { JsonObject } from "../json.ts"
import { PermissionReply, PermissionRequest } from "../permission.ts"
import { HistoryItemSchema } from "../row-schema.ts"
import { Session, SessionStatus } from "../session.ts"
import { Todo } from "../todo.ts"
import { route } from "./route.ts"
import {
  Accepted,
  BudgetShape,
  ChangesShape,
  CompactionShape,
  ContextShape,
  cursor,
  DiffShape,
  HistoryPageShape,
  modelName,
  name,
  PromptBody,
  promptFields,
  queryCount,
  queryFlag,
  queryLimit,
  questionParams,
  RemovalShape,
  ReplyShape,
  RevertedShape,
  rules,
  SessionPage,
  SnapshotShape,
  StatisticsShape,
  sessionParams,
  UsageShape,
} from "./shapes.ts"

const at = <const T extends object>(definition: T) => ({ params: sessionParams, ...definition })

const reading = {
  info: route(
    at({
      method: "GET",
      path: "/sessions/:id",
      summary: "The session as it is now.",
      answer: Session,
      errors: ["not_found"],
    }),
  ),
  status: route(
    at({
      method: "GET",
      path: "/sessions/:id/status",
      summary: "What the session is doing in this server.",
      answer: SessionStatus,
      errors: ["not_found"],
    }),
  ),
  history: route(
    at({
      method: "GET",
      path: "/sessions/:id/history",
      summary: "A page of messages in order of position, from the end unless told otherwise.",
      query: z.strictObject({
        from: queryCount.optional(),
        to: queryCount.optional(),
        messageID: MessageID.optional(),
        take: z.enum(["start", "end"]).optional(),
        limit: queryLimit(1000).optional(),
      }),
      answer: HistoryPageShape,
      errors: ["not_found"],
    }),
  ),
  snapshot: route(
    at({
      method: "GET",
      path: "/sessions/:id/snapshot",
      summary:
        "All that a replica begins with: the session, what is beside it, its last messages, and a cursor.",
      query: z.strictObject({
        last: queryLimit(1000).optional().describe("How many messages; 100 if absent"),
      }),
      answer: SnapshotShape,
      errors: ["not_found"],
    }),
  ),
  changes: route(
    at({
      method: "GET",
      path: "/sessions/:id/changes",
      summary: "The newest version of every row that changed after a cursor.",
      query: z.strictObject({
        since: cursor.optional(),
        limit: queryLimit(1000).optional(),
        tree: queryFlag.optional(),
      }),
      answer: ChangesShape,
      errors: ["not_found"],
    }),
  ),
  event: route(
    at({
      method: "GET",
      path: "/sessions/:id/event",
      summary: "What happens in the session, live: what was missed since a cursor first. See docs/server.md.",
      query: z.strictObject({
        since: cursor.optional().describe("Or the header Last-Event-ID"),
        tree: queryFlag.optional().describe("With everything below it"),
        format: z.enum(["events", "rows"]).optional(),
      }),
      kind: "events",
      errors: ["not_found"],
    }),
  ),
  tree: route(
    at({
      method: "GET",
      path: "/sessions/:id/tree",
      summary: "The session and everything below it, parents before their children.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  parents: route(
    at({
      method: "GET",
      path: "/sessions/:id/parents",
      summary: "The sessions above it, its parent first.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  children: route(
    at({
      method: "GET",
      path: "/sessions/:id/children",
      summary: "A page of the sessions right below it.",
      query: z.strictObject({ limit: queryLimit(1000).optional(), cursor: cursor.optional() }),
      answer: SessionPage,
      errors: ["not_found"],
    }),
  ),
  todos: route(
    at({
      method: "GET",
      path: "/sessions/:id/todos",
      summary: "The todo list.",
      answer: z.array(Todo),
      errors: ["not_found"],
    }),
  ),
  questions: route(
    at({
      method: "GET",
      path: "/sessions/:id/questions",
      summary: "Questions that wait for a person, also those of the sessions below it.",
      answer: z.array(PermissionRequest),
      errors: ["not_found"],
    }),
  ),
  context: route(
    at({
      method: "GET",
      path: "/sessions/:id/context",
      summary: "What the next call would send, where its tokens come from, and what it leaves out.",
      answer: ContextShape,
      errors: ["not_found", "unavailable"],
    }),
  ),
  usage: route(
    at({
      method: "GET",
      path: "/sessions/:id/usage",
      summary: "Tokens and money of the session alone, and with everything below it.",
      answer: UsageShape,
      errors: ["not_found"],
    }),
  ),
  budget: route(
    at({
      method: "GET",
      path: "/sessions/:id/budget",
      summary: "How much the session may cost, and has.",
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  statistics: route(
    at({
      method: "GET",
      path: "/sessions/:id/statistics",
      summary: "How many messages and calls of each tool it has.",
      answer: StatisticsShape,
      errors: ["not_found"],
    }),
  ),
  diff: route(
    at({
      method: "GET",
      path: "/sessions/:id/diff",
      summary: "The files that the session changed, or the turn of one user message.",
      query: z.strictObject({ messageID: MessageID.optional() }),
      answer: DiffShape,
      errors: ["not_found"],
    }),
  ),
  transcript: route(
    at({
      method: "GET",
      path: "/sessions/:id/transcript",
      summary: "The history as people read it.",
      query: z.strictObject({ last: queryCount.optional() }),
      kind: "text",
      errors: ["not_found"],
    }),
  ),
} as const

const talking = {
  prompt: route(
    at({
      method: "POST",
      path: "/sessions/:id/prompt",
      summary: "Sends a prompt. The answer says that it is kept, whatever happens from then on.",
      body: PromptBody,
      answer: Accepted,
      status: 202,
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  ask: route(
    at({
      method: "POST",
      path: "/sessions/:id/ask",
      summary:
        "Sends a prompt and waits for the reply. A failure of the model is in the message, not an error.",
      body: PromptBody,
      answer: ReplyShape,
      kind: "slow",
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  command: route(
    at({
      method: "POST",
      path: "/sessions/:id/command",
      summary: "Sends what a command of the config makes of these arguments.",
      body: z.strictObject({ name, args: z.string().optional(), ...promptFields }),
      answer: Accepted,
      status: 202,
      errors: ["not_found", "conflict", "denied", "unavailable"],
    }),
  ),
  shell: route(
    at({
      method: "POST",
      path: "/sessions/:id/shell",
      summary: "Runs a command of the person's own in the session, without the model.",
      body: z.strictObject({
        command: z.string().min(1).max(100_000),
        agent: name.optional(),
        messageID: MessageID.optional(),
      }),
      answer: HistoryItemSchema,
      kind: "slow",
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  append: route(
    at({
      method: "POST",
      path: "/sessions/:id/append",
      summary: "Adds a message without asking a model.",
      body: z.strictObject({
        id: MessageID.optional(),
        role: z.enum(["user", "assistant", "tool"]),
        text: z.string().optional(),
        synthetic: z.boolean().optional(),
        parts: z.array(JsonObject).optional(),
        tool: name.optional(),
        callID: name.optional(),
        input: JsonObject.optional(),
        output: z.string().optional(),
        error: z.string().optional(),
        title: z.string().optional(),
      }),
      answer: HistoryItemSchema,
      status: 201,
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  abort: route(
    at({
      method: "POST",
      path: "/sessions/:id/abort",
      summary: "Stops what runs in it and below it. Does nothing if nothing runs.",
      isBodyOptional: true,
      body: z.strictObject({ reason: z.string().max(10_000).optional() }),
      kind: "none",
      errors: ["not_found"],
    }),
  ),
  compact: route(
    at({
      method: "POST",
      path: "/sessions/:id/compact",
      summary: "Summarises the history but for its recent end. Nothing is lost.",
      isBodyOptional: true,
      body: z.strictObject({ instructions: z.string().max(10_000).optional() }),
      answer: CompactionShape,
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  reply: route({
    method: "POST",
    path: "/sessions/:id/questions/:permissionID",
    summary: "Answers a question of the session, or of one below it.",
    params: questionParams,
    body: z.strictObject({ reply: PermissionReply, feedback: z.string().max(100_000).optional() }),
    kind: "none",
    errors: ["not_found", "conflict"],
  }),
} as const

const changing = {
  update: route(
    at({
      method: "PATCH",
      path: "/sessions/:id",
      summary: "Sets single fields; null removes one.",
      body: z.strictObject({
        title: z.string().max(10_000).optional(),
        agent: name.nullable().optional(),
        model: modelName.nullable().optional(),
        permission: rules.nullable().optional(),
        maxHistory: z.number().int().positive().nullable().optional(),
        budget: z.number().nonnegative().nullable().optional(),
        key: z.string().min(1).max(512).nullable().optional(),
      }),
      answer: Session,
      errors: ["not_found", "conflict"],
    }),
  ),
  setBudget: route(
    at({
      method: "PUT",
      path: "/sessions/:id/budget",
      summary: "Sets how much the session may cost, in dollars; null is no limit.",
      body: z.strictObject({ budget: z.number().nonnegative().nullable() }),
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  remove: route(
    at({
      method: "DELETE",
      path: "/sessions/:id",
      summary: "Removes the session with everything below it, and says what stays because forks share it.",
      answer: RemovalShape,
      errors: ["not_found"],
    }),
  ),
  fork: route(
    at({
      method: "POST",
      path: "/sessions/:id/fork",
      summary: "A new session with the same history: the whole, or what came before a message.",
      isBodyOptional: true,
      body: z.strictObject({ messageID: MessageID.optional(), title: z.string().max(10_000).optional() }),
      answer: Session,
      status: 201,
      errors: ["not_found", "conflict"],
    }),
  ),
  revert: route(
    at({
      method: "POST",
      path: "/sessions/:id/revert",
      summary:
        "Goes back to before a message, or one of its parts, with the files; the next prompt makes it real.",
      body: z.strictObject({ messageID: MessageID, partID: PartID.optional() }),
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  unrevert: route(
    at({
      method: "POST",
      path: "/sessions/:id/unrevert",
      summary: "Takes a revert back, with the files.",
      answer: RevertedShape,
      errors: ["not_found", "conflict"],
    }),
  ),
  archive: route(
    at({
      method: "POST",
      path: "/sessions/:id/archive",
      summary: "Puts it away with everything below it; `archived: false` brings all of it back.",
      isBodyOptional: true,
      body: z.strictObject({ archived: z.boolean().optional() }),
      answer: Session,
      errors: ["not_found"],
    }),
  ),
  redact: route(
    at({
      method: "POST",
      path: "/sessions/:id/redact",
      summary:
        "Takes content away for good, in every session that shares it: of a part, a message, or the whole session.",
      body: z.strictObject({
        messageID: MessageID.optional(),
        partID: PartID.optional(),
        all: z.literal(true).optional().describe("Needed to redact the whole session"),
      }),
      answer: z.object({ messages: z.number(), parts: z.number(), sessions: z.array(SessionID) }),
      errors: ["not_found", "conflict"],
    }),
  ),
  share: route(
    at({
      method: "POST",
      path: "/sessions/:id/share",
      summary: "Makes a public page of the session, or changes what it shows.",
      isBodyOptional: true,
      body: z.strictObject({
        reasoning: z.boolean().optional().describe("Shows reasoning too"),
        tools: z.boolean().optional().describe("Shows what tools were given and gave back too"),
      }),
      answer: Session,
      errors: ["not_found", "denied"],
    }),
  ),
  unshare: route(
    at({
      method: "DELETE",
      path: "/sessions/:id/share",
      summary: "Ends the public page at once.",
      answer: Session,
      errors: ["not_found"],
    }),
  ),
} as const

/** One session. */
export const sessionRoutes = { ...reading, ...talking, ...changing }
