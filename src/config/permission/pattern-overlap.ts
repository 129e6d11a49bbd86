/** With more results than this, the overlap is given up: such patterns are made on purpose. */
const resultsMax = 64

/** The remaining work for overlaps, in steps. Calls that get the same object share it. */
export interface OverlapBudget {
  steps: number
}

/**
 * Patterns that together match exactly the texts that both patterns match, by the rules of `matchWildcard`. Empty if no
 * text can match both. Undefined if it would take too many patterns or steps, or if a pattern is not well-formed text.
 */
export function overlap(a: string, b: string, budget: OverlapBudget): string[] | undefined {
  budget.steps -= 1
  if (budget.steps < 0 || !a.isWellFormed() || !b.isWellFormed()) return undefined
  if (a === "*") return [b]
  if (b === "*") return [a]
  const found = new Set<string>()
  for (const left of plainForms(a)) {
    for (const right of plainForms(b)) {
      const patterns = overlapOfForms(left, right, budget)
      if (patterns === undefined) return undefined
      for (const pattern of patterns) found.add(pattern)
      if (found.size > resultsMax) return undefined
    }
  }
  return [...found].map(withoutOptionalEnding)
}

/** The pattern as characters, with `*` and `?` as the only special ones. `git *` also has the form `git`. */
function plainForms(pattern: string): string[][] {
  const forms = pattern.endsWith(" *") ? [pattern, pattern.slice(0, -2)] : [pattern]
  return forms.map((form) => [...form.replace(/\*+/g, "*")])
}

/** `**` means the same as `*`, but a pattern that ends in `**` does not match without its ending. */
function withoutOptionalEnding(pattern: string): string {
  return pattern.endsWith(" *") ? `${pattern}*` : pattern
}

/**
 * Fills a table from the ends of both patterns: each cell is the overlap of the rest of `a` from `i` and the rest of
 * `b` from `j`.
 */
function overlapOfForms(a: string[], b: string[], budget: OverlapBudget): Set<string> | undefined {
  budget.steps -= (a.length + 1) * (b.length + 1)
  if (budget.steps < 0) return undefined
  let below: Set<string>[] = []
  for (let i = a.length; i >= 0; i--) {
    const row: Set<string>[] = []
    for (let j = b.length; j >= 0; j--) {
      const next = { right: row[j + 1], down: below[j], diagonal: below[j + 1] }
      const cell = overlapOfRests(a[i], b[j], next)
      if (cell.size > resultsMax) return undefined
      row[j] = cell
    }
    below = row
  }
  return below[0]
}

/** `down` is the overlap without the first character of `a`, `right` without that of `b`, `diagonal` without both. */
function overlapOfRests(
  a: string | undefined,
  b: string | undefined,
  next: { down?: Set<string>; right?: Set<string>; diagonal?: Set<string> },
): Set<string> {
  const { down = nothing, right = nothing, diagonal = nothing } = next
  if (a === undefined && b === undefined) return new Set([""])
  if (a === undefined) return b === "*" ? right : nothing
  if (b === undefined) return a === "*" ? down : nothing
  if (a === "*" && b === "*") return prefixed("*", down.union(right))
  if (a === "*") return down.union(prefixed(b, right))
  if (b === "*") return right.union(prefixed(a, down))
  if (a === b || b === "?") return prefixed(a, diagonal)
  return a === "?" ? prefixed(b, diagonal) : nothing
}

const nothing: Set<string> = new Set()

function prefixed(character: string, patterns: Set<string>): Set<string> {
  return new Set([...patterns].map((pattern) => character + pattern))
}
