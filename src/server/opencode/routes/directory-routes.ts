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
import { directoryQuery } from "./session-routes.ts"

export const permissionRoutes = {
  list: route({
    method: "GET",
    path: "/permission",
    summary: "Lists the permission questions that wait for a person, of one directory if it is named.",
    query: directoryQuery,
    answer: z.array(WirePermission),
  }),
  reply: route({
    method: "POST",
    path: "/permission/:requestID/reply",
    summary: "Answers a permission question.",
    params: z.object({ requestID: PermissionID }),
    query: directoryQuery,
    body: z.object({ reply: PermissionReply, message: z.string().max(100_000).optional() }),
    answer: z.boolean(),
    errors: ["not_found", "conflict"],
  }),
  respond: route({
    method: "POST",
    path: "/session/:sessionID/permissions/:permissionID",
    summary: "Answers a permission question of a session or of one of its descendants.",
    params: z.object({ sessionID: SessionID, permissionID: PermissionID }),
    query: directoryQuery,
    body: z.object({ response: PermissionReply }),
    answer: z.boolean(),
    errors: ["not_found", "conflict"],
  }),
}

export const eventRoutes = {
  subscribe: route({
    method: "GET",
    path: "/event",
    summary:
      "Streams the events of all sessions of a directory, starting with the events missed since a cursor.",
    query: directoryQuery.extend({
      since: cursor.optional().describe("The header Last-Event-ID has the same meaning"),
      format: z
        .enum(["events", "rows"])
        .optional()
        .describe("Sends Stemma's own frames, as at /sessions/:id/event, instead of OpenCode's"),
    }),
    kind: "events",
  }),
}

export const directoryRoutes = {
  agents: route({
    method: "GET",
    path: "/agent",
    summary: "Lists the agents.",
    query: directoryQuery,
    answer: z.array(WireAgent),
  }),
  config: route({
    method: "GET",
    path: "/config",
    summary: "Returns the config of a directory, without keys: options of providers and agents are left out.",
    query: directoryQuery,
    answer: WireConfig,
  }),
  providers: route({
    method: "GET",
    path: "/config/providers",
    summary: "Lists the providers that can be used now, and the default model of each, without keys.",
    query: directoryQuery,
    answer: WireProviders,
  }),
  path: route({
    method: "GET",
    path: "/path",
    summary: "Returns the directory and the work tree that contains it.",
    query: directoryQuery,
    answer: WirePath,
  }),
  project: route({
    method: "GET",
    path: "/project/current",
    summary: "Returns the project of a directory.",
    query: directoryQuery,
    answer: WireProject,
  }),
}

const path = z.string().max(4096)

export const fileRoutes = {
  text: route({
    method: "GET",
    path: "/find",
    summary:
      "Finds lines that match a regular expression, at most 100, in files that may be read without asking.",
    query: directoryQuery.extend({
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
    summary: "Finds files and directories by name, the best matches first. Directories end in /.",
    query: directoryQuery.extend({
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
    summary: "Lists the entries of a directory of the project.",
    query: directoryQuery.extend({ path }),
    answer: z.array(WireFileNode),
    errors: ["not_found", "denied"],
  }),
  read: route({
    method: "GET",
    path: "/file/content",
    summary:
      "Returns a file of the project, unless reading it needs permission. Up to 5 MiB; binary files as base64.",
    query: directoryQuery.extend({ path: path.min(1) }),
    answer: WireFileContent,
    errors: ["not_found", "denied"],
  }),
}
