/** How many patterns the braces of one pattern may expand to. */
const alternativesMax = 64

type Token =
  | { kind: "one"; character: string }
  | { kind: "any" }
  | { kind: "some" }
  | { kind: "class"; negated: boolean; ranges: [string, string][] }

type Segment = "any-directories" | Token[]

/**
 * Compiles a glob over relative paths with `/`: `*` and `?` match inside one name, `**` matches any directories, `[a-z]`,
 * `[[:alpha:]]` and `{a,b}` work as in a shell, `\` escapes the next character. A pattern without `/` matches the last name
 * at any depth. The time of a match is at most proportional to pattern length times path length. Throws an Error for a
 * pattern that is not relative or has too many braces.
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

/** The class that begins with the `[` at `at`, and the position of its `]`; undefined if the class does not end. */
function characterClass(characters: string[], at: number): { token: Token; end: number } | undefined {
  let next = at + 1
  const negated = characters[next] === "!" || characters[next] === "^"
  if (negated) next++
  const ranges: [string, string][] = []
  for (let first = true; next < characters.length; first = false) {
    if (characters[next] === "]" && !first) return { token: { kind: "class", negated, ranges }, end: next }
    const named = posixClass(characters, next)
    if (named) {
      ranges.push(...named.ranges)
      next = named.end
      continue
    }
    if (characters[next] === "\\") next++
    const from = characters[next++]
    if (from === undefined) return undefined
    let to = from
    if (characters[next] === "-" && (characters[next + 1] ?? "]") !== "]") {
      next += characters[next + 1] === "\\" ? 2 : 1
      to = characters[next++] ?? from
    }
    ranges.push([from, to])
  }
  return undefined
}

/** The ends of the ranges of each class, ASCII only as in git. */
const posixClasses = new Map([
  ["alnum", "09AZaz"],
  ["alpha", "AZaz"],
  ["blank", "  \t\t"],
  ["cntrl", "\0\x1f\x7f\x7f"],
  ["digit", "09"],
  ["graph", "!~"],
  ["lower", "az"],
  ["print", " ~"],
  ["punct", "!/:@[`{~"],
  ["space", "  \t\t\n\n\r\r"],
  ["upper", "AZ"],
  ["xdigit", "09AFaf"],
])

/** The named class, such as `[:alpha:]`, at `at` inside of brackets. A name that git does not know matches nothing. */
function posixClass(
  characters: string[],
  at: number,
): { ranges: [string, string][]; end: number } | undefined {
  if (characters[at] !== "[" || characters[at + 1] !== ":") return undefined
  const close = characters.indexOf("]", at + 2)
  if (close < at + 3 || characters[close - 1] !== ":") return undefined
  const ends = posixClasses.get(characters.slice(at + 2, close - 1).join("")) ?? ""
  const ranges = (ends.match(/../gs) ?? []).map(([from, to]): [string, string] => [from!, to!])
  return { ranges, end: close + 1 }
}

/** `a{b,c}` as `ab` and `ac`, also nested. A brace without its partner is an ordinary character. */
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
