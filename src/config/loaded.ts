import type { Ruleset } from "../protocol/index.ts"
import type { Agent } from "./agents/agent.ts"
import type { Command } from "./agents/command.ts"
import type { Skill } from "./agents/skills.ts"
import type { Config } from "./files/schema.ts"

/** Everything that config files say about one directory, put together. Never changed: a change of a file gives a new one. */
export interface LoadedConfig {
  /** Defaults, the user's config and what may be taken of the project's, merged; `{env:NAME}` is filled in. */
  config: Config
  /** The default rules, the user's, then the project's stricter ones: the first of the three sets. */
  rules: Ruleset
  /** By name: built-in, the user's, the project's. */
  agents: ReadonlyMap<string, Agent>
  /** By name: the user's, the program's, the project's. Not only those of `config.command`. */
  commands: ReadonlyMap<string, Command>
  skills: readonly Skill[]
  /** AGENTS.md of the project and of the user, in the order in which they join the system prompt. */
  instructions: readonly { path: string; text: string }[]
  /** What was ignored or wrong and what to do about it, a sentence each. */
  notices: readonly string[]
  /** Values that must not be shown to anybody: keys and whatever `{env:NAME}` stood for. */
  secrets: readonly string[]
  /** Keys in files of the project that are not trusted: nobody uses them, and they are nobody else's business either. */
  unusedSecrets: readonly string[]
  /** Names of the environment variables that tools do not get. */
  secretNames: readonly string[]
  project: Project
}

export interface Project {
  /** The same for every directory of one git repository, wherever it is cloned to; else made from the directory. */
  id: string
  /** The git work tree that holds the directory, or the directory itself. A real path. */
  root: string
  directory: string
  /** Whether the project's own config files, as they are now, are trusted; undefined if it has none. */
  trusted: boolean | undefined
}
