import { findFiles, firstShowable, type SearchContext } from "../../../tools/search/found-files.ts"
import { throwUnavailable } from "../wire/errors.ts"
import { searchRoot } from "./read-rules.ts"

export interface NameSearch {
  context: SearchContext
  kinds: readonly ("file" | "directory")[]
  limit: number
}

/**
 * Paths below the directory, the best matches first; equal matches are sorted by change time. A directory ends in `/`.
 */
export async function findNames(query: string, { context, kinds, limit }: NameSearch): Promise<string[]> {
  const location = await searchRoot(context)
  const { files } = await findFiles(location, { context, matches: () => true }).catch(throwUnavailable)
  const names = new Map<string, string>()
  for (const file of files) {
    if (kinds.includes("file")) names.set(file.relative, file.path)
    if (!kinds.includes("directory")) continue
    for (let at = file.relative.lastIndexOf("/"); at > 0; at = file.relative.lastIndexOf("/", at - 1)) {
      const below = file.relative.slice(0, at)
      // The directories above a known one are known too.
      if (names.has(`${below}/`)) break
      names.set(`${below}/`, `${location.path}/${below}`)
    }
  }
  const ranked = rankNames([...names.keys()], query).map((name) => ({ name, path: names.get(name)! }))
  const { shown } = await firstShowable(ranked, { max: limit, context })
  return shown.map(({ name }) => name)
}

/** The names that contain all letters of the query in order, ignoring case, the best matches first. */
export function rankNames(names: readonly string[], query: string): string[] {
  const wanted = query.trim().toLowerCase()
  if (wanted === "") return [...names]
  const scored = names.flatMap((name) => {
    const score = scoreOf(name.toLowerCase(), wanted)
    return score === undefined ? [] : [{ name, score }]
  })
  return scored.sort((a, b) => a.score - b.score).map(({ name }) => name)
}

/**
 * A smaller score is better: the name itself, its beginning, a part of it, a part of the path, its letters in order.
 */
function scoreOf(name: string, wanted: string): number | undefined {
  const bare = name.replace(/\/$/, "")
  const last = bare.slice(bare.lastIndexOf("/") + 1)
  const length = Math.min(name.length, 999) / 1000
  if (last === wanted || bare === wanted) return length
  if (last.startsWith(wanted)) return 1 + length
  if (last.includes(wanted)) return 2 + length
  if (name.includes(wanted)) return 3 + length
  const gaps = gapsOf(name, wanted)
  return gaps === undefined ? undefined : 4 + gaps + length
}

/** How many letters lie between the letters of the query. Undefined if a letter is missing. */
function gapsOf(name: string, wanted: string): number | undefined {
  let gaps = 0
  let at = -1
  for (const letter of wanted) {
    const next = name.indexOf(letter, at + 1)
    if (next < 0) return undefined
    if (at >= 0) gaps += next - at - 1
    at = next
  }
  return gaps
}
