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
import type { CommitOf, FileDiffOf, Snapshots, Workspace } from "../workspace/workspace.ts"
import { taskAgents } from "./tasks/task-agents.ts"

export interface ProjectsOptions {
  dataDirectory: string
  configDirectory: string
  env: Record<string, string | undefined>
  /** A config that the program gives; it overrides the user's config. */
  inline?: unknown
  /** Models by provider id, in addition to the built-in providers. */
  models?: Record<string, (modelID: string) => Model>
  /** Tools in addition to the built-in ones. A tool with the name of a built-in tool replaces it. */
  tools?: readonly Tool[]
  fetch?: typeof fetch
  snapshots?: boolean
}

/** The config of a project at one moment, with the models, tools and masks that follow from it. */
export interface Setup {
  loaded: LoadedConfig
  models: Models
  /** Every key that the config has had since this process first read it: old keys may stand in earlier messages. */
  secretsSoFar: readonly string[]
  tools: ReadonlyMap<string, Tool>
  /** The environment variables of tool processes, without keys and tokens. */
  environment: Record<string, string>
  /** Masks secrets in a text. */
  mask: (text: string) => string
  /** Makes a mask for one text that arrives in chunks. */
  maskStream: () => (text: string) => string
}

/** A directory that sessions work in. */
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

  /** Snapshots of the files. No snapshots are taken if the config switches them off. */
  get snapshots(): Snapshots {
    return this.#setup?.loaded.config.snapshot === false ? noSnapshots : this.#snapshots
  }

  /** The differences between the current files and a commit of the project's own repository. */
  async filesSince(commit: CommitOf): Promise<FileDiffOf[] | undefined> {
    // The config may switch snapshots off.
    await this.setup()
    return this.snapshots.since(commit)
  }

  /** Returns the same object until a config file changes. */
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
      answerBytesMax: loaded.config.answer.bytesMax,
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

/** The open projects, one for each directory. */
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
    // A missing directory may exist at the next call.
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
  since: async () => undefined,
  restore: async () => ({ restored: [], removed: [], failed: [] }),
}

async function realOr(path: string): Promise<string> {
  return realpath(path).catch(() => path)
}
