import type { JsonObject, Ruleset } from "../../protocol/index.ts"

/** Who answers: a prompt, a model, tools and rules under one name. */
export interface Agent {
  name: string
  /** What it is good for; other agents read it to choose. */
  description?: string
  /** `primary` answers people, `subagent` answers other agents, `all` does both. */
  mode: "primary" | "subagent" | "all"
  /** Works for Stemma itself; people are not offered it. */
  hidden: boolean
  builtIn: boolean
  /** Joins the system prompt. */
  prompt?: string
  /** `provider/model`; the session's model if absent. */
  model?: string
  variant?: string
  temperature?: number
  topP?: number
  /** Tools switched on or off by name, with wildcards; the later line wins. */
  tools: Record<string, boolean>
  /** Its own rules, after the config's. */
  permission: Ruleset
  /** How many steps a run may have; the last one is without tools. */
  stepsMax?: number
  /** Its own limits of the context; the config's where they are absent. */
  compaction?: { threshold?: number; keepTurns?: number }
  /** Provider options, by the provider's name. */
  options?: JsonObject
}
