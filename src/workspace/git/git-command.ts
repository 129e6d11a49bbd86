import { type ChildProcess, spawn } from "node:child_process"
import { isAbsolute } from "node:path"
import { findProgram, trustedPath } from "../../system/find-program.ts"

/** Settings that override every config file: git runs no other program and does not change the bytes of files. */
const settings = [
  "core.bare=false",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.autocrlf=false",
  "core.safecrlf=false",
  "core.attributesFile=/dev/null",
  "core.quotePath=false",
  "core.protectNTFS=false",
  "core.protectHFS=false",
  "core.pager=cat",
  "safe.directory=*",
  "commit.gpgSign=false",
  "gc.auto=0",
  "gc.packRefs=false",
  "maintenance.auto=false",
  "submodule.recurse=false",
  "protocol.allow=never",
]

export interface GitRun {
  args: readonly string[]
  input?: string | Buffer
  /** The index file to use instead of the repository's. */
  index?: string
  /** A directory with objects of another repository, which can be read as if they were our own. */
  objects?: string
  signal?: AbortSignal
}

export interface Git {
  /** Returns git's output. Throws a GitError if git fails, and the signal's reason if the signal aborts it. */
  run(options: GitRun): Promise<Buffer>
}

export class GitError extends Error {
  readonly exitCode: number
  readonly stderr: string

  constructor(command: string, options: { exitCode: number; stderr: string }) {
    const said = options.stderr.trim().split("\n").at(-1)?.slice(0, 300)
    super(`git ${command} failed: ${said || `exit code ${options.exitCode}`}`)
    this.name = "GitError"
    this.exitCode = options.exitCode
    this.stderr = options.stderr
  }
}

export interface GitOptions {
  /** The absolute path of the git program. */
  program: string
  gitDirectory: string
  root: string
  /** A file with ignore rules in addition to those in the work tree. */
  excludesFile: string
}

/**
 * Runs the system's git on a git directory of our own. Git does not see the user's git config and environment, and
 * reads only files of the project: a repository's own config, hooks and attributes have no effect.
 */
export function openGit(options: GitOptions): Git {
  const { program, gitDirectory, root, excludesFile } = options
  const prefix = [
    ...["-C", root, `--git-dir=${gitDirectory}`, `--work-tree=${root}`],
    ...[...settings, `core.excludesFile=${excludesFile}`].flatMap((setting) => ["-c", setting]),
  ]
  return {
    async run({ args, input, index, objects, signal }) {
      const env = await gitEnvironment(gitDirectory, root)
      return runProgram(program, {
        args: [...prefix, ...args],
        command: args[0]!,
        directory: gitDirectory,
        env: {
          ...env,
          ...(index !== undefined && { GIT_INDEX_FILE: index }),
          ...(objects !== undefined && { GIT_ALTERNATE_OBJECT_DIRECTORIES: quoted(objects) }),
        },
        input,
        signal,
      })
    },
  }
}

/** A path in a list of paths. Git splits the list at colons, except inside quotation marks. */
function quoted(path: string): string {
  return `"${path.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n")}"`
}

/** Creates a git directory without hooks or templates. */
export async function initGit(
  program: string,
  options: { gitDirectory: string; root: string; signal?: AbortSignal },
): Promise<void> {
  const { gitDirectory, root, signal } = options
  await runProgram(program, {
    args: ["init", "--quiet", "--bare", "--template=", gitDirectory],
    command: "init",
    directory: gitDirectory,
    env: await gitEnvironment(gitDirectory, root),
    signal,
  })
}

/** The version, such as [2, 39]. */
export async function gitVersion(
  program: string,
  options: { directory: string; root: string; signal?: AbortSignal },
): Promise<number[]> {
  const { directory, root, signal } = options
  const env = await gitEnvironment(directory, root)
  const said = await runProgram(program, { args: ["version"], command: "version", directory, env, signal })
  const match = /(\d+)\.(\d+)/.exec(said.toString())
  return match ? [Number(match[1]), Number(match[2])] : [0, 0]
}

/** The absolute path of git, never inside the project. Throws a ProgramNotFoundError. `program` is used if given. */
export async function findGit(program: string | undefined, options: { root: string }): Promise<string> {
  if (program !== undefined && isAbsolute(program)) return program
  return findProgram(program ?? "git", { path: process.env.PATH, project: options.root })
}

async function gitEnvironment(home: string, root: string): Promise<Record<string, string>> {
  const kept = ["TMPDIR", "SYSTEMROOT", "DEVELOPER_DIR"].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(kept),
    PATH: await trustedPath({ path: process.env.PATH, project: root }),
    HOME: home,
    XDG_CONFIG_HOME: home,
    LC_ALL: "C",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_DEFAULT_HASH: "sha1",
    GIT_DEFAULT_REF_FORMAT: "files",
    GIT_NO_LAZY_FETCH: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
  }
}

interface ProgramRun {
  args: readonly string[]
  command: string
  directory: string
  env: Record<string, string>
  input?: string | Buffer
  signal?: AbortSignal
}

/** A repository may be made so that git prints without end. */
const outputBytesMax = 512 * 1024 * 1024

async function runProgram(program: string, run: ProgramRun): Promise<Buffer> {
  run.signal?.throwIfAborted()
  const child = spawn(program, run.args, { cwd: run.directory, env: run.env, detached: true })
  const kill = () => killGroup(child)
  run.signal?.addEventListener("abort", kill, { once: true })
  try {
    const out: Buffer[] = []
    let stderr = ""
    let size = 0
    child.stdout.on("data", (bytes: Buffer) => {
      size += bytes.length
      if (size > outputBytesMax) kill()
      else out.push(bytes)
    })
    child.stderr.on("data", (bytes: Buffer) => {
      if (stderr.length < 10_000) stderr += bytes.toString()
    })
    // A program that has read enough closes its input. Its exit code says whether that was a failure.
    child.stdin.on("error", () => {})
    child.stdin.end(run.input)
    const exitCode = await new Promise<number>((resolve, reject) => {
      child.once("error", reject)
      child.once("close", (code) => resolve(code ?? -1))
    })
    run.signal?.throwIfAborted()
    if (size > outputBytesMax)
      throw new GitError(run.command, { exitCode, stderr: "The output is longer than 512 MiB." })
    if (exitCode !== 0) throw new GitError(run.command, { exitCode, stderr })
    return Buffer.concat(out)
  } finally {
    run.signal?.removeEventListener("abort", kill)
  }
}

/** Kills the process group, because git gc starts further processes. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    child.kill("SIGKILL")
  }
}
