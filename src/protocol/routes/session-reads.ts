import { z } from "zod"
import { MessageID } from "../id/id.ts"
import { Todo } from "../message/todo.ts"
import { PermissionRequest } from "../permission.ts"
import { Session, SessionStatus } from "../session.ts"
import { route } from "./route.ts"
import {
  BudgetShape,
  ChangesShape,
  ContextShape,
  cursor,
  DiffShape,
  HistoryPageShape,
  ofSession,
  queryCount,
  queryFlag,
  queryLimit,
  SessionPage,
  SnapshotShape,
  StatisticsShape,
  UsageShape,
} from "./shapes.ts"

/** What can be read of one session. */
export const readingRoutes = {
  info: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id",
      summary: "The session as it is now.",
      answer: Session,
      errors: ["not_found"],
    }),
  ),
  status: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/status",
      summary: "What the session is doing in this server.",
      answer: SessionStatus,
      errors: ["not_found"],
    }),
  ),
  history: route(
    ofSession({
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
    ofSession({
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
    ofSession({
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
    ofSession({
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
    ofSession({
      method: "GET",
      path: "/sessions/:id/tree",
      summary: "The session and everything below it, parents before their children.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  parents: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/parents",
      summary: "The sessions above it, its parent first.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  children: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/children",
      summary: "A page of the sessions right below it.",
      query: z.strictObject({ limit: queryLimit(1000).optional(), cursor: cursor.optional() }),
      answer: SessionPage,
      errors: ["not_found"],
    }),
  ),
  todos: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/todos",
      summary: "The todo list.",
      answer: z.array(Todo),
      errors: ["not_found"],
    }),
  ),
  questions: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/questions",
      summary: "Questions that wait for a person, also those of the sessions below it.",
      answer: z.array(PermissionRequest),
      errors: ["not_found"],
    }),
  ),
  context: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/context",
      summary: "What the next call would send, where its tokens come from, and what it leaves out.",
      answer: ContextShape,
      errors: ["not_found", "unavailable"],
    }),
  ),
  usage: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/usage",
      summary: "Tokens and money of the session alone, and with everything below it.",
      answer: UsageShape,
      errors: ["not_found"],
    }),
  ),
  budget: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/budget",
      summary: "How much the session may cost, and has.",
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  statistics: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/statistics",
      summary: "How many messages and calls of each tool it has.",
      answer: StatisticsShape,
      errors: ["not_found"],
    }),
  ),
  diff: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/diff",
      summary: "The files that the session changed, or the turn of one user message.",
      query: z.strictObject({ messageID: MessageID.optional() }),
      answer: DiffShape,
      errors: ["not_found"],
    }),
  ),
  transcript: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/transcript",
      summary: "The history as people read it.",
      query: z.strictObject({ last: queryCount.optional() }),
      kind: "text",
      errors: ["not_found"],
    }),
  ),
}
