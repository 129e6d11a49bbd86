import type { Rule, Ruleset } from "../../protocol/index.ts"
import { matchWildcard, toRuleset } from "../../session/index.ts"
import { configFilesMax } from "../files/config-files.ts"
import type { AgentConfig } from "../files/schema.ts"
import type { Layer } from "../layer.ts"
import type { OverlapBudget } from "../permission/pattern-overlap.ts"
import { stricterRules } from "../permission/stricter-rules.ts"
import type { Agent } from "./agent.ts"
import { readOnlyAgents } from "./built-in-agents.ts"

const agentName = /^[\p{L}\p{N}][\p{L}\p{N}_.-]{0,63}$/u

export interface AgentOptions {
  standard: readonly Agent[]
  layers: readonly Layer[]
  /** All rules of the config. */
  rules: Ruleset
  /** The rules that people wrote, without the defaults. */
  written: Ruleset
  notices: string[]
  /** The remaining work budget for the rules of untrusted projects. */
  budget: OverlapBudget
}

/** The built-in agents with the changes of each layer, and the agents that the layers add. */
export function combineAgents(options: AgentOptions): Map<string, Agent> {
  const agents = new Map(
    options.standard.map((agent) => [agent.name, withReadOnlyShell(agent, options.written)]),
  )
  for (const layer of options.layers) {
    for (const [name, config] of agentsOf(layer)) {
      if (!agentName.test(name)) {
        options.notices.push(
          `${layer.path}: "${name}" is not a valid agent name. Use letters, digits, _ . and - only.`,
        )
        continue
      }
      const known = agents.get(name)
      if (!layer.trusted) {
        const agent = untrustedAgent(name, { config, known, layer, options })
        if (agent) agents.set(name, agent)
      } else if (config.disable) agents.delete(name)
      else agents.set(name, trustedAgent(name, config, known))
    }
  }
  return agents
}

/** The tools that are on or off for an agent, in an order in which the last matching line wins. */
export function toolSwitches(...switches: (Record<string, boolean> | undefined)[]): Record<string, boolean> {
  const all = new Map<string, boolean>()
  for (const [name, on] of switches.flatMap((each) => Object.entries(each ?? {}))) {
    all.delete(name)
    all.set(name, on)
  }
  return Object.fromEntries(all)
}

function agentsOf(layer: Layer): [string, AgentConfig][] {
  const ofConfig = Object.entries(layer.config.agent ?? {}) as [string, AgentConfig][]
  const all = [...ofConfig, ...layer.agents]
  return layer.trusted ? all : all.slice(0, configFilesMax)
}

/**
 * In an agent that can only read, shell commands run without a question. Rules that people wrote about the shell still
 * apply, so they are repeated after this rule.
 */
function withReadOnlyShell(agent: Agent, written: Ruleset): Agent {
  if (!agent.builtIn || !readOnlyAgents.includes(agent.name)) return agent
  const shell = written
    .filter((rule) => matchWildcard("bash", rule.permission))
    .map((rule): Rule => ({ ...rule, permission: "bash" }))
  const reading: Rule = { permission: "bash", pattern: "*", action: "allow" }
  return { ...agent, permission: [reading, ...shell, ...agent.permission] }
}

function trustedAgent(name: string, config: AgentConfig, known: Agent | undefined): Agent {
  const base = known ?? newAgent(name)
  const stepsMax = config.steps ?? config.maxSteps
  return {
    ...base,
    ...(config.description !== undefined && { description: config.description }),
    ...(config.mode !== undefined && { mode: config.mode }),
    ...(config.hidden !== undefined && { hidden: config.hidden }),
    ...(config.prompt !== undefined && { prompt: config.prompt }),
    ...(config.model !== undefined && { model: config.model }),
    ...(config.variant !== undefined && { variant: config.variant }),
    ...(config.temperature !== undefined && { temperature: config.temperature }),
    ...(config.top_p !== undefined && { topP: config.top_p }),
    ...(stepsMax !== undefined && { stepsMax }),
    ...(config.compaction !== undefined && { compaction: { ...base.compaction, ...config.compaction } }),
    ...(config.options !== undefined && { options: { ...base.options, ...config.options } }),
    tools: toolSwitches(base.tools, config.tools),
    permission: [...base.permission, ...toRuleset(config.permission ?? {})],
  }
}

/**
 * An untrusted project may define a new agent's prompt and description, and may make any agent stricter. Its rules are
 * compared with those of the config and of the existing agent of that name, so it cannot redefine an agent to loosen
 * it.
 */
function untrustedAgent(
  name: string,
  given: { config: AgentConfig; known: Agent | undefined; layer: Layer; options: AgentOptions },
): Agent | undefined {
  const { config, known, layer, options } = given
  if (!known && config.disable) return undefined
  const base = known ?? newAgent(name)
  const before = [...options.rules, ...base.permission]
  const { rules } = stricterRules(before, toRuleset(config.permission ?? {}), options.budget)
  const off = Object.fromEntries(Object.entries(config.tools ?? {}).filter(([, on]) => !on))
  const left = ignoredFields(config, known)
  if (left.length > 0)
    options.notices.push(
      `${layer.path}: ${left.join(", ")} of agent ${name} ${untrustedNotice(layer, left.length)}`,
    )
  return {
    ...base,
    ...(!known && config.description !== undefined && { description: config.description }),
    ...(!known && config.mode !== undefined && { mode: config.mode }),
    ...(!known && config.prompt !== undefined && { prompt: config.prompt }),
    tools: toolSwitches(base.tools, off),
    permission: [...base.permission, ...rules],
  }
}

function ignoredFields(config: AgentConfig, known: Agent | undefined): string[] {
  const taken = known ? ["permission", "tools"] : ["permission", "tools", "description", "mode", "prompt"]
  const fields = Object.keys(config).filter((field) => !taken.includes(field))
  return Object.values(config.tools ?? {}).includes(true) ? [...fields, "tools that are switched on"] : fields
}

/** The end of a sentence about config that was ignored. */
export function untrustedNotice(layer: Layer, count: number): string {
  const verb = count === 1 ? "was" : "were"
  return `${verb} ignored, since this project is not trusted. Read its config, then run \`stemma trust\` in ${layer.directory}.`
}

function newAgent(name: string): Agent {
  return { name, mode: "all", hidden: false, builtIn: false, tools: {}, permission: [] }
}
