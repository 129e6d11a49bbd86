import { StemmaError, version } from "../protocol/index.ts"
import type { Terminal } from "./trust.ts"

const help = `stemma ${version}: the session system for AI agents

Usage: stemma <command>

  trust [DIRECTORY] [--yes]   show a project's config files and what they would be allowed, and trust them
  untrust [DIRECTORY]         take that back
  --version, --help

The other commands are not written yet; the library is. It starts in README.md.
`

/** Runs the program and gives its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [first, ...rest] = args
  switch (first) {
    case "--version":
    case "-v":
      process.stdout.write(`${version}\n`)
      return 0
    case "--help":
    case "-h":
    case undefined:
      process.stdout.write(help)
      return 0
    case "trust":
    case "untrust":
      return command(first, rest)
    default:
      process.stderr.write(`stemma does not know "${first}". See stemma --help.\n`)
      return 1
  }
}

async function command(name: "trust" | "untrust", args: readonly string[]): Promise<number> {
  const { trust, untrust } = await import("./trust.ts")
  const terminal: Terminal = {
    input: process.stdin,
    output: process.stdout,
    error: process.stderr,
    env: process.env,
  }
  try {
    return await (name === "trust" ? trust : untrust)(args, terminal)
  } catch (error) {
    if (!StemmaError.is(error)) throw error
    process.stderr.write(`${error.message}\n`)
    return 1
  }
}
