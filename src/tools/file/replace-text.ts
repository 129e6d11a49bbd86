export interface Replacing {
  /** The file's name, for error messages. */
  name: string
  oldString: string
  newString: string
  replaceAll?: boolean | undefined
}

export interface Replaced {
  text: string
  count: number
  /** The line of the first replacement, counted from 1. */
  line: number
}

const charactersMax = 64 * 1024 * 1024
const linesNamedMax = 5
const occurrencesMax = 1_000_000

/**
 * Replaces a text that occurs once, or, with `replaceAll`, all occurrences that do not overlap. Line ends are compared
 * as if all were LF, and the new text gets the file's line ends. All other bytes stay unchanged. Throws an Error with a
 * sentence.
 */
export function replaceText(text: string, replacing: Replacing): Replaced {
  const { name } = replacing
  const wanted = withLineFeeds(replacing.oldString.replace(/^\ufeff/, ""))
  const file = new NormalText(text)
  const found = occurrences(file.normal, { wanted, overlapping: !replacing.replaceAll })
  if (found.length > occurrencesMax)
    throw new Error(`oldString occurs too often in ${name}. Give a longer text.`)
  if (found.length === 0) throw new Error(notFound(name, { normal: file.normal, wanted }))
  if (found.length > 1 && !replacing.replaceAll)
    throw new Error(notUnique(name, { normal: file.normal, found }))
  const replacement = withLineFeeds(replacing.newString).replaceAll("\n", file.lineEnd)
  if (text.length + found.length * (replacement.length - wanted.length) > charactersMax) {
    throw new Error(`${name} would become too large. Replace less at once.`)
  }
  const pieces: string[] = []
  let copied = 0
  for (const at of found) {
    pieces.push(text.slice(copied, file.original(at)), replacement)
    copied = file.original(at + wanted.length)
  }
  pieces.push(text.slice(copied))
  const result = pieces.join("")
  if (result === text)
    throw new Error(`${name} would not change: oldString and newString differ in line ends only.`)
  return { text: result, count: found.length, line: lineAt(file.normal, found[0]!) }
}

/** A text with LF line ends and without a byte order mark, which can map its offsets to the original text. */
class NormalText {
  readonly normal: string
  /** The line end of most lines. */
  readonly lineEnd: "\n" | "\r\n"
  readonly #shift: number
  /** Offsets, in the normal text, of LFs that follow a CR in the original. In ascending order. */
  readonly #returns: number[] = []
  #passed = 0

  constructor(text: string) {
    this.#shift = text.startsWith("\ufeff") ? 1 : 0
    const body = text.slice(this.#shift)
    for (let at = body.indexOf("\r\n"); at >= 0; at = body.indexOf("\r\n", at + 2)) {
      this.#returns.push(at - this.#returns.length)
    }
    this.normal = this.#returns.length === 0 ? body : withLineFeeds(body)
    this.lineEnd = this.#returns.length * 2 > countOf(this.normal, "\n") ? "\r\n" : "\n"
  }

  /** Maps an offset of the normal text to the original. Must be called with ascending offsets. */
  original(at: number): number {
    while (this.#passed < this.#returns.length && this.#returns[this.#passed]! < at) this.#passed++
    return at + this.#passed + this.#shift
  }
}

function occurrences(
  text: string,
  { wanted, overlapping }: { wanted: string; overlapping: boolean },
): number[] {
  const found: number[] = []
  const step = overlapping ? 1 : wanted.length
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + step)) {
    found.push(at)
    if (found.length > occurrencesMax) break
  }
  return found
}

function notUnique(name: string, { normal, found }: { normal: string; found: number[] }): string {
  const lines = found.slice(0, linesNamedMax).map((at) => lineAt(normal, at))
  const more = found.length > linesNamedMax ? " and others" : ""
  return (
    `oldString occurs ${found.length} times in ${name}, at lines ${lines.join(", ")}${more}. ` +
    "Give more of the lines around it so that it is unique, or set replaceAll."
  )
}

function notFound(name: string, { normal, wanted }: { normal: string; wanted: string }): string {
  const said = `oldString does not occur in ${name}.`
  const withoutNumbers = wanted.replace(/^\d{5,}\| /gm, "")
  if (withoutNumbers !== wanted && normal.includes(withoutNumbers)) {
    return `${said} It does without the line numbers: give the lines without number, bar and space.`
  }
  const loose = lineIgnoringSpace(normal, wanted)
  if (loose !== undefined) {
    return `${said} It does at line ${loose} if white space is ignored: give the white space exactly as it is there.`
  }
  const [first = ""] = wanted.split("\n").filter((line) => line.trim() !== "")
  const at = first.trim().length < 4 ? -1 : normal.indexOf(first.trim())
  if (at >= 0)
    return `${said} Its first line does, at line ${lineAt(normal, at)}. Read the file there, then call again.`
  return `${said} Read the file to see what it holds now, then call again.`
}

function lineIgnoringSpace(text: string, wanted: string): number | undefined {
  const needle = wanted.replace(/\s+/g, "")
  if (needle === "") return undefined
  const at = text.replace(/\s+/g, "").indexOf(needle)
  if (at < 0) return undefined
  let line = 1
  let solid = 0
  for (const piece of text.split("\n")) {
    solid += piece.replace(/\s+/g, "").length
    if (solid > at) return line
    line++
  }
  return undefined
}

function lineAt(text: string, at: number): number {
  return countOf(text.slice(0, at), "\n") + 1
}

function countOf(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) count++
  return count
}

function withLineFeeds(text: string): string {
  return text.replaceAll("\r\n", "\n")
}
