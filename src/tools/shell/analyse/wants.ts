import { homedir } from "node:os"
import type { JsonObject } from "../../../protocol/index.ts"
import type { Wanted, WantsContext } from "../../tool.ts"
import { loadParse } from "../parse/parse.ts"
import { analyse, type CommandWant, type FileWant, type ShellWants } from "./analyse.ts"
import { programOfRepository } from "./git-repository.ts"
import { type FilePlaces, type FoundPlace, realPlacesOf } from "./real-places.ts"
import { deniedEdits } from "./tree-reads.ts"

export interface ShellCall {
  command: string
  /** Where it starts: a real path. */
  directory: string
  metadata: JsonObject
}

/** What a command needs permission for. The first one is refused with a reason if it can never be permitted. */
export async function shellWants(call: ShellCall, context: WantsContext): Promise<Wanted[]> {
  const home = homedir()
  const parse = await loadParse()
  const wants = analyse(parse(call.command), { directory: call.directory, home, parse })
  const files = await fileWants(wants.files, { call, context, home })
  const program = await repositoryProgram(wants.files, { context, home })
  const reason = program === undefined ? undefined : `git may run a program: ${program}.`
  const refusal = editIsDenied(context) ? refusalOf(wants, reason) : undefined
  return [...(refusal ? [denied(refusal, call)] : []), bashWanted(wants, { call, context, reason }), ...files]
}

/** What a repository in which git is started would have it run. */
async function repositoryProgram(
  files: readonly FileWant[],
  { context, home }: Pick<Files, "context" | "home">,
): Promise<string | undefined> {
  for (const file of files.filter((one) => one.access === "repository")) {
    const { places, unknown } = await realPlacesOf(file, { context, home })
    if (unknown) return "nobody knows in which repository"
    for (const place of places) {
      const found = await programOfRepository(place.path)
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** True if a command changes nothing: it needs no snapshot. */
export async function isReadOnly(command: string): Promise<boolean> {
  const parse = await loadParse()
  const wants = analyse(parse(command), { directory: "/", home: "/", parse })
  return refusalOf(wants) === undefined && wants.files.every((file) => file.access !== "edit")
}

export function editIsDenied(context: WantsContext): boolean {
  return context.decide({ permission: "edit", patterns: ["*"] }) === "deny"
}

/** Why a text does not run where nothing may be edited. */
function refusalOf(wants: ShellWants, reason?: string): string | undefined {
  if (wants.unparsed !== undefined) {
    return `Editing is denied, and this command cannot be judged: ${wants.unparsed} Use simple commands that only read.`
  }
  const command = wants.commands.find((one) => one.effect !== "reads" || one.hidden !== undefined)
  if (!command) return reason === undefined ? undefined : `Editing is denied, and ${reason}`
  const why =
    command.hidden === undefined ? "is not known to only read" : `may do more than read: ${command.hidden}`
  return `Editing is denied, and \`${command.patterns[0]}\` ${why}${why.endsWith(".") ? "" : "."}`
}

function denied(reason: string, call: ShellCall): Wanted {
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

/** None if one command has none: what would be allowed from now on would not cover the whole. */
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

/** Gathered by permission, so that one question covers all files of a kind. */
async function fileWants(files: readonly FileWant[], { call, context, home }: Files): Promise<Wanted[]> {
  const gathered = new Gathered(call.metadata)
  const text = call.command
  for (const file of files.filter((one) => one.access !== "repository")) {
    if (file.word === undefined) {
      gathered.add(file.access, "*")
      for (const name of await deniedEdits(context)) gathered.add(file.access, name)
    }
    const { places, unknown, wholes } = await realPlacesOf(file, { context, home })
    if (unknown) gathered.unknown(file, text)
    for (const place of places) gathered.place(file, place)
    for (const whole of wholes) gathered.whole(whole)
    if (file.fromInput) gathered.fromInput(places)
  }
  return gathered.wanted()
}

class Gathered {
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

  /** A file of which nobody knows where it is may be anywhere. */
  unknown(file: FileWant, text: string): void {
    this.add("external_directory", "*")
    if (file.access === "read" || file.access === "edit") this.add(file.access, "*")
    const { value = "", prefix = "" } = file.word ?? {}
    // Keys in the environment of a process are shown nowhere, so not to somebody who leaves out which process it is.
    if (/^\/proc\b/.test(prefix) || processFile.test(value)) this.refused.add(file.word!.source)
    else if (/\bproc\b|environ/.test(text)) put(this.guarded, "external_directory", "*")
  }

  whole({ name, reason }: FilePlaces["wholes"][number]): void {
    if (reason === "forbidden") this.refused.add(`Something below ${name}`)
    else put(this.guarded, reason === "spreads" ? "edit" : "read", name)
  }

  /** Which files an archive or a patch holds is not known: one of them may be guarded. */
  fromInput(places: readonly FoundPlace[]): void {
    const [place] = places
    put(this.guarded, "edit", place ? `${place.name}/*` : "*")
  }

  place(file: FileWant, place: FoundPlace): void {
    if (harmlessDevice.test(place.path) && file.access !== "directory") return
    if (place.forbidden) this.refused.add(place.name)
    if (place.external) this.add("external_directory", patternOf(place, file))
    if (file.access === "read") this.add("read", place.name)
    else if (file.access === "edit") this.add("edit", place.name)
    const changes = file.access === "edit" || file.access === "name"
    const takesAll = file.access === "read" && place.isDirectory && (file.recursive || file.word?.below)
    if (place.guarded && changes) put(this.guarded, "edit", place.name)
    else if (place.guarded && takesAll) put(this.guarded, "read", place.name)
    else if (place.guarded && place.external) put(this.guarded, "external_directory", patternOf(place, file))
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
            "Config, .git, Stemma's own directories and trees that are too large to look at are only changed, or read as a whole, when a person agrees.",
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

/** The directory itself, or the one that holds the file. */
function patternOf(place: FoundPlace, file: FileWant): string {
  if (!place.isDirectory && file.access !== "directory") return place.directoryPattern
  return place.path.endsWith("/") ? `${place.path}*` : `${place.path}/*`
}

function put(map: Map<string, Set<string>>, key: string, value: string): void {
  map.set(key, (map.get(key) ?? new Set()).add(value))
}

function unique(values: string[]): string[] {
  return [...new Set(values)]
}
