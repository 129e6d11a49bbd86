/**
 * Matches a whole text against a pattern in which `*` stands for any text and `?` for one character. A pattern that
 * ends in " *" also matches without that ending, so that `git *` matches `git` too. Takes time in proportion to the
 * text and the longest run between two `*`, whatever the pattern.
 */
export function matchWildcard(text: string, pattern: string): boolean {
  if (pattern === "*" || pattern === text) return true
  if (isPlainlyDifferent(text, pattern)) return false
  return matchWhole(text, pattern) || (pattern.endsWith(" *") && matchWhole(text, pattern.slice(0, -2)))
}

/** A quick check for most patterns that do not match: a search judges many files by many patterns. */
function isPlainlyDifferent(text: string, pattern: string): boolean {
  const last = Math.max(pattern.lastIndexOf("*"), pattern.lastIndexOf("?"))
  if (last < 0 || !text.endsWith(pattern.slice(last + 1))) return true
  if (pattern.includes("?") || pattern.endsWith(" *")) return false
  const first = pattern.indexOf("*")
  if (first > 0) return !text.startsWith(pattern.slice(0, first))
  // `*name*`
  return (
    last === pattern.length - 1 && pattern.indexOf("*", 1) === last && !text.includes(pattern.slice(1, last))
  )
}

function matchWhole(text: string, pattern: string): boolean {
  const stretches = pattern.split("*")
  const first = stretches[0]!
  let at = matchAt(text, first, 0)
  if (at < 0) return false
  if (stretches.length === 1) return at === text.length
  // The earliest match of each stretch leaves the most text for the next one, so no backtracking is needed.
  for (const stretch of stretches.slice(1, -1)) {
    at = findFrom(text, stretch, at)
    if (at < 0) return false
  }
  return endsAt(text, stretches.at(-1)!, at)
}

/** The end of the stretch if it matches at `at`; -1 if it does not. */
function matchAt(text: string, stretch: string, at: number): number {
  let end = at
  for (let i = 0; i < stretch.length; i++) {
    if (end >= text.length) return -1
    if (stretch[i] === "?") end += isPair(text, end) ? 2 : 1
    else if (stretch[i] === text[end]) end++
    else return -1
  }
  return end
}

/** The end of the first match of the stretch at or after `from`; -1 if there is none. */
function findFrom(text: string, stretch: string, from: number): number {
  if (!stretch.includes("?")) {
    const found = text.indexOf(stretch, from)
    return found < 0 ? -1 : found + stretch.length
  }
  for (let start = from; start < text.length; start++) {
    const end = matchAt(text, stretch, start)
    if (end >= 0) return end
  }
  return -1
}

/** True if the text ends with the stretch and the stretch begins at or after `from`. */
function endsAt(text: string, stretch: string, from: number): boolean {
  let start = text.length
  for (let i = stretch.length - 1; i >= 0; i--) {
    if (start <= from) return false
    if (stretch[i] === "?") start -= start - from >= 2 && isPair(text, start - 2) ? 2 : 1
    else if (stretch[i] === text[start - 1]) start--
    else return false
  }
  return start >= from
}

function isPair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
}
