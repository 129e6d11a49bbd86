import type { MessageBody, PartBody, Tokens, ToolState } from "../../protocol/index.ts"

/** Unicode ranges of Chinese, Japanese and Korean characters, in order. Their punctuation counts like any other. */
const cjkRanges: readonly (readonly [first: number, last: number])[] = [
  [0x1100, 0x11ff],
  [0x2e80, 0x2fdf],
  [0x3005, 0x3007],
  [0x3021, 0x3029],
  [0x3031, 0x3035],
  [0x3038, 0x303c],
  [0x3041, 0x30ff],
  [0x3105, 0x318e],
  [0x31a0, 0x31bf],
  [0x31f0, 0x31ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa960, 0xa97f],
  [0xac00, 0xd7ff],
  [0xf900, 0xfaff],
  [0xff66, 0xffdc],
  [0x16fe2, 0x16ff6],
  [0x1aff0, 0x1b16f],
  [0x20000, 0x3ffff],
]

function isCjk(codePoint: number): boolean {
  if (codePoint < 0x1100) return false
  for (const [first, last] of cjkRanges) if (codePoint <= last) return codePoint >= first
  return false
}

function quarters(text: string): number {
  let sum = 0
  for (let i = 0; i < text.length; i++) {
    const codePoint = text.codePointAt(i)!
    if (codePoint > 0xffff) i++
    sum += isCjk(codePoint) ? 2 : 1
  }
  return sum
}

/** The plain rule: a quarter token for each character, half a token for a Chinese, Japanese or Korean one. */
export function estimateTokensPlainly(text: string): number {
  return Math.ceil(quarters(text) / 4)
}

/** Kinds of characters that tokenizers treat alike. The letters of words come first. */
const lower = 0
const upper = 1
const accented = 2
const digit = 3
const space = 4
const newline = 5
const punctuation = 6
const symbol = 7
const han = 8
const kana = 9
const hangul = 10
const alphabet = 11
const script = 12
const pairHead = 13
const pairTail = 14
const samePunctuation = 15
const kindCount = 16

const asciiKinds = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 0x61 && code <= 0x7a) return lower
  if (code >= 0x41 && code <= 0x5a) return upper
  if (code >= 0x30 && code <= 0x39) return digit
  if (code === 0x20 || code === 0x09) return space
  return code === 0x0a || code === 0x0d ? newline : punctuation
})

/** The kinds of the other characters, by blocks of 64, which is fine enough for an estimate. */
const blockKinds = Uint8Array.from({ length: 1024 }, (_, block) => blockKind(block << 6))

function blockKind(code: number): number {
  if (code < 0xc0) return symbol
  if (code < 0x240) return accented
  if (code < 0x2000) return code >= 0x380 && code < 0x540 ? alphabet : script
  if (code < 0x3040) return code < 0x2e80 || code >= 0x3000 ? symbol : han
  if (code < 0x3100) return kana
  if (code < 0xa000) return han
  if (code < 0xac00) return script
  if (code < 0xd800) return hangul
  if (code < 0xe000) return code < 0xdc00 ? pairHead : pairTail
  if (code >= 0xf900 && code < 0xfb00) return han
  return code >= 0xff00 && code < 0xff40 ? symbol : script
}

/**
 * The cost of a character, in hundredths of a token. Fitted to o200k_base and cl100k_base on eval/tokens/samples/fit.
 * Where the two differ much (Korean, Cyrillic, other scripts), nearer to o200k_base, whose vocabulary is newer.
 */
const cost = {
  word: 100,
  /** The punctuation before a word is often part of the word's token. */
  wordAfterPunctuation: 55,
  wordAfterDigit: 120,
  capitalInWord: 110,
  /** A capital after a short piece of a word: base64 and similar text. */
  capitalInScramble: 350,
  /** From the 8th small letter on, and from the 5th capital. */
  lateLetter: 25,
  accent: 150,
  /** Three digits are one token, which does not include the space before them. */
  threeDigits: 100,
  spaceBeforeDigit: 100,
  /**
   * The last space of an indentation belongs to the token that follows, so the cost is charged for the second space.
   */
  indentation: 115,
  indentationMore: 1,
  /** After punctuation a line break is mostly part of the same token, and costs nothing. */
  newline: 105,
  punctuation: 75,
  punctuationAfterSpace: 105,
  punctuationAfterOther: 40,
  punctuationAgain: 4,
  symbol: 130,
  han: 84,
  kana: 80,
  hangul: 80,
  hangulBegin: 120,
  alphabet: 27,
  alphabetBegin: 77,
  script: 45,
  pair: 260,
}

