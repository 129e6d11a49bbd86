import type { z } from "zod"
import { type ConfigDocument, parseError } from "./document.ts"
import { knownKeys } from "./schema.ts"

/**
 * Checks a document against the schema and removes unknown keys, with a notice for each. Throws `invalid` with file,
 * line and column for a value of the wrong type. Defaults are not filled in. The returned value is the document's own
 * value, changed in place.
 */
export async function checkDocument<Schema extends z.ZodType>(
  document: ConfigDocument,
  schema: Schema,
): Promise<{ value: z.input<Schema>; notices: string[] }> {
  const issues = schema.safeParse(document.value).error?.issues ?? []
  const wrong = issues.map(deepest).find((issue) => issue.code !== "unrecognized_keys")
  if (wrong) {
    const at = wrong.path.map(String).join(".")
    const reason = wrong.message.replace(/^Invalid \w+: /, "")
    throw parseError(document.path, at ? `${at}: ${reason}` : reason, await document.locate(wrong.path))
  }
  const value = document.value as z.input<Schema>
  const notices: string[] = []
  for (const issue of issues) {
    if (issue.code !== "unrecognized_keys") continue
    for (const key of issue.keys) {
      dropKey(value, [...issue.path, key])
      const position = await document.locate([...issue.path, key])
      const where = position ? `${document.path}:${position.line}:${position.column}` : document.path
      const near = nearest(key, knownKeys(schema, issue.path))
      const hint = near ? ` Did you mean "${near}"?` : ""
      notices.push(
        `${where}: "${[...issue.path, key].map(String).join(".")}" is unknown and was ignored.${hint}`,
      )
    }
  }
  return { value, notices }
}

type Issue = z.core.$ZodIssue

/** Of the errors of a union's branches, the one with the longest path is about the branch that the writer meant. */
function deepest(issue: Issue): Issue {
  if (issue.code !== "invalid_union") return issue
  const inner = issue.errors
    .flat()
    .map((one) => deepest({ ...one, path: [...issue.path, ...one.path] } as Issue))
    .sort((a, b) => b.path.length - a.path.length)
  return inner[0] ?? issue
}

function dropKey(value: unknown, keys: readonly PropertyKey[]): void {
  let at = value as Record<PropertyKey, unknown>
  for (const key of keys.slice(0, -1)) at = at[key] as Record<PropertyKey, unknown>
  delete at[keys.at(-1)!]
}

function nearest(key: string, known: readonly string[]): string | undefined {
  const plain = (name: string): string => name.toLowerCase().replaceAll(/[_-]/g, "")
  const ranked = known
    .map((name) => ({ name, distance: editDistance(plain(key).slice(0, 40), plain(name)) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= Math.ceil(key.length / 3) ? best.name : undefined
}

/** The Levenshtein distance: how many letters must be changed, added or removed to turn one word into the other. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    row = next
  }
  return row[b.length]!
}
