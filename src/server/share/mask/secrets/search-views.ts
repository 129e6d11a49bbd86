import type { TextSpan } from "../text-span.ts"
import { backslashes, decoded, type Encoding, type View, viewOf } from "../text-views.ts"
import { beginsAsKey, serviceKeySpans } from "./keys/service-keys.ts"
import { isRandom } from "./random-text.ts"
import { formatSpans } from "./secret-formats.ts"

/** A form of a text that is searched, and where its ranges come from. */
export interface SearchView {
  text: string
  /** True if the text has no broken lines that were joined. */
  isWhole: boolean
  origin(span: TextSpan): TextSpan
}

/**
 * The text itself; the text without the escapes of JSON, because a file in the output of a tool is escaped as a whole;
 * and both with the lines joined that break a key.
 */
export function searchViews(text: string): SearchView[] {
  const plain: SearchView = { text, isWhole: true, origin: (span) => span }
  const unescaped = /\\["nrt/u]/.test(text) ? decoded(viewOf(text), backslashes) : undefined
  const views = unescaped ? [plain, searchViewOf(unescaped)] : [plain]
  return views.flatMap((view) => {
    const joined = withoutBreaks(view)
    return joined ? [view, joined] : [view]
  })
}

function searchViewOf({ units, origin }: View): SearchView {
  const { buffer, byteOffset, byteLength } = units
  return { text: Buffer.from(buffer, byteOffset, byteLength).toString("utf16le"), isWhole: true, origin }
}

const unit = "[A-Za-z0-9_+/~.-]"
/**
 * A break within a key: the end of a line with a sign of code or of mail before it, and the quotation mark, frame or
 * number of the next line behind it.
 */
const breakWithin = new RegExp(
  String.raw`(?<!${unit})(${unit}{4,})((?:["'\x60]?[ \t]{0,4}[+\\.&]?[ \t]{0,4}|=|<br ?\/?>)\r?\n[ \t]{0,40}(?:(?:[>|│#*]|\/\/(?=[ \t])|\d{1,6}[|:→])[ \t]{0,8})?["'\x60]?)(?=(${unit}{3,}))`,
  "g",
)
/** How much of a run decides whether it may be a part of a key. */
const judgedUnits = 80
/** Behind so much of a key, its rest may look like an identifier. */
const longUnits = 30
/** Lines of base64 are that long. */
const base64Units = 60

/** The view with the lines joined that break a key. Undefined if there are none. */
function withoutBreaks({ text, origin }: SearchView): SearchView | undefined {
  if (!text.includes("\n")) return undefined
  const breaks = new Map<number, number>()
  for (const { index, 1: before, 2: gap, 3: after } of text.matchAll(breakWithin)) {
    const start = index + before!.length
    if (isBreakWithin(before!, after!)) breaks.set(start, start + gap!.length)
  }
  if (breaks.size === 0) return undefined
  const joining: Encoding = {
    signs: "\"'`+\\.&=<\r\n \t",
    escapeAt: (_, at) => {
      const end = breaks.get(at)
      return end === undefined ? undefined : { end, code: undefined }
    },
  }
  const joined = searchViewOf(decoded(viewOf(text), joining)!)
  return { ...joined, isWhole: false, origin: (span) => origin(joined.origin(span)) }
}

/** Whether the end of a line and the beginning of the next one may be parts of one key, or of the same data. */
function isBreakWithin(before: string, after: string): boolean {
  if (before.length >= base64Units && after.length >= base64Units) return true
  const first = before.slice(-judgedUnits)
  const rest = after.slice(0, judgedUnits)
  if (beginsAsKey(before) && !isWholeKey(first)) return true
  if (!isKeyPart(first)) return false
  const isLong = first.length >= longUnits && isRandom(first)
  return isKeyPart(rest) || (isLong && /[a-z][A-Z]|\d/.test(rest))
}

function isWholeKey(text: string): boolean {
  return text.length >= judgedUnits || serviceKeySpans(text).length > 0 || formatSpans(text).length > 0
}

/** Not a word, a number or an identifier of words. */
function isKeyPart(text: string): boolean {
  if (/^[A-Za-z]?[a-z]*$|^[A-Z]+$|^[\d.]+$/.test(text)) return false
  return (
    isRandom(text) ||
    (/\d/.test(text) && /[A-Za-z]/.test(text) && text.length >= 16 && !/\.[a-z]{2,4}$/.test(text))
  )
}
