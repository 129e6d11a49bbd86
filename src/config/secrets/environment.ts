import type { Environment } from "../paths.ts"

/** Shorter values are too common to look for: they would be found in words that are no secret. */
export const secretCharactersMin = 6

/**
 * The environment that processes of tools get: without the variables of these names, without Stemma's own, and without any
 * variable whose value holds one of these values, whatever it is called.
 */
export function toolEnvironment(
  env: Environment,
  secrets: { names: readonly string[]; values: readonly string[] },
): Record<string, string> {
  const names = new Set(secrets.names)
  const values = worthHiding(secrets.values)
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || names.has(name) || name.toUpperCase().startsWith("STEMMA_")) continue
    if (values.some((secret) => value.includes(secret))) continue
    kept[name] = value
  }
  return kept
}

/** Takes these values out of a text, also as they look inside JSON or a URL. A value cut in two is not found. */
export function secretMask(secrets: readonly string[]): (text: string) => string {
  const values = new Set(worthHiding(secrets).flatMap(appearances))
  if (values.size === 0) return (text) => text
  // The longest first: a secret may begin with another one.
  const ordered = [...values].sort((a, b) => b.length - a.length)
  const anySecret = new RegExp(ordered.map((value) => RegExp.escape(value)).join("|"), "g")
  return (text) => text.replace(anySecret, "[secret]")
}

/** Takes secrets out of every text in a JSON value, keys included. */
export function maskDeep<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === "string") return mask(value) as T
  if (Array.isArray(value)) return value.map((one) => maskDeep(one, mask)) as T
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [mask(key), maskDeep(one, mask)])
  return Object.fromEntries(entries) as T
}

/**
 * The same for a text that comes bit by bit: what may be the beginning of a secret is held back until more comes. What is
 * held back at the end is not given.
 */
export function streamMask(secrets: readonly string[]): () => (text: string) => string {
  const values = [...new Set(worthHiding(secrets).flatMap(appearances))]
  const mask = secretMask(secrets)
  if (values.length === 0) return () => (text) => text
  return () => {
    let held = ""
    return (text) => {
      const clean = mask(held + text)
      const at = clean.length - beginningAtEnd(clean, values)
      held = clean.slice(at)
      return clean.slice(0, at)
    }
  }
}

/** How long the longest end of the text is with which one of the values begins. */
function beginningAtEnd(text: string, values: readonly string[]): number {
  let longest = 0
  for (const value of values) {
    for (let length = Math.min(value.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(value.slice(0, length))) longest = length
    }
  }
  return longest
}

function worthHiding(values: readonly string[]): string[] {
  return values.filter((value) => value.length >= secretCharactersMin)
}

function appearances(value: string): string[] {
  const inUrl = value.isWellFormed() ? [encodeURIComponent(value)] : []
  return [value, JSON.stringify(value).slice(1, -1), ...inUrl]
}
