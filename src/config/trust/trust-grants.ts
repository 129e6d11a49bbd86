import { ownReferences, toRuleset } from "../../session/index.ts"
import { commandsOf } from "../agents/commands.ts"
import { userOnlyKeys } from "../combine.ts"
import { variablesIn } from "../files/placeholders.ts"
import type { AgentConfig, CommandConfig, ConfigInput, ProviderConfig } from "../files/schema.ts"
import type { Layer } from "../layer.ts"

/** What trusting a project's layer would allow, one sentence each, for a person who is about to decide. */
export function trustGrants(layer: Layer): string[] {
  const { config } = layer
  const agents = { ...config.agent, ...Object.fromEntries(layer.agents) } as Record<string, AgentConfig>
  return [
    ...Object.entries(config.provider ?? {}).flatMap(([id, provider]) => providerGrants(id, provider)),
    ...variablesIn([config, agents, matterOf(layer)]).map(
      (name) => `It reads the environment variable ${name}.`,
    ),
    ...ruleGrants(config.permission, ""),
    ...toolGrants(config.tools, ""),
    ...Object.entries(agents).flatMap(([name, agent]) => agentGrants(name, agent)),
    ...settingGrants(config),
    ...commandsOf(layer).flatMap(([name, command]) => commandGrants(name, command)),
  ]
}

function providerGrants(id: string, provider: ProviderConfig): string[] {
  const url = provider.options?.baseURL
  return [
    url === undefined
      ? `It changes settings of the provider ${id}.`
      : `Your prompts to models of ${id}, and its API key, are sent to ${url}.`,
  ]
}

function ruleGrants(permission: ConfigInput["permission"], whose: string): string[] {
  return toRuleset(permission ?? {})
    .filter((rule) => rule.action !== "deny")
    .map((rule) => `${ruleSubject(whose)} ${rule.action} for ${rule.permission} ${rule.pattern}.`)
}

function ruleSubject(whose: string): string {
  return whose === "" ? "Its rules say" : `Rules of its agent ${whose} say`
}

function toolGrants(tools: Record<string, boolean> | undefined, whose: string): string[] {
  const on = Object.entries(tools ?? {}).flatMap(([name, value]) => (value ? [name] : []))
  return on.map((name) => `It switches on the tool ${name}${whose === "" ? "" : ` for its agent ${whose}`}.`)
}

function agentGrants(name: string, agent: AgentConfig): string[] {
  const plain = Object.keys(agent).filter((key) => !["permission", "tools"].includes(key))
  return [
    ...(plain.length > 0 ? [`It sets ${plain.join(", ")} of the agent ${name}.`] : []),
    ...ruleGrants(agent.permission, name),
    ...toolGrants(agent.tools, name),
  ]
}

/** References in a trusted template need no permission request. */
function commandGrants(name: string, { template, description: _, ...rest }: CommandConfig): string[] {
  const plain = Object.keys(rest)
  return [
    `It adds the command /${name}.`,
    ...(plain.length > 0 ? [`It sets ${plain.join(", ")} of the command /${name}.`] : []),
    ...ownReferences(template).map(({ type, value }) => {
      const what = type === "command" ? `runs ${value}` : `reads ${value}`
      return `Its command /${name} ${what} without asking.`
    }),
  ]
}

/** Placeholders in the text below the front matter are not filled in. */
function matterOf(layer: Layer): unknown[] {
  return [...layer.commands.values()].map(({ template: _, ...matter }) => matter)
}

/** Keys that have their own sentences above, and keys that trust does not grant. */
const settingsCovered = ["$schema", "provider", "permission", "tools", "agent", "command", ...userOnlyKeys]

function settingGrants(config: ConfigInput): string[] {
  return Object.entries(config)
    .filter(([key]) => !settingsCovered.includes(key))
    .map(([key, value]) => `It sets ${key} to ${JSON.stringify(value).slice(0, 200)}.`)
}
