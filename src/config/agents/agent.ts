import type { JsonObject, Ruleset } from "../../protocol/index.ts"

/** An agent: a prompt, a model, tools and rules under one name. */
export interface Agent {
  name: string
  /** What the agent is good for. Other agents read it to choose one. */
  description?: string
  /** `primary` answers people, `subagent` answers other agents, `all` does both. */
  mode: "primary" | "subagent" | "all"
  /** True for an agent that Stemma itself uses. It is not offered to people. */
  hidden: boolean
  builtIn: boolean
  /** Added to the system prompt. */
  prompt?: string
  /** `provider/model`; the session's model if absent. */
  model?: string
  variant?: string
  temperature?: number
  topP?: number
  /** Tools switched on or off by name, with wildcards. The last matching line wins. */
  tools: Record<string, boolean>
  /** The agent's own rules, applied after the config's. */
  permission: Ruleset
  /** How many steps a run may have. The last step is without tools. */
  stepsMax?: number
  /** The agent's own context limits; the config's where they are absent. */
  compaction?: { threshold?: number; keepTurns?: number }
  /** Provider options, by the provider's name. */
  options?: JsonObject
}
