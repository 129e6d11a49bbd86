import { z } from "zod"
import { MessageID, PartID, Ruleset, SessionID } from "../../../protocol/index.ts"
import { route } from "../../../protocol/routes/index.ts"
import { directory, name, queryCount, queryFlag, queryLimit } from "../../../protocol/routes/shapes.ts"
import { CommandBody, PromptBody, ShellBody, WireModelName } from "../handlers/prompt-bodies.ts"
import { WireItem, WireReply } from "../wire/wire-message.ts"
import { WireFileDiff, WireSession, WireStatuses, WireTodo } from "../wire/wire-session.ts"

/** Other query parameters of the OpenCode client, such as `workspace`, are ignored. */
export const directoryQuery = z.object({ directory: directory.optional() })
const params = z.object({ sessionID: SessionID })
const messageParams = z.object({ sessionID: SessionID, messageID: MessageID })

const sessionRoute = <const T extends object>(definition: T) => ({
  params,
  query: directoryQuery,
  ...definition,
})
const title = z.string().max(10_000)
const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => Object.keys(value).length === 0, "sessions cannot have metadata: leave it out")

const finding = {
  list: route({
    method: "GET",
    path: "/session",
    summary: "Lists the sessions of a directory, the most recently updated first.",
    query: directoryQuery.extend({
      scope: z.enum(["project"]).optional().describe("Sessions of all directories of the project"),
      path: z
        .string()
        .max(4096)
        .optional()
        .describe("Only sessions of this directory of the project and below it"),
      roots: queryFlag.optional().describe("Only root sessions, without children"),
      start: queryCount.optional().describe("Only sessions updated since this time"),
      search: z.string().max(1000).optional().describe("Only sessions whose title contains this text"),
      limit: queryLimit(1000).optional().describe("100 if absent"),
    }),
    answer: z.array(WireSession),
  }),
  create: route({
    method: "POST",
    path: "/session",
    summary: "Creates a session.",
    query: directoryQuery,
    isBodyOptional: true,
    body: z.object({
      parentID: SessionID.optional(),
      title: title.optional(),
      agent: name.optional(),
      model: WireModelName.optional(),
      metadata: metadata.optional(),
      permission: Ruleset.optional(),
      workspaceID: z.never("workspaces are not supported: name a directory instead").optional(),
    }),
    answer: WireSession,
    errors: ["not_found"],
  }),
  status: route({
    method: "GET",
    path: "/session/status",
    summary: "Returns the status of the sessions that this server is running.",
    query: directoryQuery,
    answer: WireStatuses,
  }),
} as const

const reading = {
  get: route(
    sessionRoute({
      method: "GET",
      path: "/session/:sessionID",
      summary: "Returns a session.",
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
  children: route(
    sessionRoute({
      method: "GET",
      path: "/session/:sessionID/children",
      summary: "Lists the children of a session.",
      answer: z.array(WireSession),
      errors: ["not_found"],
    }),
  ),
  todo: route(
    sessionRoute({
      method: "GET",
      path: "/session/:sessionID/todo",
      summary: "Returns the todo list of a session.",
      answer: z.array(WireTodo),
      errors: ["not_found"],
    }),
  ),
  diff: route(
    sessionRoute({
      method: "GET",
      path: "/session/:sessionID/diff",
      summary: "Lists the files that a session changed, or that the turn of one user message changed.",
      query: directoryQuery.extend({ messageID: MessageID.optional() }),
      answer: z.array(WireFileDiff),
      errors: ["not_found"],
    }),
  ),
  messages: route(
    sessionRoute({
      method: "GET",
      path: "/session/:sessionID/message",
      summary:
        "Lists the last messages, oldest first. If there are older ones, the headers Link and X-Next-Cursor point to them.",
      query: directoryQuery.extend({
        limit: queryLimit(10_000).optional().describe("10,000 if absent"),
        before: MessageID.optional().describe("Only messages before this one: the value of X-Next-Cursor"),
      }),
      answer: z.array(WireItem),
      errors: ["not_found"],
    }),
  ),
  message: route({
    method: "GET",
    path: "/session/:sessionID/message/:messageID",
    summary: "Returns one message with its parts.",
    params: messageParams,
    query: directoryQuery,
    answer: WireItem,
    errors: ["not_found"],
  }),
} as const

const talking = {
  prompt: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/message",
      summary:
        "Sends a prompt and waits for the reply, or only adds it with `noReply`. The headers are sent at once, white space while waiting.",
      body: PromptBody,
      answer: z.union([WireReply, WireItem]),
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  promptAsync: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/prompt_async",
      summary: "Sends a prompt and answers when it is stored.",
      body: PromptBody,
      kind: "none",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  command: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/command",
      summary: "Sends the prompt of a command from the config with these arguments, and waits for the reply.",
      body: CommandBody,
      answer: WireReply,
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  init: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/init",
      summary: "Lets the agent write AGENTS.md for the project, and waits until it is done.",
      isBodyOptional: true,
      body: z.object({
        messageID: MessageID.optional(),
        providerID: z.string().optional(),
        modelID: z.string().optional(),
      }),
      answer: z.boolean(),
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  shell: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/shell",
      summary: "Runs a shell command of the person in the session, without the model.",
      body: ShellBody,
      answer: WireItem,
      kind: "slow",
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  abort: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/abort",
      summary: "Stops the run of a session and of its descendants.",
      answer: z.boolean(),
      errors: ["not_found"],
    }),
  ),
  summarize: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/summarize",
      summary: "Summarises the history except its most recent part, with the model of the config.",
      isBodyOptional: true,
      body: z.object({
        providerID: z.string().optional(),
        modelID: z.string().optional(),
        auto: z.boolean().optional(),
      }),
      answer: z.boolean(),
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
} as const

const changing = {
  update: route(
    sessionRoute({
      method: "PATCH",
      path: "/session/:sessionID",
      summary: "Sets the title, the rules, or whether the session is archived.",
      isBodyOptional: true,
      body: z.object({
        title: title.optional(),
        metadata: metadata.optional(),
        permission: Ruleset.optional().describe("Replaces the existing rules"),
        time: z
          .object({ archived: z.number().nonnegative().nullable().optional() })
          .optional()
          .describe("`archived: null` or 0 restores the session"),
      }),
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
  remove: route(
    sessionRoute({
      method: "DELETE",
      path: "/session/:sessionID",
      summary: "Removes a session with all its descendants.",
      answer: z.boolean(),
      errors: ["not_found"],
    }),
  ),
  fork: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/fork",
      summary: "Creates a session that shares the history, all of it or up to a message.",
      isBodyOptional: true,
      body: z.object({ messageID: MessageID.optional() }),
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  revert: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/revert",
      summary: "Reverts a session, with its files, to before a message or one of its parts.",
      body: z.object({ messageID: MessageID, partID: PartID.optional() }),
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  unrevert: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/unrevert",
      summary: "Undoes a revert, with the files.",
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  share: route(
    sessionRoute({
      method: "POST",
      path: "/session/:sessionID/share",
      summary: "Creates a public page of a session.",
      answer: WireSession,
      errors: ["not_found", "denied"],
    }),
  ),
  unshare: route(
    sessionRoute({
      method: "DELETE",
      path: "/session/:sessionID/share",
      summary: "Removes the public page of a session at once.",
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
} as const

export const sessionRoutes = { ...finding, ...reading, ...talking, ...changing }
