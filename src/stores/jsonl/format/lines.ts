import { StemmaError } from "../../../protocol/index.ts"

/** One line of a file, parsed. */
export interface Line {
  /** From 1, as editors count; right only if reading began where the file begins. */
  number: number
  /** Where it begins and where the next one begins, in bytes. */
  from: number
  to: number
  value: Record<string, unknown>
}

export interface ParsedLines {
  lines: Line[]
  /** Where the last whole line ends; what follows is torn. */
  end: number
  /** True if the last line is whole but for its line feed. */
  unended: boolean
}

const sliceMs = 8
const lineFeed = 0x0a

/**
 * The lines of a piece of a file that begins at `from`. A last line that was cut off is left out; a bad line before it
 * is `internal` with its number, which is right only if the piece begins where the file begins.
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

/** The same at once, for a few lines. */
export function parseLinesNow(bytes: Buffer, options: { file: string; from?: number }): ParsedLines {
  const parser = new LineParser(bytes, options)
  while (parser.step()) {}
  return parser.result
}

/** The lines before the first bad one. */
export function parseGoodLines(bytes: Buffer, options: { file: string; from?: number }): Line[] {
  const parser = new LineParser(bytes, options)
  try {
    while (parser.step()) {}
  } catch {
    // What follows the bad line is not to be trusted either.
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

  /** Reads one line; false at the end. */
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
      else throw badLine(this.#file, this.#number)
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

function parseObject(text: string): Record<string, unknown> | undefined {
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
    `Line ${number} of ${file} ${why}. Repair or remove that line, or restore the file from a copy.`,
    { details: { file, line: number } },
  )
}

/** Lines as they are written. */
export function formatLines(values: readonly object[]): string {
  return values.map((value) => `${JSON.stringify(value)}\n`).join("")
}
