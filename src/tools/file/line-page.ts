import { cutText } from "../output.ts"

/** How far beyond the requested page lines are counted. A longer file has "more than" this many lines. */
const countedBytesMax = 64 * 1024 * 1024
const lineCharactersMax = 2_000
/** The most bytes that this many characters can have. */
const lineBytesMax = lineCharactersMax * 4

export interface PageOptions {
  /** The first line, counted from 1. */
  offset: number
  /** How many lines at most. */
  limit: number
  /** How many bytes of numbered lines at most. At least one line is returned, whatever its length. */
  bytesMax: number
}

export interface LinePage {
  /** The lines with their numbers. */
  lines: string[]
  /** How many lines the text has, or how many were seen if it goes on. */
  total: number
  /** False if the text goes on after `total` lines. */
  complete: boolean
}

/**
 * A page of numbered lines from a stream of UTF-8 bytes. Only one page is held in memory, and only the beginning of a
 * long line. A byte order mark and the CR of a line end are left out.
 */
export async function readPage(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  options: PageOptions,
): Promise<LinePage> {
  const pager = new Pager(options)
  let seen = 0
  let fullAt = 0
  for await (const chunk of chunks) {
    pager.add(chunk)
    seen += chunk.length
    if (!pager.full) fullAt = seen
    else if (seen - fullAt > countedBytesMax)
      return { lines: pager.lines, total: pager.count, complete: false }
  }
  pager.end()
  return { lines: pager.lines, total: pager.count, complete: true }
}

class Pager {
  readonly lines: string[] = []
  /** How many lines have ended. */
  count = 0
  full = false
  #options: PageOptions
  #bytes = 0
  /** The beginning of the current line, and its length so far. */
  #kept: Uint8Array[] = []
  #length = 0

  constructor(options: PageOptions) {
    this.#options = options
  }

  add(chunk: Uint8Array): void {
    let start = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, start)) {
      this.#grow(chunk.subarray(start, end))
      this.#finish()
      start = end + 1
    }
    this.#grow(chunk.subarray(start))
  }

  end(): void {
    if (this.#length > 0) this.#finish()
  }

  #grow(bytes: Uint8Array): void {
    const room = lineBytesMax + 1 - this.#length
    // A copy, because the stream may reuse its buffer.
    if (room > 0 && bytes.length > 0 && this.#wanted()) this.#kept.push(bytes.slice(0, room))
    this.#length += bytes.length
  }

  #wanted(): boolean {
    return !this.full && this.count + 1 >= this.#options.offset
  }

  #finish(): void {
    if (this.#wanted()) this.#take()
    this.count++
    this.#kept = []
    this.#length = 0
  }

  #take(): void {
    const line = numberedLine(this.count + 1, { bytes: Buffer.concat(this.#kept), length: this.#length })
    this.#bytes += Buffer.byteLength(line) + 1
    if (this.lines.length > 0 && this.#bytes > this.#options.bytesMax) {
      this.full = true
      return
    }
    this.lines.push(line)
    if (this.lines.length >= this.#options.limit) this.full = true
  }
}

function numberedLine(number: number, line: { bytes: Uint8Array; length: number }): string {
  const bytes = number === 1 && startsWithMark(line.bytes) ? line.bytes.subarray(3) : line.bytes
  const whole = line.bytes.length === line.length
  const decoded = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
  const text = whole && decoded.endsWith("\r") ? decoded.slice(0, -1) : decoded
  const label = `${String(number).padStart(5, "0")}| `
  if (whole && text.length <= lineCharactersMax) return label + text
  return `${label}${cutText(text, lineCharactersMax)}… (line cut: it has ${line.length} bytes)`
}

function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}
