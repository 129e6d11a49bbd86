import type { ConfigInput } from "./schema.ts"

/** Lists that each file adds to. Any other list replaces the earlier one. */
const addedLists = ["instructions", "disabled_providers", "skills.paths"]

/** Merges the later config over the earlier one, key by key, so that a file needs only the keys that it changes. */
export function mergeConfig(earlier: ConfigInput, later: ConfigInput): ConfigInput {
  return merged(earlier, later, "") as ConfigInput
}

function merged(earlier: unknown, later: unknown, at: string): unknown {
  if (later === undefined) return earlier
  if (Array.isArray(earlier) && Array.isArray(later) && addedLists.includes(at))
    return [...new Set([...earlier, ...later])]
  if (!isObject(earlier) || !isObject(later)) return later
  const result = new Map(Object.entries(earlier))
  for (const [key, value] of Object.entries(later)) {
    const both = merged(result.get(key), value, at === "" ? key : `${at}.${key}`)
    // In rules and tools the last matching line wins, so a line that is written again moves to the end.
    result.delete(key)
    result.set(key, both)
  }
  return Object.fromEntries(result)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
