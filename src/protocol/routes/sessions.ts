import { z } from "zod"
import { SessionID } from "../id/id.ts"
import { PermissionRequest } from "../permission.ts"
import { SearchKind } from "../search.ts"
import { Session, SessionStatus } from "../session.ts"
import { route } from "./route.ts"
import {
  absoluteDirectory,
  cursor,
  modelName,
  name,
  queryCount,
  queryFlag,
  queryLimit,
  rules,
  SearchPageShape,
  SessionPage,
} from "./shapes.ts"

const key = z.string().min(1).max(512)
const kinds = z
  .string()
  .transform((text) => text.split(","))
  .pipe(z.array(SearchKind))
  .describe("Kinds of hits, separated by commas")

/** Routes over all sessions: list, create, search. */
export const sessionsRoutes = {
  list: route({
    method: "GET",
    path: "/sessions",
    summary: "A page of sessions, the most recently updated first.",
    query: z.strictObject({
      directory: absoluteDirectory.optional(),
      projectID: name.optional(),
      parentID: z
        .union([SessionID, z.literal("none").transform(() => null)])
        .optional()
        .describe("Only the children of this session; `none` gives only sessions without a parent"),
      agent: name.optional(),
      key: key.optional(),
      archived: queryFlag.optional(),
      updatedFrom: queryCount.optional(),
      updatedTo: queryCount.optional(),
      title: z
        .string()
        .max(1000)
        .optional()
        .describe("A part of the title; upper and lower case match alike"),
      order: z.enum(["updated", "created"]).optional(),
      limit: queryLimit(1000).optional(),
      cursor: cursor.optional(),
    }),
    answer: SessionPage,
  }),
  create: route({
    method: "POST",
    path: "/sessions",
    summary: "Makes a session. If a session with this id exists, answers with that session.",
    isBodyOptional: true,
    body: z.strictObject({
      id: SessionID.optional(),
      key: key.optional().describe("An outside name, unique per agent"),
      directory: absoluteDirectory.optional(),
      parentID: SessionID.optional(),
      agent: name.optional(),
      model: modelName.optional(),
      title: z.string().max(10_000).optional(),
      permission: rules.optional(),
      maxHistory: z.number().int().positive().optional(),
      budget: z.number().nonnegative().optional(),
      files: z
        .array(z.string().min(1))
        .max(100)
        .optional()
        .describe("Files that the session has in its context from the start"),
    }),
    answer: Session,
    status: 201,
    errors: ["not_found", "conflict"],
  }),
  current: route({
    method: "POST",
    path: "/sessions/current",
    summary: "The current session of the project, or of a named scope. Made on first use.",
    isBodyOptional: true,
    body: z.strictObject({ scope: z.string().min(1).max(400).optional(), agent: name.optional() }),
    answer: Session,
    errors: ["not_found"],
  }),
  statuses: route({
    method: "GET",
    path: "/sessions/status",
    summary: "The sessions that run in this server, with their statuses.",
    answer: z.record(SessionID, SessionStatus),
  }),
  questions: route({
    method: "GET",
    path: "/questions",
    summary: "Every permission question that waits for a person.",
    query: z.strictObject({ directory: absoluteDirectory.optional() }),
    answer: z.array(PermissionRequest),
  }),
  search: route({
    method: "GET",
    path: "/search",
    summary: "Searches text, reasoning, tool calls, titles and file names of all sessions.",
    query: z.strictObject({
      text: z.string().min(1).max(1000),
      order: z.enum(["newest", "relevance"]).optional(),
      sessionID: SessionID.optional(),
      projectID: name.optional(),
      directory: absoluteDirectory.optional(),
      kinds: kinds.optional(),
      limit: queryLimit(200).optional(),
      cursor: cursor.optional(),
    }),
    answer: SearchPageShape,
  }),
}
