import { constants, type Stats } from "node:fs"
import { access, realpath, stat } from "node:fs/promises"
import { delimiter, dirname, isAbsolute, join, normalize, parse, sep } from "node:path"

export interface ProgramSearch {
  /** The value of PATH; the usual directories of the system if absent. */
  path: string | undefined
  /** The root of the project, a real path. No program inside it is used. */
  project: string
}

/** Directories of the system. They are used even if the project is a directory that contains them. */
const systemDirectories = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
const rememberedMax = 1_000

/** A program is absent, or only in directories that are not used. The message says which ones. */
export class ProgramNotFoundError extends Error {
  constructor(message: string) {
    super(message)
    this.name = "ProgramNotFoundError"
  }
}

/** Programs that were found. Only success is remembered, because a missing program may be installed at any time. */
const found = new Map<string, Promise<string>>()
const filtered = new Map<string, Promise<string>>()

/**
 * The absolute path of a program that Stemma itself starts. The user who opens a project has not agreed to run its
 * programs. Not used are therefore: relative directories of PATH, directories and programs inside the project,
 * `node_modules` anywhere, and what every user of the machine can change. Throws a ProgramNotFoundError.
 */
export function findProgram(name: string, search: ProgramSearch): Promise<string> {
  return remembered(found, [name, search.path, search.project], () => find(name, search))
}

/** PATH without the directories that `findProgram` does not use: for the environment of the programs that it finds. */
export function trustedPath(search: ProgramSearch): Promise<string> {
  return remembered(filtered, [search.path, search.project], async () => {
    const refusals = await Promise.all(entriesOf(search).map((entry) => directoryRefusal(entry, search)))
    return entriesOf(search)
      .filter((_, index) => refusals[index] === undefined)
      .join(delimiter)
  })
}

async function find(name: string, search: ProgramSearch): Promise<string> {
  const refused: string[] = []
  for (const entry of entriesOf(search)) {
    const file = join(entry, name)
    const stats = await programStats(file)
    if (stats === undefined) continue
    const why = (await directoryRefusal(entry, search)) ?? (await fileRefusal(file, { stats, search }))
    if (why === undefined) return file
    refused.push(`${entry} (${why})`)
  }
  throw new ProgramNotFoundError(
    refused.length === 0
      ? `${name} was not found: no directory of PATH has it. Install ${name}, or add its directory to PATH.`
      : `${name} was not found outside the project: PATH has it only in ${[...new Set(refused)].join(" and ")}. ` +
          `Install ${name}, or add its directory to PATH.`,
  )
}

function entriesOf({ path }: ProgramSearch): string[] {
  return path === undefined ? systemDirectories : [...new Set(path.split(delimiter))]
}

/** Undefined if there is no program: a regular file that this user may execute. */
async function programStats(file: string): Promise<Stats | undefined> {
  try {
    const stats = await stat(file)
    if (!stats.isFile()) return undefined
    await access(file, constants.X_OK)
    return stats
  } catch {
    return undefined
  }
}

/** Why programs of a directory are not used; undefined if they are. */
async function directoryRefusal(entry: string, { project }: ProgramSearch): Promise<string | undefined> {
  if (!isAbsolute(entry)) return "a relative directory"
  const named = normalize(entry)
  if (systemDirectories.includes(withoutEnd(named))) return undefined
  try {
    const real = await realpath(named)
    const { mode } = await stat(real)
    if ([named, real].some((path) => isPartOf(path, project))) return "inside the project"
    if ([named, real].some((path) => path.split(sep).includes("node_modules"))) return "installed by packages"
    return isForEverybody(mode) ? "every user can change it" : undefined
  } catch {
    return "it cannot be read"
  }
}

/** A symlink in a good directory may lead back into the project. */
async function fileRefusal(
  file: string,
  { stats, search }: { stats: Stats; search: ProgramSearch },
): Promise<string | undefined> {
  const real = await realpath(file).catch(() => undefined)
  if (real === undefined) return "it cannot be read"
  if (isForEverybody(stats.mode)) return "every user can change it"
  if (systemDirectories.includes(dirname(real))) return undefined
  return isPartOf(real, search.project) ? "a symlink into the project" : undefined
}

/** A project that is the whole disk contains every program. Its programs are those of the system. */
function isPartOf(path: string, project: string): boolean {
  if (project === parse(project).root) return false
  return path === project || path.startsWith(project + sep)
}

function isForEverybody(mode: number): boolean {
  return process.platform !== "win32" && (mode & 0o002) !== 0
}

function withoutEnd(path: string): string {
  return path.length > 1 && path.endsWith(sep) ? path.slice(0, -1) : path
}

function remembered(
  all: Map<string, Promise<string>>,
  key: readonly (string | undefined)[],
  make: () => Promise<string>,
): Promise<string> {
  const text = JSON.stringify(key)
  const known = all.get(text)
  if (known) return known
  if (all.size >= rememberedMax) all.clear()
  const made = make()
  all.set(text, made)
  made.catch(() => all.delete(text))
  return made
}
