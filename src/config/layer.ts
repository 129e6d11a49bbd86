import { basename, join } from "node:path"
import type { z } from "zod"
import { StemmaError } from "../protocol/index.ts"
import { parseSkill, type Skill } from "./agents/skills.ts"
import { checkDocument } from "./files/check-document.ts"
import { type ConfigFile, type ConfigFiles, configFilesMax } from "./files/config-files.ts"
import { type ConfigDocument, documentOf, parseFrontMatter, parseJsonc } from "./files/document.ts"
import { type FillOptions, fillPlaceholders } from "./files/placeholders.ts"
import { AgentConfig, CommandConfig, Config, type ConfigInput } from "./files/schema.ts"
import type { Environment } from "./paths.ts"

/** The config files of one directory, as text. */
export interface LayerFiles {
  /** The user's config directory, or a directory of the project. */
  directory: string
  config?: ConfigFile
  /** A stemma.json and a stemma.jsonc that exist together: it is unclear which one is meant. */
  ambiguous: ConfigFile[]
  agents: ConfigFile[]
  commands: ConfigFile[]
  skills: ConfigFile[]
}

/** The parsed config files of one directory. Later layers override earlier ones. */
export interface Layer {
  origin: "user" | "program" | "project"
  directory: string
  /** For notices: the path of the file, or a name for the source. */
  path: string
  /**
   * True for the user's own config and for a project that the user trusts. From other layers only stricter rules and
   * prompts are taken.
   */
  trusted: boolean
  config: ConfigInput
  /** True if there is a config file that cannot be parsed or is ambiguous. */
  isBroken: boolean
  /** Agents from Markdown files. They are applied after those of the config. */
  agents: ReadonlyMap<string, AgentConfig>
  /** Commands from Markdown files. They are applied after those of the config. */
  commands: ReadonlyMap<string, CommandConfig>
  skills: readonly Skill[]
  notices: readonly string[]
  secrets: readonly string[]
  secretNames: readonly string[]
}

/** The front matter of a command. The text below it is the template. */
const commandMatter = CommandConfig.omit({ template: true })

type Read = (path: string) => Promise<ConfigFile | undefined>

/** `inner` is the directory that contains the directories of agents, commands and skills. */
export async function gatherLayer(
  files: ConfigFiles,
  options: { directory: string; inner: string; read: Read },
): Promise<LayerFiles> {
  const { directory, inner, read } = options
  const configs = [await read(join(directory, "stemma.json")), await read(join(directory, "stemma.jsonc"))]
  const found = configs.filter((file) => file !== undefined)
  const agents = await gatherMarkdown(files, { folder: join(inner, "agents"), read })
  const commands = await gatherMarkdown(files, { folder: join(inner, "commands"), read })
  const skills = await gatherSkills(files, { folder: join(inner, "skills"), read })
  const one = found.length === 1 ? found[0] : undefined
  return { directory, ...(one && { config: one }), ambiguous: one ? [] : found, agents, commands, skills }
}

async function gatherMarkdown(
  files: ConfigFiles,
  options: { folder: string; read: Read },
): Promise<ConfigFile[]> {
  const found: ConfigFile[] = []
  for (const name of await files.list(options.folder)) {
    const file = name.endsWith(".md") ? await options.read(join(options.folder, name)) : undefined
    if (file) found.push(file)
  }
  return found
}

export async function gatherSkills(
  files: ConfigFiles,
  options: { folder: string; read: Read },
): Promise<ConfigFile[]> {
  const skills: ConfigFile[] = []
  for (const name of await files.list(options.folder)) {
    const file = await options.read(join(options.folder, name, "SKILL.md"))
    if (file) skills.push(file)
  }
  return skills.slice(0, configFilesMax)
}

/** All files of a layer that the user's trust covers. */
export function filesOf(layer: LayerFiles): ConfigFile[] {
  const { config, ambiguous, agents, commands, skills } = layer
  return [...(config ? [config] : []), ...ambiguous, ...agents, ...commands, ...skills]
}

/**
 * Parses the files. An invalid file of the user's own throws `invalid`; an invalid file of a project is ignored with a
 * notice, so that no project can stop Stemma from working.
 */
