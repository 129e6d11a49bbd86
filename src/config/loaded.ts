import type { Ruleset } from "../protocol/index.ts"
import type { Agent } from "./agents/agent.ts"
import type { Command } from "./agents/command.ts"
import type { Skill } from "./agents/skills.ts"
import type { Config } from "./files/schema.ts"

/** The combined config of one directory. It never changes: when a file changes, a new object is made. */
export interface LoadedConfig {
  /** Defaults, the user's config and the allowed parts of the project's config, merged, with `{env:NAME}` filled in. */
  config: Config
  /**
   * The default rules, the user's, then the project's stricter ones: the first of the three rulesets (config, agent,
   * session).
   */
  rules: Ruleset
  /** By name: built-in, the user's and the project's. */
  agents: ReadonlyMap<string, Agent>
  /** By name: the user's, the program's and the project's, including those of Markdown files. */
  commands: ReadonlyMap<string, Command>
  skills: readonly Skill[]
  /** AGENTS.md of the user and of the project, in the order in which they are added to the system prompt. */
  instructions: readonly { path: string; text: string }[]
  /** What was ignored or is wrong, and what to do about it, one sentence each. */
  notices: readonly string[]
  /** Values that must not be shown to anybody: API keys, and values that were filled in for `{env:NAME}`. */
  secrets: readonly string[]
  /** API keys in config files of the project that are not trusted. They are not used, and must not be shown either. */
  unusedSecrets: readonly string[]
  /** Names of the environment variables that tools do not get. */
  secretNames: readonly string[]
  project: Project
}

export interface Project {
  /** The same for every clone and work tree of one git repository; without a repository, derived from the directory. */
  id: string
  /** The git work tree that contains the directory, or the directory itself. A real path. */
  root: string
  directory: string
  /** Whether the project's own config files are trusted in their current state; undefined if it has none. */
  trusted: boolean | undefined
}
