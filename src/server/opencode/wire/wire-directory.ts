import { z } from "zod"
import { Ruleset, RulesInput } from "../../../protocol/index.ts"

const emptyOptions = z
  .record(z.string(), z.unknown())
  .describe("Always empty, because options may contain keys")

export const WireAgent = z.object({
  name: z.string(),
  description: z.string().optional(),
  mode: z.enum(["subagent", "primary", "all"]),
  native: z.boolean(),
  hidden: z.boolean(),
  topP: z.number().optional(),
  temperature: z.number().optional(),
  permission: Ruleset.describe("All rules of the agent; later rules win"),
  model: z.object({ modelID: z.string(), providerID: z.string() }).optional(),
  variant: z.string().optional(),
  prompt: z.string().optional(),
  options: emptyOptions,
  steps: z.number().optional(),
})
export type WireAgent = z.infer<typeof WireAgent>

const media = z.object({
  text: z.boolean(),
  audio: z.boolean(),
  image: z.boolean(),
  video: z.boolean(),
  pdf: z.boolean(),
})

export const WireModel = z.object({
  id: z.string(),
  providerID: z.string(),
  api: z.object({ id: z.string(), url: z.string(), npm: z.string() }),
  name: z.string(),
  capabilities: z.object({
    temperature: z.boolean(),
    reasoning: z.boolean(),
    attachment: z.boolean(),
    toolcall: z.boolean(),
    input: media,
    output: media,
    interleaved: z.boolean(),
  }),
  cost: z.object({
    input: z.number(),
    output: z.number(),
    cache: z.object({ read: z.number(), write: z.number() }),
  }),
  limit: z.object({ context: z.number(), output: z.number() }),
  status: z.literal("active"),
  options: emptyOptions,
  headers: z.record(z.string(), z.string()).describe("Always empty"),
  release_date: z.string(),
})
export type WireModel = z.infer<typeof WireModel>

export const WireProvider = z.object({
  id: z.string(),
  name: z.string(),
  source: z.enum(["env", "config", "custom"]),
  env: z.array(z.string()).describe("The names of the variables that may contain its key, never a key"),
  options: emptyOptions,
  models: z.record(z.string(), WireModel),
})
export type WireProvider = z.infer<typeof WireProvider>

export const WireProviders = z.object({
  providers: z.array(WireProvider),
  default: z.record(z.string(), z.string()),
})

const switches = z.record(z.string(), z.boolean())

/** The config that a client may see. It lists every field that is sent, so that no other field leaves the server. */
export const WireConfig = z.object({
  model: z.string().describe("The model of prompts that name none"),
  small_model: z.string().optional(),
  default_agent: z.string(),
  share: z.enum(["manual", "auto", "disabled"]),
  snapshot: z.boolean(),
  permission: RulesInput.optional(),
  tools: switches,
  instructions: z.array(z.string()),
  disabled_providers: z.array(z.string()),
  compaction: z.object({ auto: z.boolean(), prune: z.boolean() }),
  provider: z.record(
    z.string(),
    z.object({
      name: z.string().optional(),
      npm: z.string().optional(),
      models: z.record(z.string(), z.object({ name: z.string().optional() })),
    }),
  ),
  agent: z.record(
    z.string(),
    z.object({
      description: z.string().optional(),
      mode: z.enum(["subagent", "primary", "all"]).optional(),
      prompt: z.string().optional(),
      model: z.string().optional(),
      variant: z.string().optional(),
      temperature: z.number().optional(),
      top_p: z.number().optional(),
      tools: switches.optional(),
      permission: RulesInput.optional(),
      steps: z.number().optional(),
      disable: z.boolean().optional(),
      hidden: z.boolean().optional(),
    }),
  ),
  command: z.record(
    z.string(),
    z.object({
      template: z.string(),
      description: z.string().optional(),
      agent: z.string().optional(),
      model: z.string().optional(),
      subtask: z.boolean().optional(),
    }),
  ),
  experimental: z.object({ continue_loop_on_deny: z.boolean(), primary_tools: z.array(z.string()) }),
})
export type WireConfig = z.infer<typeof WireConfig>

export const WirePath = z.object({
  home: z.string(),
  state: z.string().describe("Always empty"),
  config: z.string().describe("Always empty"),
  worktree: z.string(),
  directory: z.string(),
})

export const WireProject = z.object({
  id: z.string(),
  worktree: z.string(),
  vcs: z.literal("git").optional(),
  time: z.object({ created: z.number(), updated: z.number() }),
  sandboxes: z.array(z.string()),
})
export type WireProject = z.infer<typeof WireProject>

export const WireMatch = z.object({
  path: z.object({ text: z.string() }),
  lines: z.object({ text: z.string() }),
  line_number: z.number(),
  absolute_offset: z.number(),
  submatches: z.array(
    z.object({ match: z.object({ text: z.string() }), start: z.number(), end: z.number() }),
  ),
})
export type WireMatch = z.infer<typeof WireMatch>

export const WireFileNode = z.object({
  name: z.string(),
  path: z.string(),
  absolute: z.string(),
  type: z.enum(["file", "directory"]),
  ignored: z.boolean(),
})
export type WireFileNode = z.infer<typeof WireFileNode>

export const WireFileContent = z.object({
  type: z.enum(["text", "binary"]),
  content: z.string(),
  encoding: z.literal("base64").optional(),
  mimeType: z.string().optional(),
})
export type WireFileContent = z.infer<typeof WireFileContent>
