import { z } from "zod"
import { PermissionID, PermissionReply, SessionID } from "../../../protocol/index.ts"
import { route } from "../../../protocol/routes/index.ts"
import { cursor, queryFlag, queryLimit } from "../../../protocol/routes/shapes.ts"
import {
  WireAgent,
  WireConfig,
  WireFileContent,
  WireFileNode,
  WireMatch,
  WirePath,
  WireProject,
  WireProviders,
} from "../wire/wire-directory.ts"
import { WirePermission } from "../wire/wire-session.ts"
import { place } from "./session-routes.ts"

export const permissionRoutes = {
  list: route({
    method: "GET",
    path: "/permission",
    summary: "Every question that waits for a person, of a directory if one is named.",
    query: place,
    answer: z.array(WirePermission),
  }),
  reply: route({
    method: "POST",
    path: "/permission/:requestID/reply",
    summary: "Answers a question.",
    params: z.object({ requestID: PermissionID }),
    query: place,
    body: z.object({ reply: PermissionReply, message: z.string().max(100_000).optional() }),
    answer: z.boolean(),
    errors: ["not_found", "conflict"],
  }),
  respond: route({
    method: "POST",
    path: "/session/:sessionID/permissions/:permissionID",
    summary: "Answers a question of a session, or of one below it.",
    params: z.object({ sessionID: SessionID, permissionID: PermissionID }),
    query: place,
    body: z.object({ response: PermissionReply }),
    answer: z.boolean(),
    errors: ["not_found", "conflict"],
  }),
}

export const eventRoutes = {
  subscribe: route({
    method: "GET",
    path: "/event",
    summary: "What happens in all sessions of a directory, live: what was missed since a cursor first.",
    query: place.extend({
      since: cursor.optional().describe("Or the header Last-Event-ID"),
      format: z
        .enum(["events", "rows"])
        .optional()
        .describe("Stemma's own frames, as at /sessions/:id/event, instead of that client's"),
    }),
    kind: "events",
  }),
}

export const placeRoutes = {
  agents: route({
    method: "GET",
    path: "/agent",
    summary: "Who can answer.",
    query: place,
    answer: z.array(WireAgent),
  }),
  config: route({
    method: "GET",
    path: "/config",
    summary: "The config of a directory. Never a key: options of providers and agents are left out.",
    query: place,
    answer: WireConfig,
  }),
  providers: route({
    method: "GET",
    path: "/config/providers",
    summary: "The providers that can be asked now, and the model that each is asked with. Never a key.",
    query: place,
    answer: WireProviders,
  }),
  path: route({
    method: "GET",
    path: "/path",
    summary: "The directory, and the work tree that holds it.",
    query: place,
    answer: WirePath,
  }),
  project: route({
    method: "GET",
    path: "/project/current",
    summary: "The project of a directory.",
    query: place,
    answer: WireProject,
  }),
}

const path = z.string().max(4096)

export const fileRoutes = {
  text: route({
    method: "GET",
    path: "/find",
    summary: "Lines that match a regular expression, at most 100, in files that may be read without asking.",
    query: place.extend({
      pattern: z
        .string()
        .max(2000)
        .regex(/^[^\0]+$/, "expected a pattern without NUL"),
    }),
    answer: z.array(WireMatch),
    errors: ["unavailable"],
  }),
  files: route({
    method: "GET",
    path: "/find/file",
    summary: "Files and directories by their names, the best matches first. Directories end in /.",
    query: place.extend({
      query: z.string().max(1000),
      dirs: queryFlag.optional(),
      type: z.enum(["file", "directory"]).optional(),
      limit: queryLimit(200).optional(),
    }),
    answer: z.array(z.string()),
    errors: ["unavailable"],
  }),
  list: route({
    method: "GET",
    path: "/file",
    summary: "What is in a directory of the project.",
    query: place.extend({ path }),
    answer: z.array(WireFileNode),
    errors: ["not_found", "denied"],
  }),
  read: route({
    method: "GET",
    path: "/file/content",
    summary:
      "A file of the project, unless its rules ask before it is read. Up to 5 MiB; binary files as base64.",
    query: place.extend({ path: path.min(1) }),
    answer: WireFileContent,
    errors: ["not_found", "denied"],
  }),
}
