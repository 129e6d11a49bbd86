import { execFile } from "node:child_process"
import { createHash } from "node:crypto"
import { realpath, stat } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, sep } from "node:path"
import { StemmaError } from "../protocol/index.ts"
import { findProgram, type ProgramSearch, trustedPath } from "../system/find-program.ts"
import { Records, recordName } from "./files/records.ts"
import { type Environment, homeDirectory } from "./paths.ts"

const gitTimeoutMs = 3000

/** The location of a project on disk. */
export interface ProjectLocation {
  /** The real path of the given directory. */
  directory: string
  /** The git work tree that contains the directory, or the directory itself. */
  root: string
  /** The `.git` directory, or the `.git` file that points to it; absent outside git. */
  git?: string
  /** The directories from the root down to the directory. Each of them may have config. */
  levels: string[]
}

export async function findProject(directory: string): Promise<ProjectLocation> {
  const real = await realpath(directory).catch((error: unknown) => {
    throw new StemmaError("not_found", `There is no directory ${directory}. Give an existing directory.`, {
      cause: error,
    })
  })
  for (let at = real; ; at = dirname(at)) {
    if (await holdsGit(at))
      return { directory: real, root: at, git: join(at, ".git"), levels: between(at, real) }
    if (dirname(at) === at) return { directory: real, root: real, levels: [real] }
  }
}

/** True if the path is the directory or below it. */
export function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way))
}

/** A directory named `.git` that git would not accept as a repository is skipped, as git does. */
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
 * The id of a project: derived from the first commit of its repository, so that clones and work trees share it, else
 * from its directory. Asking git takes milliseconds, so the answer is stored in Stemma's data directory. It then stays
 * the same, even when a repository without commits gets its first one.
 */
export async function projectID(
  location: ProjectLocation,
  options: { dataDirectory: string; env: Environment },
): Promise<string> {
  if (location.git === undefined) return idOf("directory", location.root)
  const records = new Records(join(options.dataDirectory, "projects"))
  const name = recordName(location.root)
  const git = await identityOf(location.git)
  const known = (await records.get(name)) as { root?: unknown; git?: unknown; id?: unknown } | undefined
  if (known?.root === location.root && known.git === git && typeof known.id === "string") return known.id
  const commit = await firstCommit(location, options.env)
  const id = commit ? idOf("commit", commit) : idOf("directory", location.root)
  // Without the record, the next process only has to ask git again.
  await records.put(name, { root: location.root, git, id }).catch(() => undefined)
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
 * The oldest commit without parents; undefined if there is none or if finding it takes too long. A repository may be
 * hostile: `rev-list` runs no hook, and nothing may be fetched, because a remote may name a program. Git itself is never
 * taken from the project.
 */
async function firstCommit(location: ProjectLocation, env: Environment): Promise<string | undefined> {
  // The first commit of a shallow clone is not the first commit of the repository.
  if ((await stat(join(location.git!, "shallow")).catch(() => undefined)) !== undefined) return undefined
  const search = { path: env.PATH || undefined, project: location.root }
  const git = await findProgram("git", search).catch(() => undefined)
  if (git === undefined) return undefined
  const args = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
  const gitEnv = await gitEnvironment(env, search)
  const output = await new Promise<string>((resolve) => {
    execFile(
      git,
      [...args, "rev-list", "--max-parents=0", "HEAD", "--"],
      { cwd: location.root, env: gitEnv, timeout: gitTimeoutMs, killSignal: "SIGKILL" },
      (error, stdout) => resolve(error ? "" : stdout),
    )
  })
  return output.trim().split("\n").at(-1) || undefined
}

async function gitEnvironment(env: Environment, search: ProgramSearch): Promise<Record<string, string>> {
  return {
    PATH: await trustedPath(search),
    HOME: homeDirectory(env),
    LC_ALL: "C",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_LAZY_FETCH: "1",
    // Unlike any option, this overrides the repository's own config.
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_REPLACE_OBJECTS: "1",
  }
}
