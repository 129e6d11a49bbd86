import { z } from "zod"
import { JsonObject, RulesInput } from "../../protocol/index.ts"

/** The provider packages that are part of Stemma. A config chooses among them and cannot name another one. */
export const providerPackages = [
  "@ai-sdk/openai",
  "@ai-sdk/anthropic",
  "@ai-sdk/google",
  "@ai-sdk/openai-compatible",
] as const

const ModelName = z
  .string()
  .regex(/^[^/\s]+\/\S+$/, "expected a model as provider/model, such as openai/gpt-5")
  .describe("provider/model")
const Duration = z
  .string()
  .regex(/^\d+(\.\d+)?(s|m|h|d|w)$/, "expected a duration such as 12h, 30d or 8w")
  .describe("A number and s, m, h, d or w, such as 30d")
const Tools = z
  .record(z.string(), z.boolean())
  .describe("Tools switched on or off by name; * is a wildcard; the last matching line wins")
const Permission = RulesInput.describe("{permission: action} or {permission: {pattern: action}}")
const Count = z.number().int().min(1)
const Price = z.number().min(0)

export const ProviderModelConfig = z.strictObject({
  id: z.string().min(1).optional().describe("The provider's name for the model, if it differs from the key"),
  name: z.string().optional(),
  limit: z.strictObject({ context: z.number().int().min(0), output: z.number().int().min(0) }).optional(),
  cost: z
    .strictObject({
      input: Price,
      output: Price,
      cache_read: Price.optional(),
      cache_write: Price.optional(),
    })
    .optional()
    .describe("Dollars per million tokens"),
  options: JsonObject.optional().describe("Provider options for each call"),
  variants: z.record(z.string(), JsonObject).optional().describe("Provider options by variant name"),
})
export type ProviderModelConfig = z.infer<typeof ProviderModelConfig>

