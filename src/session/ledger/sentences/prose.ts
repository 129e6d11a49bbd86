import { visibleLine } from "../../text/visible-text.ts"

/** A longer sentence is cut at its commas, and inside a word only if it has none. */
const sentenceLengthMax = 240
/** Only the beginning of a longer line is read: people do not type such lines. */
const lineLengthMax = 4_000

/**
 * The sentences that a person typed, in order: without pasted code, logs and quotes, and without greetings and
 * politeness.
 */
export function sentences(text: string): string[] {
  return proseLines(text).flatMap((line) => splitLine(line).map(trimSentence).filter(hasContent))
}

/** The same sentences, but with list markers and polite words, so that the choices of a question stay readable. */
export function markedSentences(text: string): string[] {
  return proseLines(text).flatMap((line) =>
    splitLine(line)
      .map((each) => each.trim())
      .filter(hasContent),
  )
}

/** The pasted lines. Error codes and hashes in them may matter, but no sentence does. */
export function pastedLines(text: string): string[] {
  return classifyLines(text).pasted
}

function proseLines(text: string): string[] {
  return classifyLines(text).prose
}

/** Only the beginning of a longer text is read: it is a document, and would take seconds. */
const textLengthMax = 200_000

function classifyLines(text: string): { prose: string[]; pasted: string[] } {
  const prose: string[] = []
  const pasted: string[] = []
  const lines = text.slice(0, textLengthMax).split(/\r\n|[\n\r\u2028\u2029]/)
  const closing = closingFences(lines)
  let block: { line: string; pasted: boolean }[] = []
  const endBlock = () => {
    const count = block.filter((each) => each.pasted).length
    const all = block.length >= 3 && count * 2 >= block.length
    for (const each of block) (all || each.pasted ? pasted : prose).push(each.line)
    block = []
  }
  for (let index = 0; index < lines.length; index++) {
    const end = closing.get(index)
    const line = visibleLine(lines[index]!.slice(0, lineLengthMax))
    if (end !== undefined) {
      for (const inside of lines.slice(index + 1, end))
        pasted.push(visibleLine(inside.slice(0, lineLengthMax)))
      index = end
    }
    if (end !== undefined || line === "") endBlock()
    else block.push({ line, pasted: isPasted(line, lines[index]!) })
  }
  endBlock()
  return { prose, pasted }
}

