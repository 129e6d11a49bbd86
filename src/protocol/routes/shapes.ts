import { z } from "zod"
import { MessageID, PartID, PermissionID, SessionID } from "../id/id.ts"
import { FileDiff } from "../message/file-diff.ts"
import { Message } from "../message/message.ts"
import { Part } from "../message/part.ts"
import { Ruleset, RulesInput } from "../permission.ts"
import { PromptParts } from "../prompt.ts"
import { HistoryItemSchema, RowSchema } from "../row-schema.ts"
import { SearchKind } from "../search.ts"
import { Session } from "../session.ts"
import { Price, Tokens } from "../usage.ts"

/** Every value of a query arrives as text. */
export const queryFlag = z
  .stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] })
  .meta({ enum: ["true", "1", "false", "0"] })
export const queryCount = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER)
export const queryLimit = (max: number) => z.coerce.number().int().min(1).max(max)

const pathText = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[^\0]+$/, "expected a path without NUL")
export const directory = pathText.describe(
  "An absolute path; if absent, the directory that the server was started in",
)
export const absoluteDirectory = directory.regex(/^(?:\/|[A-Za-z]:[\\/]|\\\\)/, "expected an absolute path")
export const cursor = z.string().min(1).max(1024)
export const name = z.string().min(1).max(256)
export const modelName = z
  .string()
  .max(512)
  .regex(/^[^/]+\/./s, "expected provider/model, such as openai/gpt-5")
export const rules = z.union([Ruleset, RulesInput])
export const tools = z.record(z.string(), z.boolean())

export const sessionParams = z.object({ id: SessionID })
/** Adds the path parameter `id` to a route of one session. */
export const ofSession = <const T extends object>(definition: T) => ({ params: sessionParams, ...definition })

export const questionParams = z.object({ id: SessionID, permissionID: PermissionID })

export const promptFields = {
  messageID: MessageID.optional().describe(
    "An id that the client chooses: sending the same prompt again with this id adds nothing",
  ),
  delivery: z.enum(["steer", "queue"]).optional(),
  agent: name.optional(),
  model: modelName.optional(),
  system: z.string().optional().describe("Added to the system prompt for this message only"),
  tools: tools.optional(),
  variant: name.optional(),
  references: z.enum(["all", "files", "none"]).optional(),
  unattended: z
    .boolean()
    .optional()
    .describe("No person can answer questions: a call that needs permission is refused at once"),
}

export const PromptBody = z.strictObject({
  text: z.string().optional().describe("The prompt as text"),
  parts: PromptParts.optional().describe("The prompt as parts, instead of `text`"),
  ...promptFields,
})

export const Accepted = z.object({ messageID: MessageID })

export const ReplyShape = z.object({
  message: Message,
  parts: z.array(Part),
  text: z.string().describe("The text of the answer, without reasoning and tool calls"),
})

export const HistoryPageShape = z.object({
  items: z.array(HistoryItemSchema),
  count: z.number().int(),
  epoch: z.number().int(),
  more: z.boolean(),
})

export const SessionPage = z.object({ items: z.array(Session), next: z.string().optional() })

export const ChangesShape = z.object({ rows: z.array(RowSchema), cursor: z.string(), more: z.boolean() })

export const SnapshotShape = z.object({
  cursor: z.string().describe("Changes after this snapshot start at this cursor"),
  rows: z.array(RowSchema).describe("The session, its todos, inbox and permission questions"),
  page: HistoryPageShape.describe("The last messages of the history"),
})

export const SearchPageShape = z.object({
  hits: z.array(
    z.object({
      kind: SearchKind,
      sessionID: SessionID,
      forks: z.number().int(),
      left: z.boolean().optional(),
      messageID: MessageID.optional(),
      partID: PartID.optional(),
      position: z.number().int().optional(),
      role: z.enum(["user", "assistant"]).optional(),
      snippet: z.string(),
      marks: z.array(z.tuple([z.number().int(), z.number().int()])),
    }),
  ),
  next: z.string().optional(),
})

export const CompactionShape = z.object({
  messageID: MessageID,
  summary: z.string(),
  ledger: z.string(),
  tokensBefore: z.number().int(),
  tokensAfter: z.number().int(),
})

const usage = { tokens: Tokens, cost: z.number() }

export const UsageShape = z.object({
  ...usage,
  tree: z.object({ ...usage, sessions: z.number().int() }),
})

export const BudgetShape = z.object({
  budget: z
    .number()
    .nullable()
    .describe("Dollars for the session and all its descendants; null means no limit"),
  spent: z.number(),
  left: z.number().nullable(),
})

export const ContextShape = z.object({
  agent: z.string(),
  model: z.string(),
  tokens: z.object({
    system: z.number(),
    tools: z.number(),
    summary: z.number(),
    ledger: z.number(),
    messages: z.number(),
    toolOutput: z.number(),
    total: z.number(),
  }),
  messages: z.number().int(),
  window: z
    .object({ context: z.number(), usable: z.number(), limit: z.number(), fullness: z.number() })
    .optional(),
  hidden: z.array(
    z.object({
      reason: z.enum(["compaction", "prune", "trim", "revert", "ignored"]),
      messages: z.number().int().optional(),
      parts: z.number().int().optional(),
      tokens: z.number(),
    }),
  ),
})

export const RevertedShape = z.object({
  session: Session,
  files: z.array(z.string()),
  notice: z.string().optional(),
})

export const RemovalShape = z.object({
  sessions: z.array(SessionID),
  messages: z.number().int(),
  kept: z.object({ messages: z.number().int(), sessions: z.array(SessionID) }),
  blobs: z.number().int(),
})

export const StatisticsShape = z.object({
  messages: z.object({ user: z.number(), assistant: z.number(), tool: z.number() }),
  calls: z.record(z.string(), z.number()),
  tools: z.array(z.string()),
  ...usage,
})

export const DiffShape = z.array(FileDiff)

export const AgentShape = z.object({
  name: z.string(),
  description: z.string().optional(),
  mode: z.enum(["primary", "subagent", "all"]),
  isHidden: z.boolean(),
  model: z.string().optional(),
})

export const CommandShape = z.object({
  name: z.string(),
  description: z.string().optional(),
  agent: z.string().optional(),
  isTask: z.boolean().optional(),
  isTrusted: z.boolean(),
})

export const ProviderShape = z.object({
  id: z.string(),
  name: z.string(),
  isReady: z.boolean(),
  keyNames: z
    .array(z.string())
    .describe("The environment variables that may hold the provider's key; never a key itself"),
  problem: z.string().optional(),
  models: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      limit: z.object({ context: z.number(), output: z.number() }),
      price: Price.optional(),
    }),
  ),
})

export const ProjectShape = z.object({
  id: z.string(),
  directory: z.string(),
  root: z.string(),
  isTrusted: z.boolean().optional().describe("Absent if the project has no config of its own"),
  model: z.string().describe("The model that answers when a prompt names none"),
  notices: z.array(z.string()),
})
