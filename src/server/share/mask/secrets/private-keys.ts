import type { TextSpan } from "../text-span.ts"

const border = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** Larger than any key in use. */
const blockUnitsMax = 32 * 1024

/**
 * Finds private keys in PEM: complete blocks, also with escaped line breaks or with line numbers, and the rest of
 * blocks that are cut off at either end. Also finds keys of PuTTY, and PEM that is encoded in base64.
 */
export function privateKeySpans(text: string): TextSpan[] {
  const spans = text.includes("PRIVATE KEY") ? blockSpans(text) : []
  if (text.includes("Private-Lines:")) spans.push(...puttySpans(text))
  if (text.includes(encodedBegin)) spans.push(...encodedSpans(text))
  return spans
}

/** `-----BEGIN` in base64. */
const encodedBegin = "LS0tLS1CRUdJTi"
const newLine = String.raw`(?:\r?\n|\\r\\n|\\n)[ \t]{0,16}`
/** On one line, or on lines of the usual lengths. */
const encoded = new RegExp(
  `${encodedBegin}[A-Za-z0-9+/_-]{4,}={0,2}(?:${newLine}[A-Za-z0-9+/]{60,}={0,2})*` +
    `(?:${newLine}(?:[A-Za-z0-9+/]{20,59}={0,2}|[A-Za-z0-9+/]{1,19}={1,2})(?![A-Za-z0-9+/:=]))?`,
  "g",
)

function encodedSpans(text: string): TextSpan[] {
  return [...text.matchAll(encoded)].map(({ index, 0: { length } }) => ({
    start: index,
    end: index + length,
  }))
}

function puttySpans(text: string): TextSpan[] {
  const heads = [...text.matchAll(/Private-Lines: {0,4}\d{1,4}/g)]
  return heads.map(({ index, 0: line }, at) => {
    const from = index + line.length
    const limit = Math.min(heads[at + 1]?.index ?? text.length, from + blockUnitsMax)
    return { start: index, end: keyLinesEnd(text, { from, limit }) }
  })
}

function blockSpans(text: string): TextSpan[] {
  const borders = [...text.matchAll(border)].map(({ index, 0: line, 1: kind }) => ({
    isBegin: kind === "BEGIN",
    start: index,
    end: index + line.length,
  }))
  const spans: TextSpan[] = []
  // Each range is scanned for only one border, so that the time stays linear.
  for (let at = 0; at < borders.length; at++) {
    const { isBegin, start, end } = borders[at]!
    const next = borders[at + 1]
    if (!isBegin) {
      const limit = Math.max(borders[at - 1]?.end ?? 0, start - blockUnitsMax)
      spans.push({ start: keyLinesStart(text, { to: start, limit }), end })
    } else if (next && !next.isBegin && next.start - end <= blockUnitsMax) {
      spans.push({ start, end: next.end })
      at++
    } else {
      const limit = Math.min(next?.start ?? text.length, end + blockUnitsMax)
      spans.push({ start, end: keyLinesEnd(text, { from: end, limit }) })
    }
  }
  return spans
}

/** Line numbers, quote marks and other characters before a line. */
const lead = String.raw`[\s>|+*:\d→-]{0,24}`
const keyLine = new RegExp(`^${lead}(?:[A-Za-z0-9+/=]*|[A-Za-z-]{3,24}: .{0,100})["',;\\s]{0,8}$`)
const keyLineBegin = new RegExp(`^${lead}[A-Za-z0-9+/=]{16,}`)
const keyLineEnd = /[A-Za-z0-9+/=]{16,}\s{0,8}$/

/** Base64 that is long enough to be a line of a key, with any text around it. */
const keyRun = /[A-Za-z0-9+/]{40,}={0,2}/
/**
 * How many other lines may stand between the border and the first key line: the rest of the border's line, headers, an
 * empty line.
 */
const otherLinesFirstMax = 4
/** How many other lines may stand between two key lines that have text around them. */
const otherLinesBetweenMax = 1

/**
 * The end of the key lines that begin at `from`. If the last line is cut off, its beginning counts too. A line may have
 * other text around its base64, such as a time or a frame.
 */
function keyLinesEnd(text: string, { from, limit }: { from: number; limit: number }): number {
  const lines = splitLines(text.slice(from, limit))
  let end = from
  let at = from
  let lead: string | undefined
  let otherLines = 0
  let otherLinesMax = otherLinesFirstMax
  for (let next = 0; next < lines.length; next += 2) {
    const line = lines[next]!
    const units = line.length + (lines[next + 1]?.length ?? 0)
    const run = keyRunIn(line)
    if (otherLines === 0 && keyLine.test(line)) {
      end = at + units
      if (keyLineBegin.test(line)) otherLinesMax = 0
    } else if (run !== undefined && (otherLines > 0 || otherLinesMax > 0)) {
      end = at + run.end
      lead = line.slice(0, run.start)
      otherLines = 0
      otherLinesMax = otherLinesBetweenMax
    } else {
      const cut = otherLines === 0 || lead !== undefined ? cutLineUnits(line, lead) : 0
      if (cut > 0) return at + cut
      if (++otherLines > otherLinesMax) return end
    }
    at += units
  }
  return end
}

function keyRunIn(line: string): TextSpan | undefined {
  const run = keyRun.exec(line)
  // A long path or a hash is not a key line.
  if (!run || !/[A-Z]/.test(run[0]) || !/[a-z]/.test(run[0]) || !/\d/.test(run[0])) return undefined
  return { start: run.index, end: run.index + run[0].length }
}

/** How much of the last line belongs to the key. After the same lead as on the lines before, it may be short. */
function cutLineUnits(line: string, lead: string | undefined): number {
  const begin = keyLineBegin.exec(line)?.[0].length ?? 0
  if (lead === undefined || withoutDigits(line.slice(0, lead.length)) !== withoutDigits(lead)) return begin
  const rest = /^[A-Za-z0-9+/]{1,64}={0,2}(?![\w ])/.exec(line.slice(lead.length))
  return Math.max(begin, rest ? lead.length + rest[0].length : 0)
}

/** Times and line numbers differ from line to line. */
function withoutDigits(lead: string): string {
  return lead.replace(/\d/g, "0")
}

/** The start of the key lines that end at `to`. If the first line is cut off, its end counts too. */
function keyLinesStart(text: string, { to, limit }: { to: number; limit: number }): number {
  const lines = splitLines(text.slice(limit, to))
  // The text before the border on the same line.
  let start = to - lines.at(-1)!.length
  for (let at = lines.length - 3; at >= 0; at -= 2) {
    const line = lines[at]!
    const broken = lines[at + 1]!.length
    if (!keyLine.test(line)) {
      const rest = keyLineEnd.exec(line.slice(-200))
      return rest ? start - broken - rest[0].length : start
    }
    start -= line.length + broken
  }
  return start
}

/** The lines, with the line breaks between them. */
function splitLines(text: string): string[] {
  return text.split(/(\r?\n|(?:\\{1,8}r)?\\{1,8}n)/)
}
