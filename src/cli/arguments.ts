import { parseArgs } from "node:util"
import { StemmaError } from "../protocol/index.ts"

export interface OptionSpec {
  type: "string" | "boolean"
  short?: string
  /** The option may be given several times. Its value is a list. */
  multiple?: boolean
  /** The name of the value in the help. */
  value?: string
  help: string
}

/** One command of the program: its options and operands, and its help. */
export interface CommandSpec<O extends Record<string, OptionSpec> = Record<string, OptionSpec>> {
  name: string
  /** What follows the name in the usage line, without options: `[PROMPT...]`. */
  operands?: string
  operandsMax?: number
  about: string
  options: O
  /** Text below the options. */
  more?: string
}

export type OptionValues<O extends Record<string, OptionSpec>> = {
  [K in keyof O]?: O[K]["type"] extends "boolean"
    ? boolean
    : O[K]["multiple"] extends true
      ? string[]
      : string
}

export interface ParsedCommand<O extends Record<string, OptionSpec>> {
  values: OptionValues<O>
  operands: string[]
}

/** Returns the spec unchanged, with the exact types of its options. */
export function command<const O extends Record<string, OptionSpec>>(spec: CommandSpec<O>): CommandSpec<O> {
  return spec
}

const helpOption = { help: { type: "boolean", short: "h" } } as const

/** Parses the arguments. Undefined if they ask for help. Throws `invalid` with the known options for an unknown one. */
export function parseCommand<O extends Record<string, OptionSpec>>(
  spec: CommandSpec<O>,
  args: readonly string[],
): ParsedCommand<O> | undefined {
  const options = Object.fromEntries(
    Object.entries(spec.options).map(([name, { type, short, multiple }]) => [
      name,
      { type, ...(short && { short }), ...(multiple && { multiple }) },
    ]),
  )
  const { values, positionals } = parseOrThrow(spec, () =>
    parseArgs({ args: [...args], options: { ...options, ...helpOption }, allowPositionals: true }),
  )
  if (values.help === true) return undefined
  if (positionals.length > (spec.operandsMax ?? 0)) {
    const extra = positionals[spec.operandsMax ?? 0]!
    throw new StemmaError(
      "invalid",
      `stemma ${spec.name} has one argument too many: "${extra}". ${seeHelp(spec)}`,
    )
  }
  return { values: values as OptionValues<O>, operands: positionals }
}

function parseOrThrow<T>(spec: CommandSpec, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (!code?.startsWith("ERR_PARSE_ARGS_")) throw error
    const unknown = /^Unknown option '([^']+)'/.exec(message)?.[1]
    const sentence = unknown
      ? `stemma ${spec.name} has no option ${unknown}. Its options are ${optionNames(spec).join(", ")}.`
      : message.replace(/\n[\s\S]*$/, "")
    throw new StemmaError("invalid", `${sentence} ${seeHelp(spec)}`, { cause: error })
  }
}

function optionNames(spec: CommandSpec): string[] {
  return [...Object.keys(spec.options), "help"].map((name) => `--${name}`)
}

function seeHelp({ name }: CommandSpec): string {
  return `See stemma ${name} --help.`
}

export function helpOf(spec: CommandSpec): string {
  const operands = spec.operands ? ` ${spec.operands}` : ""
  const lines = Object.entries(spec.options).map(([name, { value, short, help }]) => {
    const flag = `${short ? `-${short}, ` : ""}--${name}${value ? ` ${value}` : ""}`
    return `  ${flag.padEnd(24)} ${help}`
  })
  const more = spec.more ? `\n${spec.more}\n` : ""
  return `Usage: stemma ${spec.name}${operands} [OPTIONS]\n\n${spec.about}\n\n${lines.join("\n")}\n${more}`
}

export function wholeNumber(
  text: string | undefined,
  range: { option: string; min: number; max: number },
): number | undefined {
  if (text === undefined) return undefined
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  const shown = JSON.stringify(text.slice(0, 40))
  throw new StemmaError(
    "invalid",
    `--${range.option} takes a whole number from ${range.min} to ${range.max}, not ${shown}.`,
  )
}
