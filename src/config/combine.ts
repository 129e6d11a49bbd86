import type { Rule, Ruleset } from "../protocol/index.ts"
import { toRuleset } from "../session/index.ts"
import type { Agent } from "./agents/agent.ts"
import { combineAgents, untrusted } from "./agents/agents.ts"
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

/** What the layers say together, in the order in which they are given. */
export interface Combined {
  config: Config
  rules: Ruleset
  agents: Map<string, Agent>
  commands: Map<string, Command>
  skills: Skill[]
  notices: string[]
}

/** What an untrusted project may speak of, within limits. */
const takenFromAnybody = ["$schema", "permission", "agent", "command"]

/** What no project may speak of, trusted or not: it is about the whole program, not about one directory. */
export const usersOwn = ["server"] as const

export function combineLayers(given: readonly Layer[], standard: readonly Agent[] = builtInAgents): Combined {
  const notices = given.flatMap((layer) => layer.notices)
  const layers = given.map((layer) => withoutUsersOwn(layer, notices))
  let merged: ConfigInput = {}
  for (const layer of layers) {
    // Sharing nothing is only stricter. What cannot be read may have said so.
    const sharesNothing = layer.isBroken || layer.config.share === "disabled"
    if (layer.trusted) merged = mergeConfig(merged, layer.config)
    else {
      const left = Object.keys(layer.config).filter(
        (key) => !takenFromAnybody.includes(key) && !(key === "share" && sharesNothing),
      )
      if (left.length > 0) notices.push(`${layer.path}: ${left.join(", ")} ${untrusted(layer, left.length)}`)
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

function withoutUsersOwn(layer: Layer, notices: string[]): Layer {
  if (layer.origin !== "project") return layer
  const config = { ...layer.config }
  for (const key of usersOwn) {
    if (config[key] === undefined) continue
    delete config[key]
    notices.push(`${layer.path}: ${key} was ignored: only your own config can say it.`)
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
        notices.push(`${layer.path}: rules that allow more ${untrusted(layer, 2)}`)
      if (left > 0) notices.push(`${layer.path}: ${left} rules were ignored, being too long or too many.`)
    }
  }
  return rules
}

/** The later one takes the name, but an untrusted project takes none that is there. */
function combineSkills(layers: readonly Layer[], notices: string[]): Skill[] {
  const skills = new Map<string, Skill>()
  for (const layer of layers) {
    for (const skill of layer.skills) {
      if (layer.trusted || !skills.has(skill.name)) skills.set(skill.name, skill)
      else
        notices.push(`${skill.path}: there is a skill ${skill.name} already; this one ${untrusted(layer, 1)}`)
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
    `default_agent: ${config.default_agent} is no agent that answers people; ${other} does instead.`,
  )
  return { ...config, default_agent: other }
}
