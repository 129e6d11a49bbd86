import { resolve } from "node:path"
import { type ConfigSource, openConfig, type PendingTrust } from "../../config/load.ts"
import { configDirectory, dataDirectory } from "../../config/paths.ts"
import { command, helpOf, parseCommand } from "../arguments.ts"
import { asCalled, type Command } from "../program.ts"
import { isYes } from "../terminal/confirm.ts"
import type { Terminal } from "../terminal/terminal.ts"

const trustSpec = command({
  name: "trust",
  operands: "[DIRECTORY]",
  operandsMax: 1,
  about:
    "Shows a project's config files and what they would be allowed to do, then asks whether to trust them.",
  options: { yes: { type: "boolean", help: "trust without asking" } },
})

const untrustSpec = command({
  name: "untrust",
  operands: "[DIRECTORY]",
  operandsMax: 1,
  about: "Stops trusting a project's config files.",
  options: {},
})

const hint = "There is no terminal to ask on. Read the files, then add --yes.\n"

export const trustCommand: Command = (args, { terminal, directory }) => trust(args, terminal, directory)
export const untrustCommand: Command = (args, { terminal, directory }) => untrust(args, terminal, directory)

export async function trust(args: readonly string[], terminal: Terminal, from = "."): Promise<number> {
  const parsed = parseCommand(trustSpec, args)
  if (!parsed) {
    terminal.output.write(asCalled(helpOf(trustSpec), terminal.env))
    return 0
  }
  const source = sourceOf(resolve(from, parsed.operands[0] ?? "."), terminal)
  const pending = await source.pending()
  if (!pending) {
    terminal.output.write(
      "There is nothing to trust here: this project has no config that waits for trust.\n",
    )
    return 0
  }
  show(pending, terminal.output)
  if (!parsed.values.yes && !(await isYes("Trust these files? [y/N] ", terminal, { hint }))) {
    terminal.output.write("Nothing was changed.\n")
    return 1
  }
  await source.trust({ hash: pending.hash })
  const undo = "Trusted, until one of these files changes. Undo with: stemma untrust\n"
  terminal.output.write(asCalled(undo, terminal.env))
  return 0
}

export async function untrust(args: readonly string[], terminal: Terminal, from = "."): Promise<number> {
  const parsed = parseCommand(untrustSpec, args)
  if (!parsed) {
    terminal.output.write(asCalled(helpOf(untrustSpec), terminal.env))
    return 0
  }
  await sourceOf(resolve(from, parsed.operands[0] ?? "."), terminal).untrust()
  terminal.output.write("This project's config files are not trusted now.\n")
  return 0
}

function sourceOf(directory: string, { env }: Terminal): ConfigSource {
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

/** Escapes control characters, so that a hostile file cannot hide its content. */
function printable(text: string): string {
  return text.replace(
    /[[\p{Cc}\p{Cf}]--[\n\t]]/gv,
    (character) => `\\u${character.codePointAt(0)!.toString(16).padStart(4, "0")}`,
  )
}
