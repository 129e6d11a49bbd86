/** How many patterns the braces of one pattern may expand to. */
const alternativesMax = 64

type Token =
  | { kind: "one"; character: string }
  | { kind: "any" }
  | { kind: "some" }
  | { kind: "class"; negated: boolean; ranges: [string, string][] }

type Segment = "any-directories" | Token[]

/**
 * Compiles a glob for relative paths with `/`: `*` and `?` stay inside one name, `**` matches any directories, `[a-z]`
 * and `{a,b}` work as usual, and `\` escapes the next character. A pattern without `/` matches the last name at any
 * depth. Matching takes time in proportion to pattern length times path length, whatever the pattern. Throws an Error
 * with a sentence.
 */
export function compileGlob(pattern: string): (path: string) => boolean {
  const patterns = expandBraces(pattern).map((one) => one.replace(/^(\.\/)+/, ""))
  if (patterns.some((one) => one.startsWith("/") || one.split("/").includes(".."))) {
    throw new Error(
      `The pattern ${pattern} must be relative, without "..". Give the directory as path instead.`,
    )
  }
  const alternatives = patterns.map(compileOne)
  return (path) => {
    const names = path.split("/").map((name) => [...name])
    return alternatives.some((segments) => matchSegments(names, segments))
  }
}

function compileOne(pattern: string): Segment[] {
  const segments: Segment[] = pattern
    .split("/")
    .map((text) => (text === "**" ? "any-directories" : tokens(text)))
  // As in ignore files, a directory matches everything in it.
  if (pattern.endsWith("/")) segments[segments.length - 1] = "any-directories"
  return pattern.includes("/") ? segments : ["any-directories", ...segments]
}

function tokens(text: string): Token[] {
  const characters = [...text]
  const found: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at]!
    if (character === "*") {
      if (found.at(-1)?.kind !== "some") found.push({ kind: "some" })
    } else if (character === "?") found.push({ kind: "any" })
    else if (character === "\\" && at + 1 < characters.length)
      found.push({ kind: "one", character: characters[++at]! })
    else if (character === "[") {
      const parsed = characterClass(characters, at)
      found.push(parsed?.token ?? { kind: "one", character })
      at = parsed?.end ?? at
    } else found.push({ kind: "one", character })
  }
  return found
}

/** The class that begins with the `[` at `at`, and the index of its `]`; undefined if it is not closed. */
function characterClass(characters: string[], at: number): { token: Token; end: number } | undefined {
  let next = at + 1
  const negated = characters[next] === "!" || characters[next] === "^"
  if (negated) next++
  const ranges: [string, string][] = []
  for (let first = true; next < characters.length; first = false) {
    const from = characters[next]!
    if (from === "]" && !first) return { token: { kind: "class", negated, ranges }, end: next }
    const to = characters[next + 2]
    const isRange = characters[next + 1] === "-" && to !== undefined && to !== "]"
    ranges.push([from, isRange ? to : from])
    next += isRange ? 3 : 1
  }
  return undefined
}

/** Expands `a{b,c}` to `ab` and `ac`, also nested. An unmatched brace is an ordinary character. */
function expandBraces(pattern: string): string[] {
  const done: string[] = []
  const open = [pattern]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const group = firstGroup(next)
    if (group === undefined) done.push(next)
    else for (const middle of group.options.toReversed()) open.push(group.before + middle + group.after)
    if (done.length + open.length > alternativesMax) {
      throw new Error(`The pattern expands to more than ${alternativesMax} patterns. Use fewer braces.`)
    }
  }
  return done
}

/** The first closed group. It is innermost, so it contains no other group. */
function firstGroup(pattern: string): { before: string; options: string[]; after: string } | undefined {
  let start = -1
  for (let at = 0; at < pattern.length; at++) {
    if (pattern[at] === "\\") at++
    else if (pattern[at] === "{") start = at
    else if (pattern[at] === "}" && start >= 0) {
      const options = pattern.slice(start + 1, at).split(",")
      return { before: pattern.slice(0, start), options, after: pattern.slice(at + 1) }
    }
  }
  return undefined
}

function matchSegments(names: string[][], segments: Segment[]): boolean {
  return matchStarred(names, segments, {
    isStar: (segment) => segment === "any-directories",
    matches: (name, segment) =>
      segment !== "any-directories" &&
      matchStarred(name, segment, { isStar: (token) => token.kind === "some", matches: matchesCharacter }),
  })
}

interface Matching<Item, Pattern> {
  isStar(pattern: Pattern): boolean
  matches(item: Item, pattern: Pattern): boolean
}

/**
 * Matches a whole sequence against patterns, some of which match any stretch. Only the last of those ever needs to
 * match more, and the earlier ones keep what they matched, so there is no exponential search.
 */
function matchStarred<Item, Pattern>(
  items: readonly Item[],
  patterns: readonly Pattern[],
  { isStar, matches }: Matching<Item, Pattern>,
): boolean {
  let item = 0
  let pattern = 0
  let star = -1
  let taken = 0
  while (item < items.length) {
    const wanted = patterns[pattern]
    if (wanted !== undefined && isStar(wanted)) {
      star = pattern++
      taken = item
    } else if (wanted !== undefined && matches(items[item]!, wanted)) {
      item++
      pattern++
    } else if (star >= 0) {
      item = ++taken
      pattern = star + 1
    } else return false
  }
  return patterns.slice(pattern).every(isStar)
}

function matchesCharacter(character: string, token: Token): boolean {
  switch (token.kind) {
    case "one":
      return token.character === character
    case "any":
      return true
    case "class":
      return token.ranges.some(([from, to]) => from <= character && character <= to) !== token.negated
    case "some":
      return false
  }
}
