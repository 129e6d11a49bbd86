import { createHash } from "node:crypto"
import { join, resolve } from "node:path"
import { StemmaError } from "../protocol/index.ts"
import type { Agent } from "./agents/agent.ts"
import { readInstructions } from "./agents/instructions.ts"
import { combineLayers } from "./combine.ts"
import { type ConfigFile, ConfigFiles } from "./files/config-files.ts"
import {
  filesOf,
  gatherLayer,
  gatherSkills,
  type Layer,
  type LayerFiles,
  parseSkills,
  readLayer,
  readProgramLayer,
} from "./layer.ts"
import type { LoadedConfig } from "./loaded.ts"
import { type Environment, homeDirectory } from "./paths.ts"
import { findProject, isInside, type ProjectLocation, projectID } from "./project.ts"
import { secretsOf } from "./secrets/secrets.ts"
import { hashOf, Trust } from "./trust/trust.ts"
import { trustGrants } from "./trust/trust-grants.ts"

export interface ConfigOptions {
  directory: string
  env: Environment
  /** A config that the program passes in. It is trusted like the user's and applied after it. */
  inline?: unknown
  dataDirectory: string
  configDirectory: string
  /** Names of environment variables that hold API keys. */
  keyNames?: readonly string[]
  /** The agents to start with; the built-in ones if absent. */
  standardAgents?: readonly Agent[]
  /** The shortest time between two checks of the files. */
  recheckMs?: number
}

/** The current config of one directory. */
export interface ConfigSource {
  /**
   * Returns the same object as long as nothing changed. Throws `invalid`, naming file, line and column, if a config
   * file of the user is invalid. A problem in a project's files is a notice.
   */
  current(): Promise<LoadedConfig>
  /**
   * Trusts the project's config files. With the hash that `pending` returned, trusts them only if they have not changed
   * since; otherwise throws `conflict`.
   */
  trust(options?: { hash?: string }): Promise<void>
  untrust(): Promise<void>
  /** The config files that are not trusted, and what trusting them would grant; undefined if there are none. */
  pending(): Promise<PendingTrust | undefined>
}

export interface PendingTrust {
  /** The project's config files that are not trusted, as they were read. */
  files: readonly ConfigFile[]
  /** What trusting them would allow, one sentence each. */
  grants: readonly string[]
  /** Identifies exactly these files with exactly these texts. */
  hash: string
}

/** Reads no file until the first call. */
export function openConfig(options: ConfigOptions): ConfigSource {
  const loader = new ConfigLoader({ ...options, configDirectory: resolve(options.configDirectory) })
  return {
    current: async () => (await loader.state()).loaded,
    trust: (given) => loader.trust(given?.hash),
    untrust: () => loader.untrust(),
    pending: async () => pendingTrust((await loader.state()).project),
  }
}

interface ProjectLayer {
  files: LayerFiles
  hash: string
  layer: Layer
}

interface State {
  files: ConfigFiles
  loaded: LoadedConfig
  /** The layers of the project that have config files. */
  project: ProjectLayer[]
  fingerprint: string
}

class ConfigLoader {
  readonly #options: ConfigOptions
  readonly #trust: Trust
  #state: State | undefined
  #checkedAt = 0
  #loading: Promise<State> | undefined
  /** The real path of the directory when it was first read. */
  #directory: string | undefined

  constructor(options: ConfigOptions) {
    this.#options = options
    this.#trust = new Trust(options.dataDirectory)
  }

  async state(): Promise<State> {
    const fresh = performance.now() - this.#checkedAt < (this.#options.recheckMs ?? 1000)
    if (this.#state && fresh) return this.#state
    this.#loading ??= this.#refresh().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async trust(hash: string | undefined): Promise<void> {
    const { project } = await this.#renewed()
    const pending = pendingTrust(project)
    if (hash !== undefined && pending?.hash !== hash)
      throw new StemmaError(
        "conflict",
        "The project's config files changed in the meantime. Read them again.",
      )
    for (const { layer, hash } of project) await this.#trust.give(layer.directory, hash)
    await this.#renewed()
  }

  async untrust(): Promise<void> {
    const { project } = await this.#renewed()
    for (const { layer } of project) await this.#trust.take(layer.directory)
    await this.#renewed()
  }

  async #renewed(): Promise<State> {
    await this.#loading?.catch(() => undefined)
    this.#checkedAt = Number.NEGATIVE_INFINITY
    return this.state()
  }

