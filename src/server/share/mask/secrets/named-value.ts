import type { TextSpan } from "../text-span.ts"

/** The value after a name: its text, its opening quote if it has one, and its position. */
export interface Value extends TextSpan {
  text: string
  quote: string
  isQuoted: boolean
  /** The rest of the same line. */
  after: string
}

/** How much of a value is read to decide whether it is secret. */
const judgedUnits = 96
const valueUnitsMax = 16 * 1024
/** How much of a line is read before and after a value. */
const nearUnits = 120

/** The value that begins at `at`, up to its closing quote or to the character that separates it from the rest. */
export function valueAt(text: string, at: number, unitsMax = judgedUnits): Value | undefined {
  const quote = quoteAt(text, at)
  const start = at + quote.length
  const rest = text.slice(start, start + unitsMax)
  const line = rest.slice(0, endOf(rest, "\n"))
  const inside =
    quote === ""
      ? trimmed(beforeNext(line.slice(0, bareEnd(line, { text, start }))))
      : line.slice(0, quotedEnd(line, quote))
  if (inside === "") return undefined
  const end = start + inside.length
  return { text: inside, quote, isQuoted: quote !== "", start, end, after: restOfLine(text, end) }
}

/** The rest of the line, up to `nearUnits`. */
export function restOfLine(text: string, at: number): string {
  const near = text.slice(at, at + nearUnits)
  return near.slice(0, endOf(near, "\n"))
}

/** Spaces, including no-break, zero-width and full-width ones. */
export const blank = String.raw`[ \t\u00a0\u3000\u200b]`
/** A colour code of terminals, plain or escaped. */
const colour = String.raw`(?:\u001b|\\{1,4}(?:u001[bB]|x1[bB]|033|e))\[[0-9;]{0,12}[mK]`
/** Characters that may follow a name: quotes, brackets, emphasis, colour codes. */
export const nameEnd = String.raw`(?:${colour}|[\\"'\u0060*_\]]){0,20}`
/** An opening quote, also in JSON inside JSON. */
export const quoteMark = String.raw`\\{0,15}["'\u0060]`

