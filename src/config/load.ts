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
import { findProject, isInside, type ProjectPlace, projectID } from "./project.ts"
import { secretsOf } from "./secrets/secrets.ts"
import { grantsOf } from "./trust/pending.ts"
import { hashOf, Trust } from "./trust/trust.ts"

export interface ConfigOptions {
  directory: string
  env: Environment
  /** A config that the program gives: trusted like the user's and applied after it. */
  inline?: unknown
  dataDirectory: string
  configDirectory: string
  /** Names of environment variables that hold keys of providers. */
  keyNames?: readonly string[]
  /** The agents to begin with; the built-in ones if absent. */
  standardAgents?: readonly Agent[]
  /** How often files are looked at again, at most. */
  recheckMs?: number
}

/** The config of one directory, as it is now. */
export interface ConfigSource {
  /**
   * The same object as long as nothing changed. Throws `invalid`, naming file, line and column, if a config file of the user
   * is wrong; what is wrong with a project's files is a notice.
   */
  current(): Promise<LoadedConfig>
  /**
   * Trusts the project's config files. With the hash that `pending` gave, only if they are still those: `conflict` if not.
   */
  trust(options?: { hash?: string }): Promise<void>
  untrust(): Promise<void>
  /** What is not trusted and what trusting would grant; undefined if there is nothing to trust. */
  pending(): Promise<PendingTrust | undefined>
}

export interface PendingTrust {
  /** The project's config files that are not trusted, as they were read. */
  files: readonly ConfigFile[]
  /** What they would be allowed, a sentence each. */
  grants: readonly string[]
  /** Names just these files with just these texts. */
  hash: string
}

/** Reads nothing yet. */
export function openConfig(options: ConfigOptions): ConfigSource {
  const loader = new ConfigLoader({ ...options, configDirectory: resolve(options.configDirectory) })
  return {
    current: async () => (await loader.state()).loaded,
    trust: (given) => loader.trust(given?.hash),
    untrust: () => loader.untrust(),
    pending: async () => pendingOf((await loader.state()).project),
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
  /** The layers of the project that have files. */
  project: ProjectLayer[]
  fingerprint: string
}

class ConfigLoader {
  readonly #options: ConfigOptions
  readonly #trust: Trust
  #state: State | undefined
  #checkedAt = 0
  #loading: Promise<State> | undefined

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
    const pending = pendingOf(project)
    if (hash !== undefined && pending?.hash !== hash)
      throw new StemmaError("conflict", "The project's config changed in the meantime. Read it again.")
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
      // A file may be touched without being changed; then whoever holds the config need not hear of it.
      this.#state = next.fingerprint === known?.fingerprint ? { ...next, loaded: known.loaded } : next
    }
    this.#checkedAt = started
    return this.#state!
  }

  async #load(): Promise<State> {
    const { env, dataDirectory, configDirectory, inline, standardAgents, keyNames = [] } = this.#options
    const place = await findProject(this.#options.directory)
    const files = new ConfigFiles()
    for (const level of new Set([place.directory, place.root])) await files.watch(join(level, ".git"))
    const user = await this.#userLayer(files)
    const program =
      inline === undefined ? [] : [await readProgramLayer(inline, { env, directory: configDirectory })]
    const project = await this.#projectLayers(files, place)
    const layers = [user, ...program, ...project.map((one) => one.layer)]
    const skilled = await Promise.all(layers.map((layer) => this.#withMoreSkills(layer, { files, place })))
    const combined = combineLayers(skilled, standardAgents)
    const instructions = await readInstructions({ files, place, configDirectory, layers, env })
    const loaded: LoadedConfig = {
      ...combined,
      instructions,
      notices: presentable([...combined.notices, ...files.notices]),
      ...secretsOf(combined.config, { layers, env, keyNames }),
      project: {
        id: await projectID(place, { dataDirectory, env }),
        root: place.root,
        directory: place.directory,
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

  async #projectLayers(files: ConfigFiles, place: ProjectPlace): Promise<ProjectLayer[]> {
    const { env } = this.#options
    const layers: ProjectLayer[] = []
    for (const directory of place.levels) {
      if (directory === this.#options.configDirectory) continue
      const read = (path: string) => files.readInside(path, place.root)
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

  /** Skills in the folders that a trusted layer names; those of a project must be inside it. */
  async #withMoreSkills(
    layer: Layer,
    { files, place }: { files: ConfigFiles; place: ProjectPlace },
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
      if (!own && !isInside(folder, place.root)) {
        notices.push(`${layer.path}: skills.paths: ${name} is outside of the project and was ignored.`)
        continue
      }
      const read = (path: string) => (own ? files.readOwn(path) : files.readInside(path, place.root))
      more.push(...(await gatherSkills(files, { folder, read })))
    }
    const skills = await parseSkills(more, notices)
    return { ...layer, skills: [...skills, ...layer.skills], notices }
  }
}

function pendingOf(project: readonly ProjectLayer[]): PendingTrust | undefined {
  const pending = project.filter((one) => !one.layer.trusted)
  if (pending.length === 0) return undefined
  return {
    files: pending.flatMap((one) => filesOf(one.files)),
    grants: presentable(pending.flatMap((one) => grantsOf(one.layer))),
    hash: createHash("sha256")
      .update(JSON.stringify(pending.map((one) => [one.layer.directory, one.hash])))
      .digest("hex"),
  }
}

const sentencesMax = 200
const sentenceCharactersMax = 600

/** Names of files and keys are in these sentences, and a terminal obeys some characters. */
function presentable(sentences: readonly string[]): string[] {
  const plain = sentences
    .map((one) => one.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " "))
    .map((one) => (one.length > sentenceCharactersMax ? `${one.slice(0, sentenceCharactersMax)}…` : one))
  const different = [...new Set(plain)]
  const left = different.length - sentencesMax
  // Whoever decides by these sentences must see that something is not there.
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