/** Longer runs make no difference. */
const runMax = 7

/** The state that the cost of the next character depends on. */
interface ScanState {
  last: number
  /** How many characters of the same kind, or letters of the same piece of a word, came before this one. */
  run: number
  /** Whether this piece of a word follows another piece or a number. */
  isInner: boolean
}

function costOfLetter({ last, run, isInner }: ScanState, kind: number): [cost: number, then: ScanState] {
  if (last > accented) {
    const begin = last === punctuation || last === samePunctuation ? cost.wordAfterPunctuation : cost.word
    const isAfterDigit = last === digit
    return [isAfterDigit ? cost.wordAfterDigit : begin, { last: kind, run: 0, isInner: isAfterDigit }]
  }
  if (kind === upper && last !== upper) {
    const capital = isInner && run < 2 ? cost.capitalInScramble : cost.capitalInWord
    return [capital, { last: kind, run: 0, isInner: true }]
  }
  const late = run + 1 >= (kind === upper ? 4 : 7) ? cost.lateLetter : 0
  return [kind === accented ? cost.accent : late, { last: kind, run: Math.min(run + 1, runMax), isInner }]
}

function costOfOther({ last, run }: ScanState, kind: number): number {
  switch (kind) {
    case digit:
      if (last === digit) return run === 2 ? cost.threeDigits : 0
      return last === space ? cost.spaceBeforeDigit + cost.threeDigits : cost.threeDigits
    case space:
      if (last !== space) return 0
      return run === 0 ? cost.indentation : cost.indentationMore
    case newline:
      return last === punctuation || last === samePunctuation || last === newline ? 0 : cost.newline
    case punctuation:
      if (last === punctuation || last === samePunctuation) return cost.punctuationAfterOther
      return last === space ? cost.punctuationAfterSpace : cost.punctuation
    case samePunctuation:
      return cost.punctuationAgain
    case symbol:
      return cost.symbol
    case han:
      return cost.han
    case kana:
      return cost.kana
    case hangul:
      return last === hangul ? cost.hangul : cost.hangulBegin
    case alphabet:
      return last === alphabet ? cost.alphabet : cost.alphabetBegin
    case script:
      return cost.script
    default:
      return kind === pairHead ? cost.pair : 0
  }
}

function costOfCharacter(before: ScanState, kind: number): [cost: number, then: ScanState] {
  if (kind <= accented) return costOfLetter(before, kind)
  const again = kind === before.last ? before.run + 1 : 0
  const run = kind === digit ? again % 3 : kind === space ? Math.min(again, 1) : 0
  return [costOfOther(before, kind), { last: kind, run, isInner: false }]
}

/** The rules as a table, indexed by state and kind: the offset of the next state, and the cost in the low 16 bits. */
let costTable: Uint32Array | undefined

function makeCostTable(): Uint32Array {
  const table = new Uint32Array(kindCount * (runMax + 1) * 2 * kindCount)
  for (let last = 0; last < kindCount; last++) {
    // Rows for runs that a kind does not have stay empty.
    const isLetter = last <= accented
    for (let run = 0; run <= (isLetter ? runMax : 2); run++) {
      for (const isInner of isLetter ? [false, true] : [false]) {
        const before = { last, run, isInner }
        for (let kind = 0; kind < kindCount; kind++) {
          const [amount, then] = costOfCharacter(before, kind)
          table[tableOffset(before) + kind] = (tableOffset(then) << 16) | amount
        }
      }
    }
  }
  return table
}

function tableOffset({ last, run, isInner }: ScanState): number {
  return ((last * (runMax + 1) + run) * 2 + (isInner ? 1 : 0)) * kindCount
}

const initialState: ScanState = { last: newline, run: 0, isInner: false }

/**
 * How many tokens a text has: within about a tenth for English, source code, JSON, logs, hex and base64, within about a
 * quarter for Chinese. One pass that allocates nothing. A longer text never counts less, and only the empty text counts
 * 0.
 */
export function estimateTokens(text: string): number {
  if (text.length === 0) return 0
  costTable ??= makeCostTable()
  const table = costTable
  let sum = 0
  let state = tableOffset(initialState)
  let last = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    let kind = code < 128 ? asciiKinds[code]! : blockKinds[code >> 6]!
    if (code === last && kind === punctuation) kind = samePunctuation
    last = code
    const entry = table[state + kind]!
    sum += entry & 0xffff
    state = entry >>> 16
  }
  return Math.max(1, Math.ceil(sum / 100))
}

