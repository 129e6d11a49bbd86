import type { Environment } from "../paths.ts"

/** Shorter values are not masked: they would be found in words that are not secret. */
export const secretCharactersMin = 6

/**
 * The environment variables for processes of tools: without the variables of these names, without Stemma's own, and
 * without any variable whose value contains one of these secrets.
 */
export function toolEnvironment(
  env: Environment,
  secrets: { names: readonly string[]; values: readonly string[] },
): Record<string, string> {
  const names = new Set(secrets.names)
  const values = longEnough(secrets.values)
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined || names.has(name) || name.toUpperCase().startsWith("STEMMA_")) continue
    if (values.some((secret) => value.includes(secret))) continue
    kept[name] = value
  }
  return kept
}

/**
 * Returns a function that masks these values in a text, also in their JSON and URL-encoded forms. A value that is split
 * over two texts is not found.
 */
export function secretMask(secrets: readonly string[]): (text: string) => string {
  const values = new Set(longEnough(secrets).flatMap(encodedForms))
  if (values.size === 0) return (text) => text
  // The longest first, because a secret may begin with another one.
  const ordered = [...values].sort((a, b) => b.length - a.length)
  const anySecret = new RegExp(ordered.map((value) => RegExp.escape(value)).join("|"), "g")
  return (text) => text.replace(anySecret, "[secret]")
}

/** Masks secrets in every string of a JSON value, keys included. */
export function maskDeep<T>(value: T, mask: (text: string) => string): T {
  if (typeof value === "string") return mask(value) as T
  if (Array.isArray(value)) return value.map((one) => maskDeep(one, mask)) as T
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [mask(key), maskDeep(one, mask)])
  return Object.fromEntries(entries) as T
}

/**
 * Like `secretMask`, for text that arrives in chunks: the end of a chunk that may be the beginning of a secret is held
 * back until the next chunk. Text that is held back at the end of the stream is dropped.
 */
export function streamMask(secrets: readonly string[]): () => (text: string) => string {
  const values = [...new Set(longEnough(secrets).flatMap(encodedForms))]
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

/** The length of the longest end of the text that is the beginning of one of the values. */
function beginningAtEnd(text: string, values: readonly string[]): number {
  let longest = 0
  for (const value of values) {
    for (let length = Math.min(value.length - 1, text.length); length > longest; length--) {
      if (text.endsWith(value.slice(0, length))) longest = length
    }
  }
  return longest
}

function longEnough(values: readonly string[]): string[] {
  return values.filter((value) => value.length >= secretCharactersMin)
}

function encodedForms(value: string): string[] {
  const inUrl = value.isWellFormed() ? [encodeURIComponent(value)] : []
  return [value, JSON.stringify(value).slice(1, -1), ...inUrl]
}
