import { opendir } from "node:fs/promises"
import { holdDirectory } from "../../system/hold-directory.ts"

const entriesMax = 2_000
const namesMax = 3

/**
 * Names in a directory that are similar to a missing name, the most similar first. Empty if the directory cannot be
 * read.
 */
export async function nearNames(directory: string, name: string): Promise<string[]> {
  const scored: { name: string; distance: number }[] = []
  let seen = 0
  try {
    await using held = await holdDirectory(directory)
    for await (const entry of await opendir(held.self)) {
      if (++seen > entriesMax) break
      const distance = nameDistance(entry.name.toLowerCase(), name.toLowerCase())
      if (distance <= Math.max(2, Math.floor(name.length / 4))) scored.push({ name: entry.name, distance })
    }
  } catch {
    return []
  }
  return scored
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, namesMax)
    .map((one) => one.name)
}

/** The Levenshtein distance; at most 1 if one name contains the other. */
function nameDistance(a: string, b: string): number {
  if (a.includes(b) || b.includes(a)) return Math.min(1, Math.abs(a.length - b.length))
  if (Math.abs(a.length - b.length) > 8 || a.length > 255 || b.length > 255) return Number.POSITIVE_INFINITY
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same))
    }
    row = next
  }
  return row[b.length]!
}
