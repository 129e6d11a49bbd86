import { z } from "zod"
import { MessageID, PartID, Ruleset, SessionID } from "../../../protocol/index.ts"
import { route } from "../../../protocol/routes/index.ts"
import { directory, name, queryCount, queryFlag, queryLimit } from "../../../protocol/routes/shapes.ts"
import { CommandBody, PromptBody, ShellBody, WireModelName } from "../handlers/prompt-bodies.ts"
import { WireItem, WireReply } from "../wire/wire-message.ts"
import { WireFileDiff, WireSession, WireStatuses, WireTodo } from "../wire/wire-session.ts"

/** What that client sends beside it, such as `workspace`, is left alone. */
export const place = z.object({ directory: directory.optional() })
const params = z.object({ sessionID: SessionID })
const messageParams = z.object({ sessionID: SessionID, messageID: MessageID })

const at = <const T extends object>(definition: T) => ({ params, query: place, ...definition })
const title = z.string().max(10_000)
const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => Object.keys(value).length === 0, "sessions have no metadata here: leave it out")

const finding = {
  list: route({
    method: "GET",
    path: "/session",
    summary: "Sessions of a directory, the most recently updated first.",
    query: place.extend({
      scope: z.enum(["project"]).optional().describe("Of all directories of the project"),
      path: z.string().max(4096).optional().describe("Below this directory of the project"),
      roots: queryFlag.optional().describe("Without those that work for others"),
      start: queryCount.optional().describe("Updated since then"),
      search: z.string().max(1000).optional().describe("A piece of the title"),
      limit: queryLimit(1000).optional().describe("100 if absent"),
    }),
    answer: z.array(WireSession),
  }),
  create: route({
    method: "POST",
    path: "/session",
    summary: "Makes a session.",
    query: place,
    isBodyOptional: true,
    body: z.object({
      parentID: SessionID.optional(),
      title: title.optional(),
      agent: name.optional(),
      model: WireModelName.optional(),
      metadata: metadata.optional(),
      permission: Ruleset.optional(),
      workspaceID: z.never("there are no workspaces here: name a directory instead").optional(),
    }),
    answer: WireSession,
    errors: ["not_found"],
  }),
  status: route({
    method: "GET",
    path: "/session/status",
    summary: "The sessions that this server is running, and what they are doing.",
    query: place,
    answer: WireStatuses,
  }),
} as const

const reading = {
  get: route(
    at({
      method: "GET",
      path: "/session/:sessionID",
      summary: "The session as it is now.",
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
  children: route(
    at({
      method: "GET",
      path: "/session/:sessionID/children",
      summary: "The sessions right below it.",
      answer: z.array(WireSession),
      errors: ["not_found"],
    }),
  ),
  todo: route(
    at({
      method: "GET",
      path: "/session/:sessionID/todo",
      summary: "The todo list.",
      answer: z.array(WireTodo),
      errors: ["not_found"],
    }),
  ),
  diff: route(
    at({
      method: "GET",
      path: "/session/:sessionID/diff",
      summary: "The files that the session changed, or the turn of one user message.",
      query: place.extend({ messageID: MessageID.optional() }),
      answer: z.array(WireFileDiff),
      errors: ["not_found"],
    }),
  ),
  messages: route(
    at({
      method: "GET",
      path: "/session/:sessionID/message",
      summary:
        "The last messages, oldest first. If there are older ones, the headers Link and X-Next-Cursor say how to go on.",
      query: place.extend({
        limit: queryLimit(10_000).optional().describe("10,000 if absent"),
        before: MessageID.optional().describe("Only what came before it: an X-Next-Cursor"),
      }),
      answer: z.array(WireItem),
      errors: ["not_found"],
    }),
  ),
  message: route({
    method: "GET",
    path: "/session/:sessionID/message/:messageID",
    summary: "One message with its parts.",
    params: messageParams,
    query: place,
    answer: WireItem,
    errors: ["not_found"],
  }),
} as const

const talking = {
  prompt: route(
    at({
      method: "POST",
      path: "/session/:sessionID/message",
      summary:
        "Sends a prompt and waits for the reply, or only adds it with `noReply`. Headers are sent at once, white space while it takes.",
      body: PromptBody,
      answer: z.union([WireReply, WireItem]),
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  promptAsync: route(
    at({
      method: "POST",
      path: "/session/:sessionID/prompt_async",
      summary: "Sends a prompt; the answer says that it is kept.",
      body: PromptBody,
      kind: "none",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  command: route(
    at({
      method: "POST",
      path: "/session/:sessionID/command",
      summary: "Sends what a command of the config makes of its arguments, and waits for the reply.",
      body: CommandBody,
      answer: WireReply,
      kind: "slow",
      errors: ["not_found", "conflict", "unavailable"],
    }),
  ),
  shell: route(
    at({
      method: "POST",
      path: "/session/:sessionID/shell",
      summary: "Runs a command of the person's own in the session, without the model.",
      body: ShellBody,
      answer: WireItem,
      kind: "slow",
      errors: ["not_found", "conflict", "denied"],
    }),
  ),
  abort: route(
    at({
      method: "POST",
      path: "/session/:sessionID/abort",
      summary: "Stops what runs in it and below it.",
      answer: z.boolean(),
      errors: ["not_found"],
    }),
  ),
  summarize: route(
    at({
      method: "POST",
      path: "/session/:sessionID/summarize",
      summary: "Summarises the history but for its recent end. The config says by which model.",
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
    at({
      method: "PATCH",
      path: "/session/:sessionID",
      summary: "Sets the title, the rules, or whether it is archived.",
      isBodyOptional: true,
      body: z.object({
        title: title.optional(),
        metadata: metadata.optional(),
        permission: Ruleset.optional().describe("In place of those it has"),
        time: z
          .object({ archived: z.number().nonnegative().nullable().optional() })
          .optional()
          .describe("`archived: null` or 0 brings it back"),
      }),
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
  remove: route(
    at({
      method: "DELETE",
      path: "/session/:sessionID",
      summary: "Removes the session with everything below it.",
      answer: z.boolean(),
      errors: ["not_found"],
    }),
  ),
  fork: route(
    at({
      method: "POST",
      path: "/session/:sessionID/fork",
      summary: "A new session with the same history: the whole, or what came before a message.",
      isBodyOptional: true,
      body: z.object({ messageID: MessageID.optional() }),
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  revert: route(
    at({
      method: "POST",
      path: "/session/:sessionID/revert",
      summary: "Goes back to before a message, or one of its parts, with the files.",
      body: z.object({ messageID: MessageID, partID: PartID.optional() }),
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  unrevert: route(
    at({
      method: "POST",
      path: "/session/:sessionID/unrevert",
      summary: "Takes a revert back, with the files.",
      answer: WireSession,
      errors: ["not_found", "conflict"],
    }),
  ),
  share: route(
    at({
      method: "POST",
      path: "/session/:sessionID/share",
      summary: "Makes a public page of the session.",
      answer: WireSession,
      errors: ["not_found", "denied"],
    }),
  ),
  unshare: route(
    at({
      method: "DELETE",
      path: "/session/:sessionID/share",
      summary: "Ends the public page at once.",
      answer: WireSession,
      errors: ["not_found"],
    }),
  ),
} as const

export const sessionRoutes = { ...finding, ...reading, ...talking, ...changing }
