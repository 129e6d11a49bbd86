import { StemmaError, version } from "../protocol/index.ts"
import { keepHeapSmall } from "./heap.ts"
import { asCalled, type Command, type MainOptions, type Program } from "./program.ts"
import { onLostOutput, printableLine } from "./terminal/terminal.ts"

const help = `stemma ${version}: the session system for AI agents

Usage: stemma <command>

  serve                       serve sessions over HTTP
  run PROMPT                  send a prompt and print the answer while it is written
  session list                list the sessions of this directory
  session show ID             print the messages and tool calls of a session
  session share ID            publish a page of a session, or preview what it would show
  trust [DIRECTORY] [--yes]   show a project's config files and what they would be allowed to do, and trust them
  untrust [DIRECTORY]         stop trusting them
  --version, --help

stemma <command> --help shows the options of a command. No API key is needed: without one, a built-in guide answers.
`

const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
  run: async () => (await import("./commands/run.ts")).run,
  session: async () => (await import("./commands/session.ts")).session,
  trust: async () => (await import("./commands/trust.ts")).trustCommand,
  untrust: async () => (await import("./commands/trust.ts")).untrustCommand,
}

export async function main(args: readonly string[], options: MainOptions = {}): Promise<number> {
  let isUnwritten = false
  onLostOutput(process.stdout, ({ problem }) => {
    if (problem === undefined) return
    isUnwritten = true
    process.stderr.write(`${printableLine(problem)}\n`)
  })
  // If stderr fails too, there is no way left to report it.
  onLostOutput(process.stderr, () => {})
  const code = await dispatch(args, options)
  await flushed(process.stdout)
  return isUnwritten ? 1 : code
}

/** Resolves when everything was written and write errors were reported. */
function flushed(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => output.write("", () => setImmediate(resolve)))
}

async function dispatch(args: readonly string[], options: MainOptions): Promise<number> {
  const [first, ...rest] = args
  switch (first) {
    case "--version":
    case "-v":
      process.stdout.write(`${version}\n`)
      return 0
    case "--help":
    case "-h":
    case "help":
    case undefined:
      process.stdout.write(asCalled(help, process.env))
      return 0
    default: {
      const load = Object.hasOwn(commands, first) ? commands[first] : undefined
      if (load) return runCommand(await load(), rest, options)
      process.stderr.write(
        asCalled(`stemma has no command "${printableLine(first)}". See stemma --help.\n`, process.env),
      )
      return 1
    }
  }
}

async function runCommand(command: Command, args: readonly string[], options: MainOptions): Promise<number> {
  try {
    return await command(args, createProgram(options))
  } catch (error) {
    if (!StemmaError.is(error)) throw error
    process.stderr.write(`${printableLine(asCalled(error.message, process.env), 2000)}\n`)
    return 1
  }
}

/** In a checkout, no other part of the program changes V8's settings. */
function setHeap({ isServer }: { isServer: boolean }): void {
  if (isServer) keepHeapSmall()
}

function createProgram({ keepCompiledCode = flushCompileCache, endStart = setHeap }: MainOptions): Program {
  const env = { ...process.env }
  // The commands get the token in `env`. Their child processes must not inherit it.
  delete process.env.STEMMA_TOKEN
  return {
    terminal: {
      // A getter, because most commands do not read stdin.
      get input() {
        return process.stdin
      },
      output: process.stdout,
      error: process.stderr,
      env,
    },
    // In a checkout, npm runs scripts in the checkout's directory. INIT_CWD is the directory where npm was called.
    directory: (env.npm_package_name === "stemma" && env.INIT_CWD) || process.cwd(),
    openStemma: async (options) => (await import("../index.ts")).openStemma(options),
    openStore: async (options) => (await import("../stores/sqlite/index.ts")).openSqliteStore(options),
    keepCompiledCode,
    endStart,
  }
}

/** The sources use Node's compile cache, which Node writes at exit. */
async function flushCompileCache(): Promise<void> {
  const module = await import("node:module")
  module.flushCompileCache()
}
