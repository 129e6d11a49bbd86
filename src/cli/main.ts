import { StemmaError, version } from "../protocol/index.ts"
import type { Command, Program } from "./program.ts"
import { onLostOutput, shownLine } from "./terminal/terminal.ts"

const help = `stemma ${version}: the session system for AI agents

Usage: stemma <command>

  serve                       serve sessions over HTTP
  run PROMPT                  send a prompt and show the answer as it comes
  session list                the sessions of this directory
  session show ID             what was said and done in one
  trust [DIRECTORY] [--yes]   show a project's config files and what they would be allowed, and trust them
  untrust [DIRECTORY]         take that back
  --version, --help

stemma <command> --help says what each takes. It needs no key: without one, a guide of rules answers.
`

const commands: Record<string, () => Promise<Command>> = {
  serve: async () => (await import("./commands/serve.ts")).serve,
  run: async () => (await import("./commands/run.ts")).run,
  session: async () => (await import("./commands/session.ts")).session,
  trust: async () => (await import("./commands/trust.ts")).trustCommand,
  untrust: async () => (await import("./commands/trust.ts")).untrustCommand,
}

/** Runs the program and gives its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  let isUnwritten = false
  onLostOutput(process.stdout, ({ problem }) => {
    if (problem === undefined) return
    isUnwritten = true
    process.stderr.write(`${shownLine(problem)}\n`)
  })
  // There is nobody left to be told.
  onLostOutput(process.stderr, () => {})
  const code = await dispatch(args)
  await written(process.stdout)
  return isUnwritten ? 1 : code
}

/** Resolves when everything was written, and whoever hears of failures has heard of them. */
function written(output: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => output.write("", () => setImmediate(resolve)))
}

async function dispatch(args: readonly string[]): Promise<number> {
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
      process.stdout.write(help)
      return 0
    default: {
      const load = Object.hasOwn(commands, first) ? commands[first] : undefined
      if (load) return perform(await load(), rest)
      process.stderr.write(`stemma does not know "${shownLine(first)}". See stemma --help.\n`)
      return 1
    }
  }
}

async function perform(command: Command, args: readonly string[]): Promise<number> {
  try {
    return await command(args, createProgram())
  } catch (error) {
    if (!StemmaError.is(error)) throw error
    process.stderr.write(`${shownLine(error.message, 2000)}\n`)
    return 1
  }
}

function createProgram(): Program {
  const env = { ...process.env }
  // The commands know it; whatever they start must not.
  delete process.env.STEMMA_TOKEN
  return {
    terminal: {
      // Most commands read nothing.
      get input() {
        return process.stdin
      },
      output: process.stdout,
      error: process.stderr,
      env,
    },
    // In a checkout, npm runs our scripts in its directory and says where it was called.
    directory: (env.npm_package_name === "stemma" && env.INIT_CWD) || process.cwd(),
    openStemma: async (options) => (await import("../index.ts")).openStemma(options),
    openStore: async (options) => (await import("../stores/sqlite/index.ts")).openSqliteStore(options),
  }
}
