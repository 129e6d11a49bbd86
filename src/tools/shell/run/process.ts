import { type ChildProcess, spawn } from "node:child_process"
import { readdir, readFile } from "node:fs/promises"
import { Socket } from "node:net"
import { delimiter } from "node:path"
import type { Readable } from "node:stream"
import { setTimeout as sleep } from "node:timers/promises"
import { findProgram } from "../../../system/find-program.ts"

/** The time between SIGTERM and SIGKILL. */
const graceMs = 200
/** How long to wait for output after the shell has ended: a background process may keep the pipe open. */
const drainMs = 100
const marker = "STEMMA_CALL"

export interface ShellRun {
  command: string
  directory: string
  /** The root of the project. */
  project: string
  environment: Record<string, string>
  readsOnly: boolean
  timeoutMs: number
  signal: AbortSignal
  /** Identifies this run. Its processes are found by it. */
  mark: string
  onOutput(bytes: Buffer): void
}

export interface ShellEnd {
  /** Undefined if a signal ended it. */
  exit: number | undefined
  killedBy: string | undefined
  stopped: "timeout" | "abort" | undefined
}

/** Variables that could change what bash runs, or how it reads the text. */
const scrubbed =
  /^(?:BASH_ENV|ENV|SHELLOPTS|BASHOPTS|BASH_FUNC_.*|BASH_COMPAT|BASH_XTRACEFD|BASH_LOADABLES_PATH|POSIXLY_CORRECT|PROMPT_COMMAND|PS4|CDPATH|GLOBIGNORE|EXECIGNORE|IFS|TMOUT|OLDPWD|PWD|GIT_EXTERNAL_DIFF|STEMMA_CALL)$/

/**
 * Git settings that override a repository's config. A directory that only looks like a repository is not used as one,
 * and reading commands start no program: neither for changed files nor for signatures, and none in a submodule.
 */
const gitGuard = [
  ["safe.bareRepository", "explicit"],
  ["core.fsmonitor", "false"],
  ["log.showSignature", "false"],
] as const
const gitReadGuard = [
  ["core.hooksPath", "/dev/null"],
  ["diff.ignoreSubmodules", "dirty"],
  ["diff.submodule", "short"],
  ["status.submoduleSummary", "false"],
  ["protocol.ext.allow", "never"],
] as const

export interface EnvironmentOptions {
  /** True if nothing may be edited, not even by the user's own hooks. */
  readsOnly: boolean
}

function shellEnvironment(
  environment: Record<string, string>,
  { readsOnly }: EnvironmentOptions,
): Record<string, string> {
  const kept = Object.entries(environment).filter(([name]) => !scrubbed.test(name) && !/[%()]/.test(name))
  // A relative directory in PATH would run any file with a program's name.
  const path = (environment.PATH ?? "")
    .split(delimiter)
    .filter((entry) => entry.startsWith("/"))
    .join(delimiter)
  // Without optional locks, git does not update its index, for which it would call a hook.
  const git = { ...gitVariables(environment, { readsOnly }), GIT_OPTIONAL_LOCKS: "0" }
  return { ...Object.fromEntries(kept), ...git, PATH: path }
}

function gitVariables(
  environment: Record<string, string>,
  { readsOnly }: EnvironmentOptions,
): Record<string, string> {
  const first = Number.parseInt(environment.GIT_CONFIG_COUNT ?? "0", 10) || 0
  const guard = readsOnly ? [...gitGuard, ...gitReadGuard] : gitGuard
  const lines = guard.flatMap(([key, value], index) => [
    [`GIT_CONFIG_KEY_${first + index}`, key],
    [`GIT_CONFIG_VALUE_${first + index}`, value],
  ])
  return { ...Object.fromEntries(lines), GIT_CONFIG_COUNT: String(first + guard.length) }
}

/** The bash that runs the text is never one of the project, whatever the text may run. */
async function findBash(path: string, project: string): Promise<string> {
  return findProgram("bash", { path, project }).catch((error: Error) => {
    throw new Error(`No command can run: ${error.message}`, { cause: error })
  })
}

/**
 * Runs a text with bash in its own process group, without input, with both outputs in one pipe. On timeout or abort,
 * all of its processes are ended.
 */
export async function runShell(run: ShellRun): Promise<ShellEnd> {
  const environment: Record<string, string> = {
    ...shellEnvironment(run.environment, run),
    PWD: run.directory,
    [marker]: run.mark,
  }
  const bash = await findBash(environment.PATH ?? "", run.project)
  run.signal.throwIfAborted()
  const plain = ["--noprofile", "--norc", "-c"]
  // The first bash only joins the outputs, so that lines arrive in the order in which they were written.
  const child = spawn(bash, [...plain, 'exec "$0" "$@" 2>&1', bash, ...plain, run.command], {
    cwd: run.directory,
    env: environment,
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  })
  child.stdout.on("data", run.onOutput)
  let stopped: ShellEnd["stopped"]
  let stopping: Promise<void> | undefined
  const stop = (why: "timeout" | "abort"): void => {
    if (stopping) return
    stopped = why
    stopping = killAll(child, run.mark)
  }
  const timer = setTimeout(() => stop("timeout"), run.timeoutMs)
  const onAbort = () => stop("abort")
  run.signal.addEventListener("abort", onAbort, { once: true })
  try {
    const [exit, killedBy] = await ended(child)
    clearTimeout(timer)
    await drained(child)
    await stopping
    return { exit: exit ?? undefined, killedBy: killedBy ?? undefined, stopped }
  } finally {
    clearTimeout(timer)
    run.signal.removeEventListener("abort", onAbort)
    letGo(child.stdout, run.onOutput)
  }
}

/**
 * A background process may continue to print without an error. Its output is discarded, and Stemma's own exit does not
 * wait for it.
 */
function letGo(stdout: Readable, onOutput: (bytes: Buffer) => void): void {
  stdout.off("data", onOutput)
  stdout.resume()
  if (stdout instanceof Socket) stdout.unref()
}

function ended(child: ChildProcess): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => reject(new Error(`bash could not be started: ${error.message}`)))
    child.once("exit", (exit, signal) => resolve([exit, signal]))
  })
}

async function drained(child: ChildProcess): Promise<void> {
  const controller = new AbortController()
  const closed = new Promise<void>((resolve) => {
    if (child.stdout!.closed) resolve()
    else child.stdout!.once("close", resolve)
  })
  await Promise.race([closed, sleep(drainMs, undefined, { signal: controller.signal }).catch(() => {})])
  controller.abort()
}

/** Sends SIGTERM to the group and to processes that left it, then SIGKILL to the rest. */
async function killAll(child: ChildProcess, mark: string): Promise<void> {
  if (child.pid === undefined) return
  const group = -child.pid
  send(group, "SIGTERM")
  const asked = marked(mark).then((pids) => pids.map((pid) => send(pid, "SIGTERM")))
  const end = performance.now() + graceMs
  while (performance.now() < end && send(group, 0)) await sleep(10)
  send(group, "SIGKILL")
  await asked
  for (const pid of await marked(mark)) send(pid, "SIGKILL")
}

/** Returns false if there is no such process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Processes that left the group still have the mark in their environment. Only Linux shows it. */
async function marked(mark: string): Promise<number[]> {
  const names = await readdir("/proc").catch(() => [])
  const line = Buffer.from(`\0${marker}=${mark}\0`)
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        const environment = await readFile(`/proc/${name}/environ`).catch(() => Buffer.alloc(0))
        return Buffer.concat([Buffer.from([0]), environment]).includes(line) ? [Number(name)] : []
      }),
  )
  return found.flat()
}
