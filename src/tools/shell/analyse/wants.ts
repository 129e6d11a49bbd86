import { homedir } from "node:os"
import type { JsonObject } from "../../../protocol/index.ts"
import type { Wanted, WantsContext } from "../../tool.ts"
import { loadParse } from "../parse/parse.ts"
import { analyse, type CommandWant, type FileWant, type ShellWants } from "./analyse.ts"
import { programOfRepository } from "./git-repository.ts"
import { type ResolvedFile, type ResolvedFiles, resolveFiles } from "./resolve-files.ts"
import { deniedEdits } from "./tree-reads.ts"

export interface ShellCall {
  command: string
  /** The directory in which the command starts: a real path. */
  directory: string
  metadata: JsonObject
}

/**
 * The permission requests of a command. If the command can never be permitted, the first request is a refusal with a
 * reason.
 */
export async function shellWants(call: ShellCall, context: WantsContext): Promise<Wanted[]> {
  const home = homedir()
  const parse = await loadParse()
  const wants = analyse(parse(call.command), { directory: call.directory, home, parse })
  const files = await fileWants(wants.files, { call, context, home })
  const program = await repositoryProgram(wants.files, { context, home })
  const reason = program === undefined ? undefined : `git may run a program: ${program}.`
  const refusal = editIsDenied(context) ? refusalOf(wants, reason) : undefined
  return [
    ...(refusal ? [refusedWant(refusal, call)] : []),
    bashWanted(wants, { call, context, reason }),
    ...files,
  ]
}