const lineBreak = String.raw`(?:\r?\n|\\r\\n|\\n)`
const emphasis = new RegExp(
  String.raw`(?:${blank}|\*|_{1,2}(?=${blank})|<\/(?:b|strong|em|i|code)>|${colour}|\p{Extended_Pictographic}\ufe0f?){0,48}`,
  "uy",
)
/** The lines of a block in YAML, or a quoted value on the next line. */
const nextLine = new RegExp(
  String.raw`[|>][+-]?[ \t]{0,4}${lineBreak}[ \t]{1,40}|${lineBreak}[ \t]{0,40}(?=(?:string\(\d{1,6}\) )?\\{0,15}["'])`,
  "y",
)
/** Prefixes of Python, Rust and PHP before the quote. */
const prefix = /(?:[bBuUrRfF]{1,2}|(?:Some|Just)\(|string\(\d{1,6}\) )(?=\\{0,15}["'])/y

/** Where the value begins, for a name and a sign that end at `at`. */
export function valueStart(text: string, at: number): number {
  const sign = text.slice(Math.max(0, at - 48), at).trimEnd()
  const start = at + unitsOf(emphasis, { text, at })
  const first = start + (/(?:[:：]|=>)$/.test(sign) ? unitsOf(nextLine, { text, at: start }) : 0)
  return first + unitsOf(prefix, { text, at: first })
}

function unitsOf(pattern: RegExp, { text, at }: { text: string; at: number }): number {
  pattern.lastIndex = at
  return pattern.exec(text)?.[0].length ?? 0
}

/** The whole value, if only its beginning was read so far. */
export function wholeValue(text: string, value: Value): TextSpan {
  if (value.end - value.start < judgedUnits - 8) return value
  return valueAt(text, value.start - value.quote.length, valueUnitsMax) ?? value
}

/** Letters, digits and signs, except quotes, backslashes and the punctuation of other scripts. */
const bareRun = /[!#-&(-[\]-_a-~\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u00ff€\p{L}\p{M}\p{N}]*/uy

/** Where an unquoted value ends that begins the line. */
function bareEnd(line: string, { text, start }: { text: string; start: number }): number {
  let at = unitsOf(bareRun, { text: line, at: 0 })
  if (at === 0 || at === line.length || /[{[(]/.test(line[0]!)) return at
  const open = openQuotes(text, start)
  for (;;) {
    const units = unitsWithin(line, { at, open })
    if (units === 0) return at
    at += units
    at += unitsOf(bareRun, { text: line, at })
  }
}

/** Which quotes are open where a value begins, as far as its line is read. */
function openQuotes(text: string, start: number): string[] {
  const near = text.slice(Math.max(0, start - nearUnits), start)
  const before = near.slice(near.lastIndexOf("\n") + 1)
  return ['"', "'"].filter((quote) => before.split(quote).length % 2 === 0)
}

const escapedQuote = /\\{1,15}["'](?=[A-Za-z0-9])/y

/**
 * How many units of a quote or a backslash belong to the value. 0 if the quote ends a text that contains the name too.
 */
function unitsWithin(line: string, { at, open }: { at: number; open: readonly string[] }): number {
  const mark = line[at] ?? ""
  const next = line[at + 1] ?? ""
  if (mark === "\\") return /[^\s"'`\\nrtu]/.test(next) ? 1 : unitsOf(escapedQuote, { text: line, at })
  if (mark !== '"' && mark !== "'") return 0
  const isWithin = open.includes(mark) ? /[A-Za-z0-9]/ : /[^\s,;:.)\]}<>|&"'`\\]/
  return isWithin.test(next) ? 1 : 0
}

/** Cuts at the next name in `a=1;b=2`, `a=1&b=2` or `a: 1,b: 2`, or at a tag. */
function beforeNext(text: string): string {
  const at = text.search(/[;&,|][A-Za-z][\w.-]{0,40}[=:]|<\/[a-z]|<br/)
  return at < 0 ? text : text.slice(0, at)
}

const closingQuotes: Record<string, string> = {
  "“": "”",
  "„": "“",
  "‘": "’",
  "「": "」",
  "『": "』",
  "«": "»",
}

/** Where the closing quote is. Escaped quotes belong to the value. */
function quotedEnd(line: string, quote: string): number {
  const closing = closingQuotes[quote] ?? quote
  let at = line.indexOf(closing)
  while (at >= 0 && isEscaped(line, { at, quote })) at = line.indexOf(closing, at + 1)
  return at < 0 ? endOf(line, closing) : at
}

/**
 * True if the quote is escaped one level deeper than the opening quote: an opening quote with n backslashes is escaped
 * by n + 1 more.
 */
function isEscaped(line: string, { at, quote }: { at: number; quote: string }): boolean {
  if (!/["']$/.test(quote)) return false
  let begin = at
  while (begin > 0 && line[begin - 1] === "\\") begin--
  const units = quote.search(/[^\\]/) + 1
  return (at - begin) % (2 * units) === units
}

/** Removes punctuation at the end, which belongs to the sentence or the bracket around the value. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && "),.;:]}>".includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

const openingQuote = /(\\{0,15}["'])\1\1|\\{0,15}["']|[`“„‘「『«]/y

function quoteAt(text: string, at: number): string {
  return text.slice(at, at + unitsOf(openingQuote, { text, at }))
}

function endOf(text: string, mark: string): number {
  const at = text.indexOf(mark)
  return at < 0 ? text.length : at
}

const placeholder =
  /^(?:%[A-Z_]+%$|%(?:\(\w+\))?[sdvr]$|\*+$|\.{2,}$|\.{3}|x{3,}$|change[-_ ]?(?:me|it)$|\[(?:redacted|secret|hidden|\.)|process\.env|os\.environ|import\.meta|undefined$|null$|none$|true$|false$|string[;,?]?$)|^your(?:[-_ .,]+(?:[a-z]+\d{0,4}|\d{1,4}))*[-_ .,]*$/i
const closingSigns: Record<string, string> = { "${": "}", "$(": ")", "<": ">", "{{": "}}" }

/** Text that people write in place of a secret. Without quotes it may contain spaces, and end after `text`. */
export function isPlaceholder(
  text: string,
  { quote = "", after = "" }: { quote?: string; after?: string } = {},
): boolean {
  if (placeholder.test(text) || isVariable(text, quote)) return true
  const opened = /^(?:\$\{|\$\(|<|\{\{)/.exec(text)?.[0]
  const line = quote === "" ? text + after : text
  if (opened !== undefined && line.includes(closingSigns[opened]!)) return true
  // The placeholder continues on the next line.
  if (opened !== undefined && quote === "" && /[([{]\s*$/.test(line.slice(-40))) return true
  const whole = quote === "" ? text + /^[)\]}>]*/.exec(after)![0] : text
  const fixed = whole.replace(/\$\{[^{}]{0,80}\}|\{[A-Za-z_][A-Za-z_.]{0,80}\}/g, "")
  return fixed !== whole && fixed.length < 4
}

/** A variable such as `$NAME`. Where it would be expanded, lower-case names count too. */
function isVariable(text: string, quote: string): boolean {
  if (/^\$[A-Z_][A-Z0-9_]*$/.test(text)) return true
  if (quote === "") return /^\$(?:env:)?[A-Za-z_]\w*$/.test(text)
  return !quote.endsWith("'") && /^\$(?:env:)?[A-Za-z_]+\d?$/.test(text)
}

const standIn =
  /pass(?:w|phrase|code)|secret|token|key|credential|auth|bearer|your|example|sample|placeholder|dummy|default|here$|value|required|optional|missing|invalid|incorrect|mismatch|empty|string|text|plain|hidden|redacted|masked|encrypt|hash|undefined|unknown|boolean|number|integer|object|buffer|varchar|input|field|label|prompt|generat|response|request|argument|param|config|setting|option|env/i

/** Words that name or describe a secret, as in forms, types, messages and code. */
export function isStandIn(text: string): boolean {
  return /^[A-Za-z]+(?:[-_.][A-Za-z]+)*$/.test(text) && standIn.test(text)
}

/** An identifier made of words, as in code: `userName`, `user_name`. */
export function isWords(text: string): boolean {
  return /^[a-z]+(?:[A-Z][a-z]+)+$|^[A-Za-z]+(?:[-_.][A-Za-z]+)+$/.test(text)
}

/** Only letters, but neither an identifier nor a description. */
export function isLetters(text: string, unitsMin: number): boolean {
  return text.length >= unitsMin && /^[A-Za-z]+$/.test(text) && !isStandIn(text) && !isWords(text)
}

/** A file with its path and ending. */
export function isFile(text: string): boolean {
  return /^[\w.@-]{0,40}(?:\/[\w.@-]{1,40}){0,9}\.[a-z][a-z0-9]{1,4}$/.test(text)
}

/** A call, a type or a path instead of a value. */
export function isCall({ text, isQuoted, after }: Pick<Value, "text" | "isQuoted" | "after">): boolean {
  if (isPath(text)) return true
  const head = isQuoted ? null : callHead.exec(text)
  return head !== null && isClosed(text + after, head[0].length - 1)
}

const dot = String.raw`(?:\??\.|->|::)`
const dotted = String.raw`^[A-Za-z_$][\w$]{0,64}(?:${dot}[A-Za-z_$][\w$]{0,64})`
const callHead = new RegExp(`${dotted}{0,8}(?:[([]|<(?=[A-Za-z]))`)

const closingBrackets: Record<string, string> = { "(": ")", "[": "]", "<": ">" }

/** Whether a bracket is closed on its line with no word right after it, or is left open for the next line. */
function isClosed(line: string, at: number): boolean {
  const opening = line[at]!
  let depth = 0
  for (let next = at; next < line.length; next++) {
    if (line[next] === opening) depth++
    else if (line[next] === closingBrackets[opening] && --depth === 0)
      return !/[A-Za-z0-9]/.test(line[next + 1] ?? "")
  }
  return /[,([{]\s*$|=>\s*$/.test(line.slice(-40)) || line.length >= nearUnits
}

/** A path has names between its slashes; base64 that begins with a slash has none. */
function isPath(text: string): boolean {
  if (text.startsWith("file:")) return true
  if (!/^(?:\.{0,2}\/|~\/)/.test(text) || text.endsWith("=")) return false
  return text.split(/[-/_.@+~:*{}<>[\]$%?&=,# ]+/).every((word) => word === "" || pathWord.test(word))
}

const pathWord = /^(?:[a-z0-9]+|[A-Z0-9]+|[A-Z]?[a-z]+(?:[A-Z][a-z]+|[A-Z]{2,}(?=[A-Z][a-z]|\d|$))*\d{0,4})$/

/** Names with dots between them, as in code. */
export function isDotted({ text, isQuoted }: Pick<Value, "text" | "isQuoted">): boolean {
  if (isQuoted || text.replace(/\D/g, "").length > 2) return false
  return onlyDotted.test(text)
}

const onlyDotted = new RegExp(`${dotted}{1,8}$`)
const startsDotted = new RegExp(`${dotted}{1,8}[^\\w$]`)
const ruleWord =
  /^(?:required|nullable|optional|sometimes|string|confirmed|digits|size|between|min|max|null|undefined)(?::|$)/

/** An object, an expression, a pattern or a validation rule instead of a value. */
export function isExpression(text: string): boolean {
  if (/^[{[(<,;?|]|^\/[\^[(.\\]/.test(text)) return true
  if (/[^\w+/=.~!@#$%^&*:-]/.test(text) && startsDotted.test(text)) return true
  return isRules(text)
}

/** A validation rule of a form: `required|min:8`. */
export function isRules(text: string): boolean {
  return /[|:]/.test(text) && text.split("|").some((rule) => ruleWord.test(rule))
}

/** Words and numbers with separators: `v1-node-modules-2024`. */
export function isNumbered(text: string): boolean {
  return text.split(/[-_.]/).every((word) => /^(?:[a-z]+\d{0,4}|\d+[a-z]{0,3})$/.test(word))
}

export function isMixed(text: string): boolean {
  return /\d/.test(text) && /[A-Za-z]/.test(text)
}

/** A hash or a UUID: not a secret unless its name says so. */
export function isIdentity(text: string): boolean {
  return /^(?:sha\d{1,3}[-:])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(
    text,
  )
}
