import { z } from "zod"
import {
  MessageID,
  PartID,
  PermissionReply,
  Ruleset,
  RulesInput,
  SearchKind,
  SessionID,
} from "../../../protocol/index.ts"
import type { RevertMark } from "../../../session/index.ts"
import type { Scope, SearchQuery, SessionQuery } from "../../../stores/store.ts"
import type { SubscribeOptions } from "../../../stream/hub.ts"
import type { ShareOptions } from "../share.ts"
import { checkArgument, checkOptions } from "./check.ts"

/** Checks an argument and returns a copy. */
export type Check<T> = (value: unknown) => T

/** One schema for each field of an options object; the type makes a missing field an error. */
export type Shape<T> = { [K in keyof Required<T>]: z.ZodType }

/** Makes the check of a call's options. Options that are not `required` may be absent or undefined. */
export function optionsOf<T extends object>(
  call: string,
  shape: Shape<T>,
  required: readonly (keyof T & string)[] = [],
): Check<T> {
  const known = Object.keys(shape)
  const fields = Object.entries<z.ZodType>(shape as Record<string, z.ZodType>).map(([name, schema]) => [
    name,
    required.includes(name as keyof T & string) ? schema : schema.optional(),
  ])
  const schema = z.strictObject(Object.fromEntries(fields)) as unknown as z.ZodType<T>
  return (value) => checkOptions(schema, value, { call, name: "options", known })
}

export const text = z.string("expected a text")
export const flag = z.boolean("expected true or false")
export const path = z
  .string("expected a path, as a text")
  .regex(/^[^\0]+$/, "expected a path that is not empty and has no NUL in it")
export const name = z.string("expected a name").min(1, "expected a name that is not empty")
const model = "expected provider/model, such as openai/gpt-5"
export const modelName = z.string(model).regex(/^[^/]+\/./s, model)
const positive = z.int("expected a whole number from 1 on").min(1, "expected a whole number from 1 on")
const count = z.int("expected a whole number from 0 on").min(0, "expected a whole number from 0 on")
const rulesForm =
  'expected rules such as { edit: "ask" } or { bash: { "git *": "allow" } }, each of them allow, ask or deny'
const rules = z.union([Ruleset, RulesInput], rulesForm)
const key = name.max(512, "expected a key of at most 512 characters")
const dollars = "expected dollars, from 0 on"
const budget = z.number(dollars).min(0, dollars)

export interface CreateOptions {
  /** Creating with the id of an existing session returns that session. */
  id?: string
  /** An outside name, unique per agent. */
  key?: string
  /** The directory that the session works in; the directory that Stemma was opened with if absent. */
  directory?: string
  /** Makes the session a child of this one. */
  parentID?: string
  /** The agent that answers; the default agent if absent. */
  agent?: string
  /** `provider/model`. */
  model?: string
  /** A title; without one the first prompt gives the title. */
  title?: string
  /** Permission rules of this session, applied after those of the config and the agent. */
  permission?: RulesInput | Ruleset
  /** The number of last messages that the model is shown; all if absent. */
  maxHistory?: number
  /** The cost in dollars at which runs stop; the config's budget if absent. */
  budget?: number
  /** Files whose text starts the history. */
  files?: readonly string[]
}

export interface UpdateOptions {
  /** The title. */
  title?: string
  /** The agent that answers. */
  agent?: string | null
  /** The model that answers, as `provider/model`. */
  model?: string | null
  /** Permission rules of this session. */
  permission?: RulesInput | Ruleset | null
  /** The number of last messages that the model is shown. */
  maxHistory?: number | null
  /** The cost in dollars at which runs stop. */
  budget?: number | null
  /** An outside name, unique per agent. */
  key?: string | null
}

const sessionFields = { key, agent: name, model: modelName, title: text, maxHistory: positive, budget }

export const createOptions = optionsOf<CreateOptions>("sessions.create", {
  id: SessionID,
  ...sessionFields,
  directory: path,
  parentID: SessionID,
  permission: rules,
  files: z.array(path, 'expected a list of paths, such as ["notes.md"]'),
})

export const updateOptions = optionsOf<UpdateOptions>("sessions.update", {
  title: text,
  agent: name.nullable(),
  model: modelName.nullable(),
  permission: rules.nullable(),
  maxHistory: positive.nullable(),
  budget: budget.nullable(),
  key: key.nullable(),
})

export interface CurrentOptions {
  /** The project's own session if absent. */
  scope?: "project" | (string & {})
  /** The agent that the session belongs to. */
  agent?: string
}

const currentShape = {
  scope: name.max(400, "expected a name of at most 400 characters"),
  agent: name,
} satisfies Shape<CurrentOptions>

export const currentOptions = optionsOf<CurrentOptions>("sessions.current", currentShape)
export const resetOptions = optionsOf<CurrentOptions>("sessions.reset", currentShape)

const timeMs = z.number("expected milliseconds since 1970")

const listShape = {
  projectID: name,
  directory: path,
  agent: name,
  key: name,
  share: text,
  archived: flag,
  updated: z.strictObject(
    { from: timeMs.optional(), to: timeMs.optional() },
    { error: (issue) => (issue.code === "invalid_type" ? "expected { from, to }" : undefined) },
  ),
  title: text,
  order: z.enum(["updated", "created"], "expected updated or created"),
  limit: positive,
  cursor: text,
} satisfies Shape<Omit<SessionQuery, "parentID">>