  async #refresh(): Promise<State> {
    const started = performance.now()
    const known = this.#state
    if (!known || !(await known.files.unchanged())) {
      const next = await this.#load()
      // A file may be touched without a change of its content. Callers then keep the same config object.
      this.#state = next.fingerprint === known?.fingerprint ? { ...next, loaded: known.loaded } : next
    }
    this.#checkedAt = started
    return this.#state!
  }

  async #load(): Promise<State> {
    const { env, dataDirectory, configDirectory, inline, standardAgents, keyNames = [] } = this.#options
    const location = await findProject(this.#options.directory)
    this.#directory ??= location.directory
    if (location.directory !== this.#directory)
      throw new StemmaError(
        "conflict",
        `${this.#options.directory} was replaced: it leads to another directory now. Put it back, or start again.`,
      )
    const files = new ConfigFiles()
    for (const level of new Set([location.directory, location.root])) await files.watch(join(level, ".git"))
    const user = await this.#userLayer(files)
    const program =
      inline === undefined ? [] : [await readProgramLayer(inline, { env, directory: configDirectory })]
    const project = await this.#projectLayers(files, location)
    const layers = [user, ...program, ...project.map((one) => one.layer)]
    const skilled = await Promise.all(layers.map((layer) => this.#withMoreSkills(layer, { files, location })))
    const combined = combineLayers(skilled, standardAgents)
    const instructions = await readInstructions({ files, location, configDirectory, layers, env })
    const loaded: LoadedConfig = {
      ...combined,
      instructions,
      notices: shownSentences([...combined.notices, ...files.notices]),
      ...secretsOf(combined.config, { layers, env, keyNames }),
      project: {
        id: await projectID(location, { dataDirectory, env }),
        root: location.root,
        directory: location.directory,
        trusted: project.length === 0 ? undefined : project.every((one) => one.layer.trusted),
      },
    }
    return { files, loaded, project, fingerprint: fingerprintOf(loaded) }
  }

  async #userLayer(files: ConfigFiles): Promise<Layer> {
    const { configDirectory, env } = this.#options
    const read = (path: string) => files.readOwn(path)
    const found = await gatherLayer(files, { directory: configDirectory, inner: configDirectory, read })
    return readLayer(found, { origin: "user", trusted: true, env, watch: (path) => files.watch(path) })
  }

  async #projectLayers(files: ConfigFiles, location: ProjectLocation): Promise<ProjectLayer[]> {
    const { env } = this.#options
    const layers: ProjectLayer[] = []
    for (const directory of location.levels) {
      if (directory === this.#options.configDirectory) continue
      const read = (path: string) => files.readInside(path, location.root)
      const found = await gatherLayer(files, { directory, inner: join(directory, ".stemma"), read })
      if (filesOf(found).length === 0) continue
      const hash = hashOf(directory, filesOf(found))
      await files.watch(this.#trust.path(directory))
      const trusted = await this.#trust.has(directory, hash)
      const layer = await readLayer(found, {
        origin: "project",
        trusted,
        env,
        watch: (path) => files.watch(path),
      })
      layers.push({ files: found, hash, layer })
    }
    return layers
  }

  /** Adds the skills from the directories that a trusted layer names. Those of a project must be inside it. */
  async #withMoreSkills(
    layer: Layer,
    { files, location }: { files: ConfigFiles; location: ProjectLocation },
  ): Promise<Layer> {
    if (!layer.trusted || !layer.config.skills?.paths) return layer
    const own = layer.origin !== "project"
    const notices = [...layer.notices]
    const more: ConfigFile[] = []
    for (const name of layer.config.skills.paths) {
      const home = homeDirectory(this.#options.env)
      const folder = resolve(
        layer.directory,
        name.replace(/^~(?=\/)/, () => home),
      )
      if (!own && !isInside(folder, location.root)) {
        notices.push(`${layer.path}: skills.paths: ${name} is outside the project and was ignored.`)
        continue
      }
      const read = (path: string) => (own ? files.readOwn(path) : files.readInside(path, location.root))
      more.push(...(await gatherSkills(files, { folder, read })))
    }
    const skills = await parseSkills(more, notices)
    return { ...layer, skills: [...skills, ...layer.skills], notices }
  }
}

function pendingTrust(project: readonly ProjectLayer[]): PendingTrust | undefined {
  const pending = project.filter((one) => !one.layer.trusted)
  if (pending.length === 0) return undefined
  return {
    files: pending.flatMap((one) => filesOf(one.files)),
    grants: shownSentences(pending.flatMap((one) => trustGrants(one.layer))),
    hash: createHash("sha256")
      .update(JSON.stringify(pending.map((one) => [one.layer.directory, one.hash])))
      .digest("hex"),
  }
}

const sentencesMax = 200
const sentenceCharactersMax = 600

/** These sentences contain file names and keys, so control characters are removed and the length is limited. */
function shownSentences(sentences: readonly string[]): string[] {
  const plain = sentences
    .map((one) => one.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " "))
    .map((one) => (one.length > sentenceCharactersMax ? `${one.slice(0, sentenceCharactersMax)}…` : one))
  const different = [...new Set(plain)]
  const left = different.length - sentencesMax
  // A person decides by these sentences, so they must see that some are left out.
  return left > 0 ? [...different.slice(0, sentencesMax), `And ${left} more.`] : different
}

function fingerprintOf(loaded: LoadedConfig): string {
  const everything = JSON.stringify({
    ...loaded,
    agents: [...loaded.agents],
    commands: [...loaded.commands],
  })
  return createHash("sha256").update(everything).digest("hex")
}
