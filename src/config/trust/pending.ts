import { ownReferences, toRuleset } from "../../session/index.ts"
import { commandsOf } from "../agents/commands.ts"
import { usersOwn } from "../combine.ts"
import { variablesIn } from "../files/fill-in.ts"
import type { AgentConfig, CommandConfig, ConfigInput, ProviderConfig } from "../files/schema.ts"
import type { Layer } from "../layer.ts"

/** What trusting a project's layer would allow it, a sentence each, for a person who is about to decide. */
export function grantsOf(layer: Layer): string[] {
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
      : `What you say to models of ${id}, and the key for it, goes to ${url}.`,
  ]
}

function ruleGrants(permission: ConfigInput["permission"], whose: string): string[] {
  return toRuleset(permission ?? {})
    .filter((rule) => rule.action !== "deny")
    .map((rule) => `${sentence(whose)} ${rule.action} for ${rule.permission} ${rule.pattern}.`)
}

function sentence(whose: string): string {
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

/** What stands in a template of its own accord needs no question once the template is trusted. */
function commandGrants(name: string, { template, description: _, ...rest }: CommandConfig): string[] {
  const plain = Object.keys(rest)
  return [
    `It adds the command /${name}.`,
    ...(plain.length > 0 ? [`It sets ${plain.join(", ")} of the command /${name}.`] : []),
    ...ownReferences(template).map(({ type, value }) => {
      const what = type === "command" ? `runs ${value}` : `takes in ${value}`
      return `Its command /${name} ${what} without a question.`
    }),
  ]
}

/** The text below front matter is not filled in. */
function matterOf(layer: Layer): unknown[] {
  return [...layer.commands.values()].map(({ template: _, ...matter }) => matter)
}

/** Those that have a sentence of their own above, and those that trust does not grant. */
const spokenOf = ["$schema", "provider", "permission", "tools", "agent", "command", ...usersOwn]

function settingGrants(config: ConfigInput): string[] {
  return Object.entries(config)
    .filter(([key]) => !spokenOf.includes(key))
    .map(([key, value]) => `It sets ${key} to ${JSON.stringify(value).slice(0, 200)}.`)
}
