import { version } from "../protocol/index.ts"

const help = `stemma ${version}: the session system for AI agents

Usage: stemma [--version] [--help]

The commands are not written yet; the library is. It starts in README.md.
`

/** Runs the program and gives its exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const [first] = args
  if (first === "--version" || first === "-v") {
    process.stdout.write(`${version}\n`)
    return 0
  }
  if (first === "--help" || first === "-h") {
    process.stdout.write(help)
    return 0
  }
  if (first === undefined) {
    process.stdout.write(
      `stemma ${version}: there are no commands yet; use the library (see stemma --help).\n`,
    )
    return 0
  }
  process.stderr.write(`stemma does not know "${first}". See stemma --help.\n`)
  return 1
}
