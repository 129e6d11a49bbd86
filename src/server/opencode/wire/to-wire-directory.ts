import type { Agent } from "../../../config/agents/agent.ts"
import type { AgentConfig, CommandConfig, Config } from "../../../config/files/schema.ts"
import type { LoadedConfig } from "../../../config/loaded.ts"
import { maskDeep } from "../../../config/secrets/environment.ts"
import { type ListedModel, type ListedProvider, parseModelName } from "../../../models/registry.ts"
import type { Setup } from "../../../run/index.ts"
import type { WireAgent, WireConfig, WireModel, WireProvider } from "./wire-directory.ts"

/** Options may contain keys and are left out. Secrets in other texts are masked. */
export function toWireAgent(agent: Agent, { loaded, mask }: Pick<Setup, "loaded" | "mask">): WireAgent {
  const { name, description, mode, hidden, builtIn, prompt, model, variant, temperature, topP, stepsMax } =
    agent
  const wire: WireAgent = {
    name,
    mode,
    hidden,
    native: builtIn,
    permission: [...loaded.rules, ...agent.permission],
    options: {},
    ...(description !== undefined && { description }),
    ...(prompt !== undefined && { prompt }),
    ...(model !== undefined && { model: parseModelName(model) }),
    ...(variant !== undefined && { variant }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stepsMax !== undefined && { steps: stepsMax }),
  }
  return maskDeep(wire, mask)
}

/** Lists every setting that is sent, so that a new setting stays private until it is added here. */
export function toWireConfig(
  { config }: LoadedConfig,
  { model, mask }: { model: string; mask: (text: string) => string },
): WireConfig {
  const { small_model, default_agent, share, snapshot, permission, tools, instructions } = config
  const { auto, prune } = config.compaction
  const { continue_loop_on_deny, primary_tools } = config.experimental
  const wire: WireConfig = {
    model,
    default_agent,
    share,
    snapshot,
    tools,
    instructions,
    disabled_providers: config.disabled_providers,
    compaction: { auto, prune },
    provider: mapValues(config.provider, toWireProviderConfig),
    agent: mapValues(config.agent, toWireAgentConfig),
    command: mapValues(config.command, toWireCommand),
    experimental: { continue_loop_on_deny, primary_tools },
    ...(small_model !== undefined && { small_model }),
    ...(permission && { permission }),
  }
  return maskDeep(wire, mask)
}

function toWireProviderConfig({ name, npm, models = {} }: Config["provider"][string]) {
  return {
    ...(name !== undefined && { name }),
    ...(npm !== undefined && { npm }),
    models: mapValues(models, (model) => pick(model, ["name"])),
  }
}

const agentKeys = [
  "description",
  "mode",
  "prompt",
  "model",
  "variant",
  "temperature",
  "top_p",
  "tools",
  "permission",
  "disable",
  "hidden",
] as const

function toWireAgentConfig(agent: AgentConfig): WireConfig["agent"][string] {
  const { maxSteps, steps = maxSteps } = agent
  return { ...pick(agent, agentKeys), ...(steps !== undefined && { steps }) }
}

function toWireCommand(command: CommandConfig): WireConfig["command"][string] {
  const { template } = command
  return { template, ...pick(command, ["description", "agent", "model", "subtask"]) }
}

function pick<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Partial<Pick<T, K>> {
  const known = keys.filter((key) => from[key] !== undefined)
  return Object.fromEntries(known.map((key) => [key, from[key]])) as Partial<Pick<T, K>>
}

function mapValues<T, U>(record: Record<string, T>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, change(value)]))
}

export function toWireProvider(provider: ListedProvider, options: { isConfigured: boolean }): WireProvider {
  const { id, name, keyNames, models } = provider
  return {
    id,
    name,
    source: options.isConfigured ? "config" : keyNames.length > 0 ? "env" : "custom",
    env: [...keyNames],
    options: {},
    models: Object.fromEntries(models.map((model) => [model.id, toWireModel(model, id)])),
  }
}

/** For facts that the catalogue lacks, assumes what most models support. */
function toWireModel({ id, name, limit, price }: ListedModel, providerID: string): WireModel {
  const media = { text: true, audio: false, image: true, video: false, pdf: true }
  return {
    id,
    providerID,
    name,
    api: { id, url: "", npm: "" },
    capabilities: {
      temperature: true,
      reasoning: true,
      attachment: true,
      toolcall: true,
      input: media,
      output: { ...media, image: false, pdf: false },
      interleaved: false,
    },
    cost: {
      input: price?.input ?? 0,
      output: price?.output ?? 0,
      cache: { read: price?.cache?.read ?? 0, write: price?.cache?.write ?? 0 },
    },
    limit,
    status: "active",
    options: {},
    headers: {},
    release_date: "",
  }
}
