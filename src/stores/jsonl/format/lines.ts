import { findJsonExcess, jsonDepthMax, StemmaError } from "../../../protocol/index.ts"

/** One parsed line of a file. */
export interface Line {
  /** The line number from 1. Right only if parsing began at the start of the file. */
  number: number
  /** The byte offset where the line begins, and where the next line begins. */
  from: number
  to: number
  value: Record<string, unknown>
}

export interface ParsedLines {
  lines: Line[]
  /** The byte offset where the last complete line ends. Bytes after it are an unfinished line. */
  end: number
  /** True if the last line is complete except for its line feed. */
  unended: boolean
}

const sliceMs = 8
const lineFeed = 0x0a

/**
 * Parses bytes of a file that begin at offset `from`, without blocking the event loop for long. An unfinished last line
 * is left out. A bad line before it is an `internal` error with its line number.
 */
export async function parseLines(
  bytes: Buffer,
  options: { file: string; from?: number },
): Promise<ParsedLines> {
  const parser = new LineParser(bytes, options)
  let began = performance.now()
  while (parser.step()) {
    if (performance.now() - began < sliceMs) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = performance.now()
  }
  return parser.result
}

/** Like `parseLines`, synchronously, for a few lines. */
export function parseLinesNow(bytes: Buffer, options: { file: string; from?: number }): ParsedLines {
  const parser = new LineParser(bytes, options)
  while (parser.step()) {}
  return parser.result
}

/** Parses the lines before the first bad line. */
export function parseGoodLines(bytes: Buffer, options: { file: string; from?: number }): Line[] {
  const parser = new LineParser(bytes, options)
  try {
    while (parser.step()) {}
  } catch {
    // Lines after a bad line are not trusted either.
  }
  return parser.result.lines
}

class LineParser {
  readonly result: ParsedLines
  readonly #bytes: Buffer
  readonly #file: string
  readonly #from: number
  #at = 0
  #number = 0

  constructor(bytes: Buffer, options: { file: string; from?: number }) {
    this.#bytes = bytes
    this.#file = options.file
    this.#from = options.from ?? 0
    this.result = { lines: [], end: this.#from, unended: false }
    if (this.#from === 0 && bytes.subarray(0, 3).equals(byteOrderMark)) this.#at = 3
  }

  /** Parses one line. Returns false at the end. */
  step(): boolean {
    if (this.#at >= this.#bytes.length) return false
    const feed = this.#bytes.indexOf(lineFeed, this.#at)
    const stop = feed < 0 ? this.#bytes.length : feed
    const next = feed < 0 ? stop : feed + 1
    const text = this.#bytes.toString("utf8", this.#at, stop)
    this.#number++
    if (text.trim() !== "") {
      const value = parseObject(text)
      if (value) this.#push(value, next)
      else if (feed < 0) return false
      else throw badLine(this.#file, this.#number, findJsonExcess(text, lineBounds)?.problem)
      this.result.unended = feed < 0
    } else if (feed < 0) return false
    this.#at = next
    this.result.end = this.#from + next
    return true
  }

  #push(value: Record<string, unknown>, next: number): void {
    const from = this.#from + this.#at
    this.result.lines.push({ number: this.#number, from, to: this.#from + next, value })
  }
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf])

/** A line puts some levels around values that a caller gave, which have their own bound. */
export const lineBounds = { depthMax: 2 * jsonDepthMax }

/** Undefined for a line that is not a JSON object or is nested too deeply. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  if (findJsonExcess(text, lineBounds)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

export function badLine(file: string, number: number, why = "is not a JSON object"): StemmaError {
  return new StemmaError(
    "internal",
    `Line ${number} of ${file} ${why}. Repair or remove that line, or restore the file from a backup.`,
    { details: { file, line: number } },
  )
}

/** Encodes values as lines. */
export function formatLines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("")
}