/** As providers count an image of usual size, after they scaled it down. */
const imageTokens = 1_300
/** The text and the image of a page. */
const pdfPageTokens = 2_000
const pdfPageBytes = 50_000
/** Tokens for a byte of UTF-8 text: about the same for English, source code, JSON and Chinese. */
const textTokensPerByte = 0.28
/** At usual audio bit rates. */
const soundTokensPerByte = 0.002
/** The text around a text file, or the notice that replaces a file that a model does not take. */
const noticeTokens = 30
/** Assumed sizes for files whose data are not in the URL: a blob, a file, a web page. */
const assumedBytes = { pdf: 3 * pdfPageBytes, text: 4_000, sound: 500_000 }

const textMime = /^text\/|[/+-](json|ndjson|xml|yaml|toml|javascript|typescript|sql|graphql|sh|php)\b/

/**
 * The estimated tokens of a file, by its media type and, if the URL holds the data, its size. The data never count as
 * text.
 */
export function estimateFileTokens(file: { mime: string; url: string }): number {
  const mime = file.mime.toLowerCase()
  const bytes = dataBytes(file.url)
  if (textMime.test(mime)) {
    if (/^https?:/i.test(file.url)) return noticeTokens
    return noticeTokens + Math.ceil((bytes ?? assumedBytes.text) * textTokensPerByte)
  }
  if (mime.startsWith("image/")) return imageTokens
  if (mime.startsWith("application/pdf")) {
    return pdfPageTokens * Math.max(1, Math.ceil((bytes ?? assumedBytes.pdf) / pdfPageBytes))
  }
  if (!/^(audio|video)\//.test(mime)) return noticeTokens
  return noticeTokens + Math.ceil((bytes ?? assumedBytes.sound) * soundTokensPerByte)
}

/** The length of the data in a `data:` URL; undefined for any other URL. */
function dataBytes(url: string): number | undefined {
  if (!/^data:/i.test(url)) return undefined
  const comma = url.indexOf(",")
  if (comma < 0) return 0
  const length = url.length - comma - 1
  return url.slice(comma - ";base64".length, comma).toLowerCase() === ";base64" ? (length * 3) / 4 : length
}

/** The estimated tokens of the content of a part that reaches a model. */
export function estimatePartTokens(part: PartBody): number {
  switch (part.type) {
    case "text":
      return part.ignored ? 0 : estimateTokens(part.text)
    case "reasoning":
      return estimateTokens(part.text)
    case "tool":
      return estimateTokens(part.tool) + estimateStateTokens(part.state)
    case "subtask":
      return estimateTokens(part.description) + estimateTokens(part.prompt)
    case "compaction":
      return estimateTokens(part.summary ?? "") + estimateTokens(part.ledger ?? "")
    case "file":
      return estimateFileTokens(part)
    case "agent":
    case "retry":
    case "step-start":
    case "step-finish":
    case "snapshot":
    case "patch":
      return 0
  }
}

/** The input of a call and its result. */
function estimateStateTokens(state: ToolState): number {
  const input = estimateTokens(JSON.stringify(state.input))
  switch (state.status) {
    case "completed": {
      const attachments = state.attachments ?? []
      const files = attachments.reduce((sum, file) => sum + estimateFileTokens(file), 0)
      return input + estimateTokens(state.output) + files
    }
    case "error":
      return input + estimateTokens(state.error)
    case "pending":
      return input + estimateTokens(state.raw)
    case "running":
      return input + estimateTokens(state.output ?? "")
  }
}

/** A message with its parts. The model gets only the name of an assistant's file. */
export function estimateMessageTokens(item: { message: MessageBody; parts: readonly PartBody[] }): number {
  const { message } = item
  let sum = message.role === "user" ? estimateTokens(message.system ?? "") : 0
  for (const part of item.parts) {
    const isNamed = part.type === "file" && message.role === "assistant"
    sum += isNamed ? estimateTokens(part.filename ?? part.mime) : estimatePartTokens(part)
  }
  return sum
}

export function addTokens(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    reasoning: a.reasoning + b.reasoning,
    cache: { read: a.cache.read + b.cache.read, write: a.cache.write + b.cache.write },
  }
}

/** All tokens of a call, including cached ones. */
export function totalTokens(tokens: Tokens): number {
  return tokens.input + tokens.output + tokens.reasoning + tokens.cache.read + tokens.cache.write
}