export const listQuery = optionsOf<SessionQuery>("sessions.list", {
  ...listShape,
  parentID: SessionID.nullable(),
})
export const childrenQuery = optionsOf<Omit<SessionQuery, "parentID">>("sessions.children", listShape)

export const searchQuery = optionsOf<SearchQuery>(
  "sessions.search",
  {
    text,
    order: z.enum(["newest", "relevance"], "expected newest or relevance"),
    sessionID: SessionID,
    projectID: name,
    directory: path,
    kinds: z.array(
      z.enum(SearchKind.enum, `expected one of ${SearchKind.options.join(", ")}`),
      "expected a list of kinds",
    ),
    limit: positive,
    cursor: text,
  },
  ["text"],
)

export const forkOptions = optionsOf<{ messageID?: string; title?: string }>("sessions.fork", {
  messageID: MessageID,
  title: text,
})

export const revertMark = optionsOf<RevertMark>("sessions.revert", { messageID: MessageID, partID: PartID }, [
  "messageID",
])

const secretForm = "expected a text of 20 to 256 letters, digits, - or _ that nobody can guess"

export const shareOptions = optionsOf<ShareOptions>(
  "sessions.share",
  {
    url: z.url({ protocol: /^https?$/, error: "expected an address that begins with http: or https:" }),
    secret: z.string(secretForm).regex(/^[\w-]{20,256}$/, secretForm),
    include: z.strictObject(
      { reasoning: flag.optional(), tools: flag.optional() },
      { error: (issue) => (issue.code === "invalid_type" ? "expected { reasoning, tools }" : undefined) },
    ),
  },
  ["url", "secret"],
)

export const archiveOptions = optionsOf<{ archived?: boolean }>("sessions.archive", { archived: flag })

export interface NoteOptions {
  /** The sealed message. */
  messageID: string
  /** The name of the note: lower-case letters, dots and hyphens. */
  key: string
  /** Any JSON. */
  value: unknown
}

const noteKey = "expected a name of at most 32 lower-case letters, dots and hyphens"

export const noteOptions = optionsOf<NoteOptions>(
  "sessions.note",
  { messageID: MessageID, key: z.string(noteKey).regex(/^[a-z][a-z.-]{0,31}$/, noteKey), value: z.unknown() },
  ["messageID", "key"],
)

export interface RetentionOptions {
  /** The project's directory; the directory that Stemma was opened with if absent. */
  directory?: string
  /** Lists the sessions that would be removed, and removes nothing. */
  dryRun?: boolean
}

export const retentionOptions = optionsOf<RetentionOptions>("sessions.applyRetention", {
  directory: path,
  dryRun: flag,
})

export const messagesOptions = optionsOf<{ last?: number }>("session.messages", { last: count })
export const transcriptOptions = optionsOf<{ last?: number }>("session.transcript", { last: count })

const signal = z.custom<AbortSignal>(isSignal, "expected the signal of an AbortController")

function isSignal(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false
  const { aborted, addEventListener, removeEventListener } = value as Record<string, unknown>
  return (
    typeof aborted === "boolean" &&
    typeof addEventListener === "function" &&
    typeof removeEventListener === "function"
  )
}

const scope: z.ZodType<Scope> = z.union(
  [
    z.strictObject({ sessionID: SessionID }),
    z.strictObject({ treeID: SessionID }),
    z.strictObject({ directory: path }),
  ],
  "expected { sessionID }, { treeID } or { directory }",
)

export const sessionEventsOptions = optionsOf<{ signal?: AbortSignal }>("session.events", { signal })

export const eventsOptions = optionsOf<{ scope?: Scope; signal?: AbortSignal }>("stemma.events", {
  scope,
  signal,
})

export const subscribeOptions = optionsOf<SubscribeOptions>("stemma.subscribe", {
  scope,
  since: z.string("expected the cursor of a frame"),
  signal,
  bufferMax: positive,
  as: z.enum(["events", "rows"], "expected events or rows"),
  questions: flag,
})

export const trustOptions = optionsOf<{ directory?: string; hash?: string }>("stemma.trust", {
  directory: path,
  hash: text,
})
export const openOptions = optionsOf<{ directory?: string }>("permissions.open", { directory: path })
export const grantedOptions = optionsOf<{ directory?: string }>("permissions.granted", { directory: path })
export const revokeOptions = optionsOf<{ directory?: string }>("permissions.revoke", { directory: path })

export const replyAnswer = optionsOf<{ reply: PermissionReply; feedback?: string }>(
  "permissions.reply",
  { reply: z.enum(PermissionReply.enum, "expected once, always or reject"), feedback: text },
  ["reply"],
)

export function checkDirectory(value: unknown, call: string): string {
  return checkArgument(path, value, { call, name: "directory" })
}

export function checkAgentName(value: unknown, call: string): string {
  return checkArgument(name, value, { call, name: "agent" })
}

export function checkText(value: unknown, argument: { call: string; name: string }): string {
  return checkArgument(text, value, argument)
}
