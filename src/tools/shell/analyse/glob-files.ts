import { lstat, readdir } from "node:fs/promises"

const matchesMax = 1_000

/**
 * The paths that bash would expand an unquoted pattern to; the pattern's own text if none match. Undefined if there are
 * too many, or if the pattern is not supported.
 */
export async function globFiles(pattern: string, directory: string): Promise<string[] | undefined> {
  let found = [pattern.startsWith("/") ? "/" : `${directory}/`]
  for (const [index, part] of pattern.split("/").entries()) {
    if (part === "") continue
    const last = index === pattern.split("/").length - 1
    const literal = part.replaceAll(/\\(.)/gs, "$1")
    if (!/(?<!\\)[*?[]/.test(part)) {
      found = found.map((path) => `${path}${literal}${last ? "" : "/"}`)
      continue
    }
    const regex = toRegExp(part)
    if (!regex) return undefined
    const next: string[] = []
    for (const path of found) {
      for (const name of await namesIn(path, { dots: part.startsWith(".") })) {
        if (regex.test(name)) next.push(`${path}${name}${last ? "" : "/"}`)
      }
      if (next.length > matchesMax) return undefined
    }
    found = next
  }
  const real = await Promise.all(found.map(exists))
  found = found.filter((_, index) => real[index])
  if (found.length > 0) return found
  const text = pattern.replaceAll(/\\(.)/gs, "$1")
  return [text.startsWith("/") ? text : `${directory}/${text}`]
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}

/** A name that begins with a dot matches only a pattern that begins with a dot. */
async function namesIn(path: string, { dots }: { dots: boolean }): Promise<string[]> {
  try {
    const names = await readdir(path)
    return dots ? [".", "..", ...names] : names.filter((name) => !name.startsWith("."))
  } catch {
    return []
  }
}

function toRegExp(part: string): RegExp | undefined {
  let regex = ""
  for (let i = 0; i < part.length; i++) {
    const character = part[i]!
    if (character === "\\") regex += escapeRegExp(part[++i] ?? "")
    else if (character === "*") regex += ".*"
    else if (character === "?") regex += "."
    else if (character !== "[") regex += escapeRegExp(character)
    else {
      const set = /^\[([!^]?)([A-Za-z0-9_., -]+)\]/.exec(part.slice(i))
      if (!set) return undefined
      regex += `[${set[1] ? "^" : ""}${set[2]!.replaceAll(/[.,\s]/g, "\\$&")}]`
      i += set[0].length - 1
    }
  }
  try {
    // Which letters are in a range depends on the locale, so a range ignores case.
    return new RegExp(`^${regex}$`, part.includes("[") ? "si" : "s")
  } catch {
    return undefined
  }
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")
}
