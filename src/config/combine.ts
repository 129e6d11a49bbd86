import type { Rule, Ruleset } from "../protocol/index.ts"
import { toRuleset } from "../session/index.ts"
import type { Agent } from "./agents/agent.ts"
import { combineAgents, untrustedNotice } from "./agents/agents.ts"
import { builtInAgents } from "./agents/built-in-agents.ts"
import type { Command } from "./agents/command.ts"
import { combineCommands } from "./agents/commands.ts"
import type { Skill } from "./agents/skills.ts"
import { mergeConfig } from "./files/merge-config.ts"
import { Config, type ConfigInput } from "./files/schema.ts"
import type { Layer } from "./layer.ts"
import { defaultRules } from "./permission/default-rules.ts"
import type { OverlapBudget } from "./permission/pattern-overlap.ts"
import { stricterBudget, stricterRules } from "./permission/stricter-rules.ts"

/** The result of combining the layers in their given order. */
export interface Combined {
  config: Config
  rules: Ruleset
  agents: Map<string, Agent>
  commands: Map<string, Command>
  skills: Skill[]
  notices: string[]
}

/** The keys that an untrusted project may use, within limits. */
const untrustedKeys = ["$schema", "permission", "agent", "command"]

/** The keys that no project may use, trusted or not, because they affect the whole program and not one directory. */
export const userOnlyKeys = ["server"] as const

export function combineLayers(given: readonly Layer[], standard: readonly Agent[] = builtInAgents): Combined {
  const notices = given.flatMap((layer) => layer.notices)
  const layers = given.map((layer) => withoutUserOnlyKeys(layer, notices))
  let merged: ConfigInput = {}
  for (const layer of layers) {
    // `share: "disabled"` only makes things stricter, so it is taken from any project. A config that cannot be read may
    // have contained it.
    const sharesNothing = layer.isBroken || layer.config.share === "disabled"
    if (layer.trusted) merged = mergeConfig(merged, layer.config)
    else {
      const left = Object.keys(layer.config).filter(
        (key) => !untrustedKeys.includes(key) && !(key === "share" && sharesNothing),
      )
      if (left.length > 0)
        notices.push(`${layer.path}: ${left.join(", ")} ${untrustedNotice(layer, left.length)}`)
    }
    if (sharesNothing) merged = { ...merged, share: "disabled" }
  }
  const budget = stricterBudget()
  const rules = combineRules(layers, { notices, budget })
  const written = rules.slice(defaultRules.length)
  const agents = combineAgents({ standard, layers, rules, written, notices, budget })
  const commands = combineCommands(layers, notices)
  const config = withDefaultAgent(Config.parse(merged), { agents, notices })
  return { config, rules, agents, commands, skills: combineSkills(layers, notices), notices }
}

function withoutUserOnlyKeys(layer: Layer, notices: string[]): Layer {
  if (layer.origin !== "project") return layer
  const config = { ...layer.config }
  for (const key of userOnlyKeys) {
    if (config[key] === undefined) continue
    delete config[key]
    notices.push(`${layer.path}: ${key} was ignored: only your own config file can set it.`)
  }
  return { ...layer, config }
}

function combineRules(
  layers: readonly Layer[],
  { notices, budget }: { notices: string[]; budget: OverlapBudget },
): Ruleset {
  const rules: Rule[] = [...defaultRules]
  for (const layer of layers) {
    const written = toRuleset(layer.config.permission ?? {})
    if (layer.trusted) rules.push(...written)
    else {
      const { rules: stricter, left } = stricterRules(rules, written, budget)
      rules.push(...stricter)
      if (written.some((rule) => rule.action === "allow"))
        notices.push(`${layer.path}: rules that allow more ${untrustedNotice(layer, 2)}`)
      if (left > 0)
        notices.push(`${layer.path}: ${left} rules were ignored because they are too long or too many.`)
    }
  }
  return rules
}

/** A later skill replaces an earlier one of the same name, except that an untrusted project replaces none. */
function combineSkills(layers: readonly Layer[], notices: string[]): Skill[] {
  const skills = new Map<string, Skill>()
  for (const layer of layers) {
    for (const skill of layer.skills) {
      if (layer.trusted || !skills.has(skill.name)) skills.set(skill.name, skill)
      else
        notices.push(
          `${skill.path}: there already is a skill ${skill.name}; this one ${untrustedNotice(layer, 1)}`,
        )
    }
  }
  return [...skills.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function withDefaultAgent(
  config: Config,
  { agents, notices }: { agents: ReadonlyMap<string, Agent>; notices: string[] },
): Config {
  const mayAnswer = (agent: Agent | undefined): boolean =>
    agent !== undefined && !agent.hidden && agent.mode !== "subagent"
  if (mayAnswer(agents.get(config.default_agent))) return config
  const other = agents.values().find(mayAnswer)?.name ?? "build"
  notices.push(
    `default_agent: ${config.default_agent} is not an agent that answers people; ${other} is used instead.`,
  )
  return { ...config, default_agent: other }
}
