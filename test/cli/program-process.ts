import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join, resolve } from "node:path"
import { builtProgram } from "../support/built.ts"
import { until } from "../support/run-scene.ts"
import { type TemporaryDirectory, temporaryDirectory } from "../support/temporary-directory.ts"

/** A temporary home directory with a project. Disposing it ends every process that was started in it. */
export interface Home extends AsyncDisposable {
  path: string
  project: string
  data: string
  /** Starts `stemma` as a separate process. */
  start(args: readonly string[], options?: StartOptions): Running
  /** Starts `stemma` and waits until it ends. */
  run(args: readonly string[], options?: StartOptions): Promise<Ended>
  /** Starts `stemma serve` on a free port and waits until it prints that it is ready. */
  serve(args?: readonly string[], options?: StartOptions): Promise<Serving>
  /** Writes the user's config. */
  config(config: object): Promise<void>
  /** Resolves with the process id of the command of `runsCommand` when it runs. */
  commandRuns(): Promise<number>
}

/** A prompt for a long command, which is killed when its home is disposed. */
export const runsCommand = "run echo $$ > command.pid && exec sleep 600"

export interface StartOptions {
  env?: Record<string, string>
  cwd?: string
  /** The text for stdin; without it stdin is closed. */
  input?: string
  /** A shell line that starts the program, which it gets as `"$@"`. */
  shell?: string
  /**
   * Runs the sources by type stripping, as a checkout does. Without it the built program runs, which starts faster.
   */
  sources?: boolean
}

export interface Ended {
  code: number | null
  signal: string | null
  stdout: string
  stderr: string
}

export interface Running {
  child: ChildProcess
  ended: Promise<Ended>
  stdout(): string
  stderr(): string
  /** Resolves when stdout or stderr matches; rejects with the output if the program ends before. */
  says(what: RegExp): Promise<RegExpExecArray>
}

export interface Serving extends Running {
  url: string
  port: number
  token: string
  /** Calls the server with its token. */
  fetch(path: string, init?: RequestInit): Promise<Response>
}

export async function home(): Promise<Home> {
  const directory = await temporaryDirectory()
  const project = join(directory.path, "project")
  await mkdir(project)
  const started: Running[] = []
  const commands: number[] = []
  const start: Home["start"] = (args, options = {}) => {
    const running = startProgram(args, { directory, cwd: project, ...options })
    started.push(running)
    return running
  }
  return {
    path: directory.path,
    project,
    data: join(directory.path, ".local/share/stemma"),
    start,
    run: (args, options) => start(args, options).ended,
    async serve(args = [], options = {}) {
      const running = start(["serve", "--port", "0", ...args], options)
      const [url, origin, port, token] = await running
        .says(/(http:\/\/[^\s/]+:(\d+))\/(?:#token=(\S+))?\n/)
        .then(
          ([, origin, port, token]) =>
            [`${origin}/`, origin!, Number(port), token ?? options.env?.STEMMA_TOKEN ?? ""] as const,
        )
      const headers = token === "" ? {} : { authorization: `Bearer ${token}` }
      return {
        ...running,
        url,
        port,
        token,
        fetch: (path, init) =>
          fetch(`${origin}${path}`, { ...init, headers: { ...headers, ...init?.headers } }),
      }
    },
    async config(config) {
      await mkdir(join(directory.path, ".config/stemma"), { recursive: true })
      await writeFile(join(directory.path, ".config/stemma/stemma.json"), JSON.stringify(config))
    },
    async commandRuns() {
      const file = join(project, "command.pid")
      const read = async () => Number(await readFile(file, "utf8").catch(() => ""))
      await until("the command runs", async () => (await read()) > 0)
      commands.push(await read())
      return commands.at(-1)!
    },
    async [Symbol.asyncDispose]() {
      for (const pid of commands) if (isAlive(pid)) process.kill(pid, "SIGKILL")
      for (const { child } of started) child.kill("SIGKILL")
      await Promise.all(started.map(({ ended }) => ended))
      await directory[Symbol.asyncDispose]()
    },
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function startProgram(
  args: readonly string[],
  { directory, cwd, env, input, shell, sources }: StartOptions & { directory: TemporaryDirectory },
): Running {
  const words = [
    ...(shell === undefined ? [] : ["bash", "-c", shell, "-"]),
    process.execPath,
    sources === true ? resolve("bin/stemma.js") : builtProgram(),
    ...args,
  ]
  const child = spawn(words[0]!, words.slice(1), {
    cwd,
    // The environment of the user who runs the tests is not inherited: no key, no config, no Ollama. Only the compile
    // cache is shared.
    env: {
      PATH: process.env.PATH,
      HOME: directory.path,
      TMPDIR: directory.path,
      OLLAMA_HOST: "127.0.0.1:1",
      XDG_CACHE_HOME: resolve("node_modules/.cache/stemma-test"),
      ...env,
    },
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  })
  if (input !== undefined) child.stdin!.end(input)
  const said = { stdout: "", stderr: "" }
  for (const name of ["stdout", "stderr"] as const)
    child[name]!.setEncoding("utf8").on("data", (text: string) => {
      said[name] += text
      child.emit("said")
    })
  const ended = once(child, "close").then(([code, signal]) => ({ code, signal, ...said }) as Ended)
  return {
    child,
    ended,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    async says(what) {
      for (;;) {
        const found = what.exec(said.stdout) ?? what.exec(said.stderr)
        if (found) return found
        const isOver = await Promise.race([once(child, "said").then(() => false), ended.then(() => true)])
        if (isOver && !what.test(said.stdout) && !what.test(said.stderr))
          throw new Error(`It ended without saying ${what}:\n${said.stdout}\n${said.stderr}`)
      }
    },
  }
}