export const ProviderConfig = z.strictObject({
  npm: z.enum(providerPackages).optional().describe("The built-in package that connects to the provider"),
  name: z.string().optional(),
  options: z
    .looseObject({
      baseURL: z.string().optional(),
      apiKey: z.string().optional().describe("Preferably {env:NAME}"),
      headers: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  models: z.record(z.string(), ProviderModelConfig).optional(),
})
export type ProviderConfig = z.infer<typeof ProviderConfig>

const CompactionThreshold = Count.optional().describe("Compacts the context when it has this many tokens")
const KeepTurns = Count.optional().describe("How many recent turns a compaction keeps whole")

export const AgentConfig = z.strictObject({
  description: z
    .string()
    .optional()
    .describe("What the agent is good for; other agents read it to choose one"),
  mode: z.enum(["primary", "subagent", "all"]).optional(),
  prompt: z.string().optional(),
  model: ModelName.optional(),
  variant: z.string().optional(),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  tools: Tools.optional(),
  permission: Permission.optional(),
  steps: Count.optional().describe("How many steps a run may have"),
  maxSteps: Count.optional().describe("The same as steps"),
  compaction: z
    .strictObject({ threshold: CompactionThreshold, keepTurns: KeepTurns })
    .optional()
    .describe("The agent's own context limits"),
  options: JsonObject.optional().describe("Provider options"),
  disable: z.boolean().optional(),
  hidden: z.boolean().optional(),
})
export type AgentConfig = z.infer<typeof AgentConfig>

export const CommandConfig = z.strictObject({
  template: z.string(),
  description: z.string().optional(),
  agent: z.string().optional(),
  model: ModelName.optional(),
  subtask: z.boolean().optional().describe("Runs as a subtask, in a child session"),
})
export type CommandConfig = z.infer<typeof CommandConfig>

const Origin = z
  .string()
  .regex(/^https?:\/\/[^/?#\s]+\/?$/, "expected an origin such as https://app.example.org")
const HostName = z
  .string()
  .regex(/^[^/?#@\s]+$/, "expected a name such as stemma.example.org, without https:// and path")

/** How clients reach the server. Only the user's own config can set it, because it decides which clients may call. */
export const ServerConfig = z.strictObject({
  publicUrl: z
    .string()
    .regex(/^https?:\/\/[^?#\s]+$/, "expected an address such as https://stemma.example.org")
    .optional()
    .describe("The server's public URL, for links to shared sessions"),
  hosts: z.array(HostName).optional().describe("Further host names that requests to the server may use"),
  origins: z.array(Origin).optional().describe("Origins of other web pages that may call the server"),
})
export type ServerConfig = z.infer<typeof ServerConfig>

/** The schema of a config file. Fields with a default are always set after the files are merged. */
export const Config = z.strictObject({
  $schema: z.string().optional(),
  model: ModelName.optional(),
  small_model: ModelName.optional().describe("The model for titles and summaries"),
  default_agent: z.string().default("build"),
  provider: z.record(z.string(), ProviderConfig).default({}),
  disabled_providers: z.array(z.string()).default([]),
  permission: Permission.optional(),
  agent: z.record(z.string(), AgentConfig).default({}),
  tools: Tools.default({}),
  instructions: z
    .array(z.string().min(1))
    .default([])
    .describe("Files and globs of the project that are added to the system prompt"),
  skills: z
    .strictObject({
      paths: z.array(z.string().min(1)).default([]).describe("Further directories with skills"),
    })
    .prefault({}),
  share: z.enum(["manual", "auto", "disabled"]).default("manual"),
  retention: z
    .strictObject({
      children: Duration.optional().describe("Children are deleted this long after their last change"),
      archived: Duration.optional().describe(
        "Archived sessions are deleted this long after they were archived",
      ),
    })
    .prefault({}),
  budget: z
    .number()
    .positive()
    .optional()
    .describe("Dollars that a session may cost before a person is asked"),
  maxHistory: Count.optional().describe("How many messages the context keeps at most"),
  keepFirstMessage: z.boolean().default(false).describe("Whether the first prompt stays in the context"),
  compaction: z
    .strictObject({
      auto: z.boolean().default(true),
      prune: z.boolean().default(true),
      threshold: CompactionThreshold,
      keepTurns: KeepTurns,
    })
    .prefault({}),
  snapshot: z.boolean().default(true),
  stepsMax: Count.optional().describe("How many steps a run may have"),
  idleTimeoutMs: Count.default(120_000).describe(
    "A model that sends nothing for this long counts as stalled",
  ),
  answer: z
    .strictObject({
      bytesMax: Count.default(64 * 1024 * 1024).describe(
        "How many bytes of a model's answer are read, and how many its texts may take in memory",
      ),
      argumentBytesMax: Count.default(16 * 1024 * 1024).describe(
        "How long the arguments of one tool call may be, in bytes",
      ),
      callsMax: Count.default(1000).describe("How many tool calls one answer may have"),
    })
    .prefault({})
    .describe("Limits of one model's answer; a longer answer is stopped with an error"),
  command: z.record(z.string(), CommandConfig).default({}),
  experimental: z
    .strictObject({
      continue_loop_on_deny: z.boolean().default(false),
      primary_tools: z.array(z.string()).default([]).describe("Tools that child sessions do not get"),
    })
    .prefault({}),
  task: z
    .strictObject({
      concurrency: Count.default(8),
      depth: Count.max(5).default(1),
      deadlineMs: Count.default(30 * 60_000),
    })
    .prefault({}),
  title: z.boolean().default(true).describe("Whether a model writes the titles of sessions"),
  server: ServerConfig.prefault({}).describe("How clients reach stemma serve; only in the user's own config"),
})
export type Config = z.output<typeof Config>
/** A config as people write it: every field is optional. */
export type ConfigInput = z.input<typeof Config>

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** The milliseconds of a duration in the config's format. */
export function durationMs(duration: string): number {
  return Number.parseFloat(duration) * unitMs[duration.at(-1) as keyof typeof unitMs]
}

/** The JSON Schema of a config file, for editors. */
export function configJsonSchema(): JsonObject {
  const { $schema, ...rest } = z.toJSONSchema(Config, { io: "input", target: "draft-7" })
  return { $schema, title: "Stemma config", ...rest }
}

/** The keys that a schema allows at this path. */
export function knownKeys(schema: z.ZodType, keys: readonly PropertyKey[]): string[] {
  let at: unknown = schema
  for (const key of keys) {
    const inner = bare(at)
    if (inner instanceof z.ZodObject) at = inner.shape[String(key)]
    else if (inner instanceof z.ZodRecord) at = inner.valueType
    else return []
  }
  const last = bare(at)
  return last instanceof z.ZodObject ? Object.keys(last.shape) : []
}

function bare(schema: unknown): unknown {
  let at = schema
  while (at instanceof z.ZodOptional || at instanceof z.ZodDefault || at instanceof z.ZodPrefault)
    at = at.unwrap()
  return at
}
