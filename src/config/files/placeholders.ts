import { readFile, stat } from "node:fs/promises"
import { resolve } from "node:path"
import { type Environment, homeDirectory } from "../paths.ts"
import { secretCharactersMin } from "../secrets/environment.ts"

const placeholder = /\{(env|file):([^{}]+)\}/g
const fileBytesMax = 256 * 1024
/** A longer text is not a secret but a document. */
const secretCharactersMax = 8 * 1024

export interface FillOptions {
  env: Environment
  /** The path of the config, for notices. */
  path: string
  /** The directory that the paths of `{file:path}` are relative to. If absent, they are not filled in. */
  directory?: string
}

/** The result. Values that were filled in must not be shown to anybody or passed to tools. */
export interface Filled {
  value: unknown
  secrets: string[]
  secretNames: string[]
  notices: string[]
  /** The files that placeholders named. */
  files: string[]
}

/** Replaces `{env:NAME}` and `{file:path}` in every string. A missing value becomes the empty string, with a notice. */
export async function fillPlaceholders(value: unknown, options: FillOptions): Promise<Filled> {
  const filled: Filled = { value: undefined, secrets: [], secretNames: [], notices: [], files: [] }
  const texts = new Map<string, string>()
  for (const [whole, kind, name] of placeholdersIn(value)) {
    if (texts.has(whole)) continue
    const text =
      kind === "env" ? fromEnvironment(name, options, filled) : await fromFile(name, options, filled)
    texts.set(whole, text)
    if (text.length >= secretCharactersMin && text.length <= secretCharactersMax) filled.secrets.push(text)
  }
  filled.value = texts.size === 0 ? value : replacePlaceholders(value, texts)
  return filled
}

/** Names of the environment variables that placeholders in the value refer to. */
export function variablesIn(value: unknown): string[] {
  const names = placeholdersIn(value).flatMap(([, kind, name]) => (kind === "env" ? [name] : []))
  return [...new Set(names)]
}

function placeholdersIn(value: unknown): [whole: string, kind: string, name: string][] {
  if (typeof value === "string")
    return [...value.matchAll(placeholder)].map((match) => [match[0], match[1]!, match[2]!.trim()])
  if (typeof value !== "object" || value === null) return []
  return Object.values(value).flatMap(placeholdersIn)
}

function fromEnvironment(name: string, options: FillOptions, filled: Filled): string {
  filled.secretNames.push(name)
  const value = Object.hasOwn(options.env, name) ? options.env[name] : undefined
  if (!value)
    filled.notices.push(
      `${options.path}: {env:${name}} is empty because the environment variable ${name} is not set.`,
    )
  return value ?? ""
}

async function fromFile(name: string, options: FillOptions, filled: Filled): Promise<string> {
  if (options.directory === undefined) {
    filled.notices.push(
      `${options.path}: {file:${name}} works only in the user's own config, so it was left empty.`,
    )
    return ""
  }
  const home = /^~(?=\/)/
  const path = resolve(
    options.directory,
    name.replace(home, () => homeDirectory(options.env)),
  )
  filled.files.push(path)
  try {
    const { size } = await stat(path)
    if (size > fileBytesMax) throw new Error("larger than 256 KiB")
    return (await readFile(path, "utf8")).replace(/\r?\n$/, "")
  } catch {
    filled.notices.push(
      `${options.path}: {file:${name}} is empty because ${path} cannot be read or is larger than 256 KiB.`,
    )
    return ""
  }
}

function replacePlaceholders(value: unknown, texts: ReadonlyMap<string, string>): unknown {
  if (typeof value === "string") return value.replace(placeholder, (whole) => texts.get(whole) ?? whole)
  if (Array.isArray(value)) return value.map((one) => replacePlaceholders(one, texts))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replacePlaceholders(one, texts)]))
}
