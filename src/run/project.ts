import { createHash } from "node:crypto"
import { realpath } from "node:fs/promises"
import { join } from "node:path"
import { type ConfigSource, openConfig } from "../config/load.ts"
import type { LoadedConfig } from "../config/loaded.ts"
import { type Grants, openGrants } from "../config/permission/grants.ts"
import { secretMask, streamMask, toolEnvironment } from "../config/secrets/environment.ts"
import type { Model } from "../models/model.ts"
import { createModels, type Models } from "../models/registry.ts"
import { builtInTools } from "../tools/index.ts"
import { createSkillTool } from "../tools/skill.ts"
import { createTaskTool } from "../tools/task.ts"
import type { Tool } from "../tools/tool.ts"
import { openWorkspace } from "../workspace/path/paths.ts"
import { openSnapshots } from "../workspace/snapshot/snapshots.ts"
import type { Snapshots, Workspace } from "../workspace/workspace.ts"
import { taskAgents } from "./tasks/task-agents.ts"

export interface ProjectsOptions {
  dataDirectory: string
  configDirectory: string
  env: Record<string, string | undefined>
  /** A config given by the program, after the user's. */
  inline?: unknown
  /** Models by provider id, beside the built-in providers. */
  models?: Record<string, (modelID: string) => Model>
  /** Tools beside the built-in ones; one of the same name takes its place. */
  tools?: readonly Tool[]
  fetch?: typeof fetch
  snapshots?: boolean
}

/** The config as it is at one moment, with what follows from it. */
export interface Setup {
  loaded: LoadedConfig
  models: Models
  /** All keys that the config has had since this process read it first: those that were changed have been said before. */
  secretsSoFar: readonly string[]
  tools: ReadonlyMap<string, Tool>
  /** What processes of tools get. */
  environment: Record<string, string>
  /** Takes secrets out of a text. */
  mask: (text: string) => string
  /** The same for a text that comes bit by bit; a new one for each text. */
  maskStream: () => (text: string) => string
}

/** One directory that sessions work in. */
export class Project {
  readonly directory: string
  readonly workspace: Workspace
  readonly #snapshots: Snapshots
  readonly source: ConfigSource
  readonly grants: Grants
  readonly #options: ProjectsOptions
  readonly #secrets = new Set<string>()
  #setup: Setup | undefined

  constructor(options: {
    workspace: Workspace
    snapshots: Snapshots
    source: ConfigSource
    grants: Grants
    projects: ProjectsOptions
  }) {
    this.directory = options.workspace.directory
    this.workspace = options.workspace
    this.#snapshots = options.snapshots
    this.source = options.source
    this.grants = options.grants
    this.#options = options.projects
  }

  /** Snapshots of the files; none where the config, as it was last read, switches them off. */
  get snapshots(): Snapshots {
    return this.#setup?.loaded.config.snapshot === false ? noSnapshots : this.#snapshots
  }

  /** The same object as long as no config file changes. */
  async setup(): Promise<Setup> {
    const loaded = await this.source.current()
    if (this.#setup?.loaded === loaded) return this.#setup
    const { env, models: custom, fetch } = this.#options
    const models = createModels({
      env,
      ...(loaded.config.provider && { provider: loaded.config.provider }),
      ...(loaded.config.disabled_providers && { disabled: loaded.config.disabled_providers }),
      ...(custom && { custom }),
      ...(fetch && { fetch }),
    })
    const secrets = [...loaded.secrets, ...models.secrets()]
    const names = [...loaded.secretNames, ...models.secretNames]
    for (const value of [...secrets, ...loaded.unusedSecrets]) this.#secrets.add(value)
    this.#setup = {
      loaded,
      models,
      secretsSoFar: [...this.#secrets],
      tools: this.#tools(loaded),
      environment: toolEnvironment(env, { names, values: secrets }),
      mask: secretMask(secrets),
      maskStream: streamMask(secrets),
    }
    return this.#setup
  }

  #tools(loaded: LoadedConfig): ReadonlyMap<string, Tool> {
    const own = this.#options.tools ?? []
    const made = [createSkillTool(() => loaded.skills), createTaskTool(() => agents)]
    const all: Tool[] = [...builtInTools(), ...made, ...own]
    const tools = new Map(all.map((tool) => [tool.name, tool]))
    const agents = taskAgents(loaded, [...tools.keys()])
    return tools
  }
}

/** The projects that are in use, each opened once. */
export class Projects {
  readonly options: ProjectsOptions
  readonly #open = new Map<string, Promise<Project>>()

  constructor(options: ProjectsOptions) {
    this.options = options
  }

  async get(directory: string): Promise<Project> {
    const known = this.#open.get(directory)
    if (known) return known
    const opening = this.#load(directory)
    this.#open.set(directory, opening)
    // A directory that is missing now may be there later.
    opening.catch(() => this.#open.delete(directory))
    return opening
  }

  async #load(directory: string): Promise<Project> {
    const { dataDirectory, configDirectory, env, inline } = this.options
    const own = await Promise.all([dataDirectory, configDirectory].map(realOr))
    const workspace = await openWorkspace({ directory, own, forbidden: [join(own[0]!, "token")] })
    const source = openConfig({
      directory: workspace.directory,
      env,
      dataDirectory,
      configDirectory,
      ...(inline !== undefined && { inline }),
    })
    const name = createHash("sha256").update(workspace.root).digest("hex").slice(0, 16)
    const snapshots =
      this.options.snapshots === false
        ? noSnapshots
        : openSnapshots({
            root: workspace.root,
            gitDirectory: join(dataDirectory, "snapshots", name),
            own,
          })
    const grants = openGrants({ directory: join(dataDirectory, "grants") })
    return new Project({ workspace, snapshots, source, grants, projects: this.options })
  }
}

const noSnapshots: Snapshots = {
  unavailable: "Files are not restored: snapshots are switched off.",
  take: async () => undefined,
  changed: async () => [],
  diff: async () => [],
  restore: async () => ({ restored: [], removed: [], failed: [] }),
}

async function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