/** The line on which each code fence is closed. A fence that is never closed is not a fence. */
function closingFences(lines: readonly string[]): Map<number, number> {
  const closing = new Map<number, number>()
  let open: number | undefined
  for (let index = 0; index < lines.length; index++) {
    if (!/^\s{0,12}(?:```|~~~)/.test(lines[index]!.slice(0, 20))) continue
    if (open === undefined) open = index
    else {
      closing.set(open, index)
      open = undefined
    }
  }
  return closing
}

const logLine =
  /^(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL)\b[\]: ])/
const traceLine =
  /^(?:at \S+ ?\(|at (?:async )?(?:file|node|\/)|File "|Traceback |Caused by: |\.\.\. \d+ more)/
const errorLine =
  /^(?:[\w.]*(?:Error|Exception|Warning)(?: \[\w+\])?: |Uncaught |thread '|panic: |error(?:\[\w+\])?: )/
const dataLine = /^(?:"[^"]*",?|'[^']*',?|-?\d[\d.]*,?|(?:true|false|null),?)$/
const diffLine = /^(?:diff --git |@@ -|\+\+\+ |--- \S|index [0-9a-f]{7})/
const codeLine =
  /^(?:import .* from |export (?:const|default|function|class|type) |(?:const|let|var) \w+ ?=|function \w+\(|class \w+ ?[{(:]|def \w+\(|#include |<\/?[a-zA-Z][\w-]*[ >/]|"[^"]*": ?|return [\w(]+;$|\}|\{)/

/** Whether a line was pasted, and not typed as a sentence. */
function isPasted(line: string, raw: string): boolean {
  if (/^\s*>/.test(raw.slice(0, 20))) return true
  if (errorLine.test(line) || dataLine.test(line)) return true
  if (logLine.test(line) || traceLine.test(line) || diffLine.test(line) || codeLine.test(line)) return true
  if (/[{};]$|=> ?\($/.test(line) && /[(){}=<>]/.test(line)) return true
  return symbolShare(line) > 0.3
}

/** The share of characters that are neither letters, digits, spaces nor usual punctuation. */
function symbolShare(line: string): number {
  if (line.length < 12) return 0
  const head = line.slice(0, 400)
  const symbols = head.match(/[{}[\]()<>=+*&|^%$#@\\;~]/g)?.length ?? 0
  return symbols / head.length
}

const abbreviation =
  /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|fig|ca|mr|mrs|ms|dr|st|[a-z])$|^\s*\d{1,2}$/i
const closers = "\"'”’)]」』】》"

function splitLine(line: string): string[] {
  const found: string[] = []
  const isList = countsUp(line)
  let start = 0
  let inCode = false
  for (let at = 0; at < line.length; at++) {
    const character = line[at]!
    if (character === "`") inCode = !inCode && line.indexOf("`", at + 1) > 0
    if (inCode || !endsSentence(line, at, start)) continue
    if (isList && /(?:^|[\s(（:：,，;；])[1-9]$/.test(line.slice(Math.max(start, at - 2), at))) continue
    while (at + 1 < line.length && closers.includes(line[at + 1]!)) at++
    found.push(line.slice(start, at + 1))
    start = at + 1
  }
  if (start < line.length) found.push(line.slice(start))
  return found.flatMap(cutLong)
}

/** Whether a line contains a list: "1. this, 2. that". */
function countsUp(line: string): boolean {
  const first = line.search(/(?:^|[\s:：,，])1\. ?\S/)
  return first >= 0 && /[\s,，;；]2\. ?\S/.test(line.slice(first + 2))
}

function endsSentence(line: string, at: number, start: number): boolean {
  const character = line[at]!
  if ("。！？；".includes(character)) return true
  if (!".!?;…".includes(character) || line[at - 1] === " ") return false
  let next = at + 1
  while (next < line.length && closers.includes(line[next]!)) next++
  const after = line[next]
  if (after !== undefined && after !== " " && after < "\u2e80") return false
  if (
    character === "." &&
    /[/.]/.test(line[at - 1] ?? "") &&
    /\/\.{2,3}$/.test(line.slice(Math.max(0, at - 3), at + 1))
  )
    return false
  if (/\bno$/i.test(line.slice(Math.max(start, at - 3), at)) && /^ \d/.test(line.slice(next))) return false
  return character !== "." || !abbreviation.test(line.slice(Math.max(start, at - 8), at))
}

/** Splits a long sentence into pieces at its clauses, each piece as long as allowed. */
function cutLong(sentence: string): string[] {
  if (sentence.length <= sentenceLengthMax) return [sentence]
  const pieces: string[] = []
  let piece = ""
  for (const clause of sentence.split(/(?<=[,，、:：] ?)(?=[^,，、:： ])/)) {
    if (piece !== "" && piece.length + clause.length > sentenceLengthMax) {
      pieces.push(piece)
      piece = ""
    }
    piece += clause
  }
  pieces.push(piece)
  return pieces.map((each) => shorten(each, sentenceLengthMax))
}

/** At most `lengthMax` UTF-16 units, never with half a surrogate pair. An ellipsis shows that text was cut. */
export function shorten(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text
  const head = text.slice(0, Math.max(0, lengthMax - 1))
  return `${head.isWellFormed() ? head : head.slice(0, -1)}…`
}

const bullet = /^(?:[-*•–—#>\s]+|\[[ x]\]\s*|\(?\d{1,2}[.)、]\s+|\d{1,2}、)+/
const politeStart =
  /^(?:(?:hi|hey|hello|please|pls|thanks|thank you|ok|okay|btw|by the way|fyi|so|well|oh|and|also|right|alright|great|cool|nice|perfect|yes|yep|yeah|sure|got it|good morning|morning)(?:[,.!:–—-]+ *| +(?=\S))|(?:你好|您好|请问|请|麻烦(?:你|您)?|谢谢|好的|嗯+|哦|对了|顺便说一下|顺便|另外|那么)[，,。！: ：]*)/i
const politeEnd =
  /(?:[,，.!]? *(?:please|thanks(?: a lot)?|thank you|thx|谢谢(?:你|您)?|多谢|拜托了?))[.!。！ ]*$/i

function trimSentence(sentence: string): string {
  let text = sentence.trim().replace(bullet, "")
  for (let times = 0; times < 4; times++) {
    const shorter = text.replace(politeStart, "")
    if (shorter === text || shorter === "") break
    text = shorter
  }
  return text
    .replace(politeEnd, "")
    .replace(/[.。;；,，\s]+$/, "")
    .trim()
}

function hasContent(sentence: string): boolean {
  return /[\p{L}\p{N}]/u.test(sentence)
}
