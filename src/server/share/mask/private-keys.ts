import type { TextSpan } from "./text-span.ts"

const border = /-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/g
/** Larger than any key that is in use. */
const blockUnitsMax = 32 * 1024

/**
 * Private keys in PEM: whole blocks, also with escaped line breaks or with line numbers before the lines, and what is left of
 * blocks that were cut at either end. Those of PuTTY too, and whatever PEM is in base64 as a whole.
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
  // No stretch is looked at for two borders, however many there are.
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

/** Line numbers, quote marks and the like that tools and people put before a line. */
const lead = String.raw`[\s>|+*:\d→-]{0,24}`
const keyLine = new RegExp(`^${lead}(?:[A-Za-z0-9+/=]*|[A-Za-z-]{3,24}: .{0,100})["',;\\s]{0,8}$`)
const keyLineBegin = new RegExp(`^${lead}[A-Za-z0-9+/=]{16,}`)
const keyLineEnd = /[A-Za-z0-9+/=]{16,}\s{0,8}$/

/** Base64 that is long enough to be a line of a key, whatever stands around it. */
const keyRun = /[A-Za-z0-9+/]{40,}={0,2}/
/** Between the border and the first line: the end of the border's own line, headers and an empty line. */
const strangeFirstMax = 4
/** Between two lines that have something around them, such as the signs that join texts in code. */
const strangeBetweenMax = 1

/**
 * Where the lines of a key end that begin there. Of a line that was cut, its beginning belongs to them. Lines may have anything
 * before and behind them, such as a time or a frame, as long as there is a run of base64 in them.
 */
function keyLinesEnd(text: string, { from, limit }: { from: number; limit: number }): number {
  const lines = splitLines(text.slice(from, limit))
  let end = from
  let at = from
  let lead: string | undefined
  let strange = 0
  let strangeMax = strangeFirstMax
  for (let next = 0; next < lines.length; next += 2) {
    const line = lines[next]!
    const units = line.length + (lines[next + 1]?.length ?? 0)
    const run = keyRunIn(line)
    if (strange === 0 && keyLine.test(line)) {
      end = at + units
      if (keyLineBegin.test(line)) strangeMax = 0
    } else if (run !== undefined && (strange > 0 || strangeMax > 0)) {
      end = at + run.end
      lead = line.slice(0, run.start)
      strange = 0
      strangeMax = strangeBetweenMax
    } else {
      const cut = strange === 0 || lead !== undefined ? cutLineUnits(line, lead) : 0
      if (cut > 0) return at + cut
      if (++strange > strangeMax) return end
    }
    at += units
  }
  return end
}

function keyRunIn(line: string): TextSpan | undefined {
  const run = keyRun.exec(line)
  // A long path or a hash is none.
  if (!run || !/[A-Z]/.test(run[0]) || !/[a-z]/.test(run[0]) || !/\d/.test(run[0])) return undefined
  return { start: run.index, end: run.index + run[0].length }
}

/** How much of the last line belongs to the key: behind the same lead as before it may be short. */
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

/** Where the lines of a key begin that end there. Of a line that was cut, its end belongs to them. */
function keyLinesStart(text: string, { to, limit }: { to: number; limit: number }): number {
  const lines = splitLines(text.slice(limit, to))
  // What stands on the same line before the border.
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

/** Lines, with what parts them between. */
function splitLines(text: string): string[] {
  return text.split(/(\r?\n|(?:\\{1,8}r)?\\{1,8}n)/)
}
