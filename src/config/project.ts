import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { realpath, stat } from "node:fs/promises"
import { delimiter, dirname, isAbsolute, join, relative, sep } from "node:path"
import { StemmaError } from "../protocol/index.ts"
import { Records, recordName } from "./files/records.ts"
import { type Environment, homeDirectory } from "./paths.ts"

const gitTimeoutMs = 3000

/** Where a project is. */
export interface ProjectPlace {
  /** The real path of the directory that was asked for. */
  directory: string
  /** The git work tree that holds it, or the directory itself. */
  root: string
  /** What git keeps its data in, or the file that says where; absent outside of git. */
  git?: string
  /** The directories from the root down to the directory, each of which may have config. */
  levels: string[]
}

export async function findProject(directory: string): Promise<ProjectPlace> {
  const real = await realpath(directory).catch((error: unknown) => {
    throw new StemmaError("not_found", `There is no directory ${directory}. Name one that exists.`, {
      cause: error,
    })
  })
  for (let at = real; ; at = dirname(at)) {
    if (await holdsGit(at))
      return { directory: real, root: at, git: join(at, ".git"), levels: between(at, real) }
    if (dirname(at) === at) return { directory: real, root: real, levels: [real] }
  }
}

/** True if the path is the folder or below it. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** A folder of that name that git would not take for its own is passed by, as git does. */
async function holdsGit(directory: string): Promise<boolean> {
  const found = await stat(join(directory, ".git")).catch(() => undefined)
  if (found === undefined) return false
  return found.isFile() || (await stat(join(directory, ".git", "HEAD")).catch(() => undefined)) !== undefined
}

function between(root: string, directory: string): string[] {
  const levels = [directory]
  while (levels[0] !== root) levels.unshift(dirname(levels[0]!))
  return levels
}

/**
 * The id of a project: made from the first commit of its repository, so that clones and work trees share it, else from its
 * directory. Asking git takes milliseconds, so the answer is kept in Stemma's data directory; it then stays the same, also
 * when a repository without commits gets its first one.
 */
export async function projectID(
  place: ProjectPlace,
  options: { dataDirectory: string; env: Environment },
): Promise<string> {
  if (place.git === undefined) return idOf("directory", place.root)
  const records = new Records(join(options.dataDirectory, "projects"))
  const name = recordName(place.root)
  const git = await identityOf(place.git)
  const known = (await records.get(name)) as { root?: unknown; git?: unknown; id?: unknown } | undefined
  if (known?.root === place.root && known.git === git && typeof known.id === "string") return known.id
  const commit = await firstCommit(place, options.env)
  const id = commit ? idOf("commit", commit) : idOf("directory", place.root)
  // Without the record the next process asks git again, nothing more.
  await records.put(name, { root: place.root, git, id }).catch(() => undefined)
  return id
}

function idOf(kind: "commit" | "directory", value: string): string {
  return `prj_${createHash("sha256").update(`${kind}:${value}`).digest("hex").slice(0, 32)}`
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path)
  return `${dev}:${ino}`
}

/**
 * The oldest commit without parents, undefined if there is none or finding it takes too long. A repository may be hostile:
 * `rev-list` runs no hook, and nothing may be fetched, since a remote may name a program.
 */
async function firstCommit(place: ProjectPlace, env: Environment): Promise<string | undefined> {
  // Where a shallow clone begins is not where the repository does.
  if ((await stat(join(place.git!, "shallow")).catch(() => undefined)) !== undefined) return undefined
  const args = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
  const output = await new Promise<string>((resolve) => {
    execFile(
      "git",
      [...args, "rev-list", "--max-parents=0", "HEAD", "--"],
      { cwd: place.root, env: gitEnvironment(env), timeout: gitTimeoutMs, killSignal: "SIGKILL" },
      (error, stdout) => resolve(error ? "" : stdout),
    )
  })
  return output.trim().split("\n").at(-1) || undefined
}

function gitEnvironment(env: Environment): Record<string, string> {
  const path = (env.PATH ?? "").split(delimiter).filter(isAbsolute).join(delimiter)
  return {
    PATH: path || "/usr/local/bin:/usr/bin:/bin",
    HOME: homeDirectory(env),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    // Unlike any option, this overrides what the repository's own config allows.
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_REPLACE_OBJECTS: "1",
  }
}
