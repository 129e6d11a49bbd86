import { once } from "node:events"
import { resolve } from "node:path"
import { createInterface } from "node:readline/promises"
import { type ConfigSource, openConfig, type PendingTrust } from "../config/load.ts"
import { configDirectory, dataDirectory } from "../config/paths.ts"

export interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean; readableEnded?: boolean }
  output: NodeJS.WritableStream
  error: NodeJS.WritableStream
  env: Record<string, string | undefined>
}

/** `stemma trust [DIRECTORY] [--yes]`: shows a project's config files and what they would be allowed, and asks. */
export async function trust(args: readonly string[], terminal: Terminal): Promise<number> {
  const source = sourceOf(args, terminal)
  const pending = await source.pending()
  if (!pending) {
    terminal.output.write("There is nothing to trust here: no config of this project waits for it.\n")
    return 0
  }
  show(pending, terminal.output)
  if (!args.includes("--yes") && !(await isYes("Trust these files? [y/N] ", terminal))) {
    terminal.output.write("Nothing was changed.\n")
    return 1
  }
  await source.trust({ hash: pending.hash })
  terminal.output.write("Trusted, until one of them changes. Take it back with: stemma untrust\n")
  return 0
}

export async function untrust(args: readonly string[], terminal: Terminal): Promise<number> {
  await sourceOf(args, terminal).untrust()
  terminal.output.write("This project's config files are not trusted.\n")
  return 0
}

function sourceOf(args: readonly string[], { env }: Terminal): ConfigSource {
  const directory = resolve(args.find((arg) => !arg.startsWith("-")) ?? ".")
  return openConfig({
    directory,
    env,
    dataDirectory: dataDirectory(env),
    configDirectory: configDirectory(env),
  })
}

function show(pending: PendingTrust, output: NodeJS.WritableStream): void {
  for (const { path, text } of pending.files)
    output.write(`--- ${printable(path)}\n${printable(text).trimEnd()}\n\n`)
  output.write("If you trust them, these files may:\n")
  for (const grant of pending.grants) output.write(`- ${printable(grant)}\n`)
}

/** A hostile file must not hide anything with control characters. */
function printable(text: string): string {
  return text.replace(
    /[[\p{Cc}\p{Cf}]--[\n\t]]/gv,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  )
}

async function isYes(question: string, terminal: Terminal): Promise<boolean> {
  if (!terminal.input.isTTY || terminal.input.readableEnded) {
    terminal.error.write("This is no terminal to ask on. Read the files, then add --yes.\n")
    return false
  }
  const lines = createInterface({ input: terminal.input, output: terminal.output })
  try {
    // Whoever closes the terminal has not said yes.
    const closed = once(lines, "close").then(() => "")
    return /^y(es)?$/i.test((await Promise.race([lines.question(question), closed])).trim())
  } finally {
    lines.close()
  }
}