/** The program that git would run because of the repository that it is started in. */
async function repositoryProgram(
  files: readonly FileWant[],
  { context, home }: Pick<Files, "context" | "home">,
): Promise<string | undefined> {
  for (const want of files.filter((one) => one.access === "repository")) {
    const { files: resolved, unknown } = await resolveFiles(want, { context, home })
    if (unknown) return "the repository is not known"
    for (const file of resolved) {
      const found = await programOfRepository(file.path)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** True if a command changes nothing, so that it needs no snapshot. */
export async function isReadOnly(command: string): Promise<boolean> {
  const parse = await loadParse()
  const wants = analyse(parse(command), { directory: "/", home: "/", parse })
  return refusalOf(wants) === undefined && wants.files.every((file) => file.access !== "edit")
}

export function editIsDenied(context: WantsContext): boolean {
  return context.decide({ permission: "edit", patterns: ["*"] }) === "deny"
}

/** Why a text may not run where editing is denied. */
function refusalOf(wants: ShellWants, reason?: string): string | undefined {
  if (wants.unparsed !== undefined) {
    return `Editing is denied, and this command cannot be checked: ${wants.unparsed} Use simple commands that only read.`
  }
  const command = wants.commands.find((one) => one.effect !== "reads" || one.hidden !== undefined)
  if (!command) return reason === undefined ? undefined : `Editing is denied, and ${reason}`
  const why =
    command.hidden === undefined ? "is not known to only read" : `may do more than read: ${command.hidden}`
  return `Editing is denied, and \`${command.patterns[0]}\` ${why}${why.endsWith(".") ? "" : "."}`
}

function refusedWant(reason: string, call: ShellCall): Wanted {
  return { permission: "edit", patterns: ["*"], floor: "deny", metadata: { ...call.metadata, reason } }
}

function bashWanted(
  wants: ShellWants,
  { call, context, reason: more }: { call: ShellCall; context: WantsContext; reason: string | undefined },
): Wanted {
  const denies = (pattern: string) => context.decide({ permission: "bash", patterns: [pattern] }) === "deny"
  const counts = wants.commands.some((command) => !command.quiet)
  const patterns = unique(
    wants.commands.flatMap((command) =>
      command.quiet && counts ? command.patterns.filter(denies) : command.patterns,
    ),
  )
  if (patterns.length === 0 || wants.unparsed !== undefined) patterns.push(call.command)
  const reason =
    wants.unparsed ?? wants.commands.find((command) => command.hidden !== undefined)?.hidden ?? more
  const always = alwaysOf(wants.commands)
  return {
    permission: "bash",
    patterns,
    ...(reason === undefined && always.length > 0 ? { always } : {}),
    ...(reason === undefined ? {} : { floor: "ask" as const }),
    metadata: reason === undefined ? call.metadata : { ...call.metadata, reason },
  }
}

/** Empty if one command has no pattern, because the patterns would then not cover the whole text. */
function alwaysOf(commands: readonly CommandWant[]): string[] {
  const counting = commands.some((command) => !command.quiet)
    ? commands.filter((one) => !one.quiet)
    : commands
  return counting.some((one) => one.always.length === 0) ? [] : unique(counting.flatMap((one) => one.always))
}

interface Files {
  call: ShellCall
  context: WantsContext
  home: string
}

/** Grouped by permission, so that one question covers all files of a kind. */
async function fileWants(files: readonly FileWant[], { call, context, home }: Files): Promise<Wanted[]> {
  const gathered = new GatheredWants(call.metadata)
  const text = call.command
  for (const want of files.filter((one) => one.access !== "repository")) {
    if (want.word === undefined) {
      gathered.add(want.access, "*")
      for (const name of await deniedEdits(context)) gathered.add(want.access, name)
    }
    const { files: resolved, unknown, trees } = await resolveFiles(want, { context, home })
    if (unknown) gathered.unknown(want, text)
    for (const file of resolved) gathered.file(want, file)
    for (const tree of trees) gathered.tree(tree)
    if (want.fromInput) gathered.fromInput(resolved)
  }
  return gathered.wanted()
}

class GatheredWants {
  private readonly metadata: JsonObject
  private readonly patterns = new Map<string, Set<string>>()
  private readonly refused = new Set<string>()
  private readonly guarded = new Map<string, Set<string>>()

  constructor(metadata: JsonObject) {
    this.metadata = metadata
  }

  add(permission: string, pattern: string): void {
    put(this.patterns, permission, pattern)
  }

  /** A file whose path is unknown may be anywhere. */
  unknown(want: FileWant, text: string): void {
    this.add("external_directory", "*")
    if (want.access === "read" || want.access === "edit") this.add(want.access, "*")
    const { value = "", prefix = "" } = want.word ?? {}
    // The environment of a process contains keys and is never shown, so a path below /proc that is not fully known is
    // refused.
    if (/^\/proc\b/.test(prefix) || processFile.test(value)) this.refused.add(want.word!.source)
    else if (/\bproc\b|environ/.test(text)) put(this.guarded, "external_directory", "*")
  }

  tree({ name, reason }: ResolvedFiles["trees"][number]): void {
    if (reason === "forbidden") this.refused.add(`Something below ${name}`)
    else put(this.guarded, reason === "spreads" ? "edit" : "read", name)
  }

  /** The files in an archive or a patch are unknown: one of them may be guarded. */
  fromInput(files: readonly ResolvedFile[]): void {
    const [file] = files
    put(this.guarded, "edit", file ? `${file.name}/*` : "*")
  }

  file(want: FileWant, file: ResolvedFile): void {
    if (harmlessDevice.test(file.path) && want.access !== "directory") return
    if (file.forbidden) this.refused.add(file.name)
    if (file.external) this.add("external_directory", patternOf(file, want))
    if (want.access === "read") this.add("read", file.name)
    else if (want.access === "edit") this.add("edit", file.name)
    const changes = want.access === "edit" || want.access === "name"
    const takesAll = want.access === "read" && file.isDirectory && (want.recursive || want.word?.below)
    if (file.guarded && changes) put(this.guarded, "edit", file.name)
    else if (file.guarded && takesAll) put(this.guarded, "read", file.name)
    else if (file.guarded && file.external) put(this.guarded, "external_directory", patternOf(file, want))
  }

  wanted(): Wanted[] {
    const refused = [...this.refused].map(
      (name): Wanted => ({
        permission: "read",
        patterns: [name],
        floor: "deny",
        metadata: { ...this.metadata, reason: `${name} is never shown to a model. Do without this file.` },
      }),
    )
    const guarded = [...this.guarded].map(
      ([permission, names]): Wanted => ({
        permission,
        patterns: [...names],
        floor: "ask",
        metadata: {
          ...this.metadata,
          reason:
            "Config, .git, Stemma's own directories and trees that are too large to check are changed, or read as a whole, only if a person agrees.",
        },
      }),
    )
    const ordinary = [...this.patterns].map(([permission, names]): Wanted => {
      const always = permission === "edit" ? ["*"] : [...names]
      const known =
        permission === "edit" ||
        always.every((name) => name !== "/*" && !/[*?]/.test(name.replace(/\/\*$/, "")))
      return { permission, patterns: [...names], ...(known ? { always } : {}), metadata: this.metadata }
    })
    return [...refused, ...guarded, ...ordinary]
  }
}

const processFile = /(?:^|\/)(?:environ|mem|auxv)$/
const harmlessDevice = /^\/dev\/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr)$/

/** The directory itself, or the parent directory of a file. */
function patternOf(file: ResolvedFile, want: FileWant): string {
  if (!file.isDirectory && want.access !== "directory") return file.directoryPattern
  return file.path.endsWith("/") ? `${file.path}*` : `${file.path}/*`
}

function put(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}

function unique(values: string[]): string[] {
  return [...new Set(values)]
}