export async function readLayer(
  files: LayerFiles,
  options: {
    origin: "user" | "project"
    trusted: boolean
    env: Environment
    watch: (path: string) => Promise<void>
  },
): Promise<Layer> {
  const own = options.origin === "user"
  const reader = new LayerReader({ ...options, directory: files.directory, own })
  if (files.ambiguous.length > 0)
    await reader.attempt(async () => {
      const names = files.ambiguous.map((file) => file.path).join(" and ")
      throw new StemmaError("invalid", `There are two config files: ${names}. Keep one of them.`)
    })
  const path = files.config?.path ?? files.directory
  const { config: file } = files
  const config =
    file && (await reader.attempt(async () => reader.check(await parseJsonc(file.path, file.text), Config)))
  const agents = new Map<string, AgentConfig>()
  for (const file of files.agents) {
    const agent = await reader.attempt(() => reader.agent(file))
    if (agent) agents.set(agent.name, agent.config)
  }
  const commands = new Map<string, CommandConfig>()
  for (const file of files.commands) {
    const command = await reader.attempt(() => reader.command(file))
    if (command) commands.set(command.name, command.config)
  }
  const skills = await parseSkills(files.skills, reader.notices)
  const { notices, secrets, secretNames } = reader
  const { origin, trusted } = options
  return {
    origin,
    directory: files.directory,
    path,
    trusted,
    config: config ?? {},
    isBroken: (file !== undefined && config === undefined) || files.ambiguous.length > 0,
    agents,
    commands,
    skills,
    notices,
    secrets,
    secretNames,
  }
}

/** A config that the program passes in. It is trusted like the user's. */
export async function readProgramLayer(
  value: unknown,
  options: { env: Environment; directory: string },
): Promise<Layer> {
  const reader = new LayerReader({ trusted: true, own: true, watch: async () => {}, ...options })
  const config = await reader.check(documentOf("the given config", value), Config)
  const { notices, secrets, secretNames } = reader
  const { directory } = options
  const path = "the given config"
  return {
    origin: "program",
    directory,
    path,
    trusted: true,
    config,
    isBroken: false,
    agents: new Map(),
    commands: new Map(),
    skills: [],
    notices,
    secrets,
    secretNames,
  }
}

/** Skills often come from other people: an invalid skill is left out with a notice, in any layer. */
export async function parseSkills(files: readonly ConfigFile[], notices: string[]): Promise<Skill[]> {
  const skills: Skill[] = []
  for (const file of files) {
    try {
      skills.push(await parseSkill(file))
    } catch (error) {
      notices.push(ignoredNotice(error))
    }
  }
  return skills
}

interface ReaderOptions {
  own: boolean
  trusted: boolean
  directory: string
  env: Environment
  watch: (path: string) => Promise<void>
}

class LayerReader {
  readonly notices: string[] = []
  readonly secrets: string[] = []
  readonly secretNames: string[] = []
  readonly #options: ReaderOptions

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      if (this.#options.own) throw error
      this.notices.push(ignoredNotice(error))
      return undefined
    }
  }

  async check<Schema extends z.ZodType>(document: ConfigDocument, schema: Schema): Promise<z.input<Schema>> {
    const { own, trusted, directory, env, watch } = this.#options
    let { value } = document
    if (trusted) {
      const options: FillOptions = { env, path: document.path, ...(own && { directory }) }
      const filled = await fillPlaceholders(value, options)
      value = filled.value
      this.secrets.push(...filled.secrets)
      this.secretNames.push(...filled.secretNames)
      this.notices.push(...filled.notices)
      for (const path of filled.files) await watch(path)
    }
    const checked = await checkDocument({ ...document, value }, schema)
    this.notices.push(...checked.notices, ...misplacedRules(checked.value, document.path))
    return checked.value
  }

  async agent(file: ConfigFile): Promise<{ name: string; config: AgentConfig }> {
    const { document, body } = await parseFrontMatter(file.path, file.text)
    const config = await this.check(document, AgentConfig)
    return { name: basename(file.path, ".md"), config: body ? { ...config, prompt: body } : config }
  }

  async command(file: ConfigFile): Promise<{ name: string; config: CommandConfig }> {
    const { document, body } = await parseFrontMatter(file.path, file.text)
    const config = await this.check(document, commandMatter)
    return { name: basename(file.path, ".md"), config: { ...config, template: body } }
  }
}

/** JavaScript puts keys that are numbers before all others, so such a rule does not keep its position. */
function misplacedRules(value: unknown, path: string): string[] {
  const { permission, agent } = value as {
    permission?: object
    agent?: Record<string, { permission?: object }>
  }
  const sets = [permission, ...Object.values(agent ?? {}).map((one) => one.permission)]
  const rules = sets.flatMap((set) => Object.values(set ?? {}) as unknown[])
  const patterns = rules.flatMap((one) => (typeof one === "object" && one !== null ? Object.keys(one) : []))
  return patterns
    .filter((pattern) => /^\d{1,10}$/.test(pattern))
    .map(
      (pattern) =>
        `${path}: the rule for "${pattern}" is applied before all others of its kind. Write "${pattern}*" to keep its position.`,
    )
}

function ignoredNotice(error: unknown): string {
  if (!StemmaError.is(error)) throw error
  return `${error.message.replace(/ Correct it and try again; nothing was changed\.$/, "")} The file was ignored.`
}
