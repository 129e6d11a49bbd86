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
import { SharePreview } from "./share-shapes.ts"

/** Routes that read one session. */
export const sessionReadRoutes = {
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
      summary: "The status of the session in this server: idle, busy or retry.",
      answer: SessionStatus,
      errors: ["not_found"],
    }),
  ),
  history: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/history",
      summary:
        "A page of messages in order of position: the last ones, unless `take` or a range says otherwise.",
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
        "The initial state of a replica: the session, its related rows, its last messages, and a cursor.",
      query: z.strictObject({
        last: queryLimit(1000).optional().describe("How many of the last messages; 100 if absent"),
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
      summary:
        "A live stream of the session's events. With a cursor, first everything since the cursor. See docs/server.md.",
      query: z.strictObject({
        since: cursor.optional().describe("A cursor; the header Last-Event-ID does the same"),
        tree: queryFlag.optional().describe("Includes all descendants of the session"),
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
      summary: "The session and all its descendants, parents before their children.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  parents: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/parents",
      summary: "The ancestors of the session, its parent first.",
      answer: z.array(Session),
      errors: ["not_found"],
    }),
  ),
  children: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/children",
      summary: "A page of the session's children.",
      query: z.strictObject({ limit: queryLimit(1000).optional(), cursor: cursor.optional() }),
      answer: SessionPage,
      errors: ["not_found"],
    }),
  ),
  todos: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/todos",
      summary: "The todo list of the session.",
      answer: z.array(Todo),
      errors: ["not_found"],
    }),
  ),
  questions: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/questions",
      summary: "The permission questions of the session and its descendants that wait for a person.",
      answer: z.array(PermissionRequest),
      errors: ["not_found"],
    }),
  ),
  context: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/context",
      summary: "What the next model call would send, where its tokens come from, and what it leaves out.",
      answer: ContextShape,
      errors: ["not_found", "unavailable"],
    }),
  ),
  usage: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/usage",
      summary: "Tokens and cost of the session alone, and together with all its descendants.",
      answer: UsageShape,
      errors: ["not_found"],
    }),
  ),
  budget: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/budget",
      summary: "How much the session may cost, and how much it has cost.",
      answer: BudgetShape,
      errors: ["not_found"],
    }),
  ),
  statistics: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/statistics",
      summary: "How many messages the session has, and how many calls of each tool.",
      answer: StatisticsShape,
      errors: ["not_found"],
    }),
  ),
  diff: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/diff",
      summary:
        "The files that the session changed; with `messageID`, the files that the turn of that user message changed.",
      query: z.strictObject({ messageID: MessageID.optional() }),
      answer: DiffShape,
      errors: ["not_found"],
    }),
  ),
  transcript: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/transcript",
      summary: "The history as plain text for people.",
      query: z.strictObject({ last: queryCount.optional() }),
      kind: "text",
      errors: ["not_found"],
    }),
  ),
  previewShare: route(
    ofSession({
      method: "GET",
      path: "/sessions/:id/share/preview",
      summary:
        "What the public page of the session would show, and which kinds of secrets are masked where. Publishes nothing.",
      query: z.strictObject({
        reasoning: queryFlag.optional().describe("As for sharing: the page also shows reasoning"),
        tools: queryFlag
          .optional()
          .describe("As for sharing: the page also shows the input and output of tools"),
        before: queryCount.optional().describe("Only messages before this position"),
      }),
      answer: SharePreview,
      errors: ["not_found", "denied", "unavailable"],
    }),
  ),
}
