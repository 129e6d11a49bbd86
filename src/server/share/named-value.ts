import type { Span } from "./mark.ts"

/** What stands after a name: the beginning of the value, whether in quotes, and where. */
export interface Value extends Span {
  text: string
  isQuoted: boolean
}

/** As much of a value tells whether it is a secret. */
const judgedUnits = 96
const valueUnitsMax = 16 * 1024

/** What begins there, up to its closing quote or to what parts it from the rest. */
export function valueAt(text: string, at: number, unitsMax = judgedUnits): Value | undefined {
  const quote = quoteAt(text, at)
  const start = at + quote.length
  const rest = text.slice(start, start + unitsMax)
  const line = rest.slice(0, endOf(rest, "\n"))
  if (quote !== "") {
    const inside = line.slice(0, quotedEnd(line, quote))
    return inside === "" ? undefined : { text: inside, isQuoted: true, start, end: start + inside.length }
  }
  const bare = trimmed(beforeNext(/^[^\s"'`\\，。；、）」]+/.exec(line)?.[0] ?? ""))
  return bare === "" ? undefined : { text: bare, isQuoted: false, start, end: start + bare.length }
}

const emphasis = /\*{0,3}[ \t]{0,8}/y
/** The lines of a block in YAML, or a value in quotes on the next line. */
const nextLine =
  /[|>][+-]?[ \t]{0,4}(?:\r?\n|\\r\\n|\\n)[ \t]{1,40}|(?:\r?\n|\\r\\n|\\n)[ \t]{0,40}(?=\\?["'])/y

/** Where the value begins that belongs to a name and a sign which end there. */
export function valueStart(text: string, at: number): number {
  emphasis.lastIndex = at
  const start = at + emphasis.exec(text)![0].length
  nextLine.lastIndex = start
  const isColon = /[:：][ \t*]*$/.test(text.slice(Math.max(0, start - 16), start))
  return start + ((isColon && nextLine.exec(text)?.[0].length) || 0)
}

/** The whole of a value of which only the beginning was looked at. */
export function wholeValue(text: string, value: Value): Span {
  if (value.end - value.start < judgedUnits - 8) return value
  const quoteUnits = value.isQuoted ? (text[value.start - 2] === "\\" ? 2 : 1) : 0
  return valueAt(text, value.start - quoteUnits, valueUnitsMax) ?? value
}

/** Up to the next name of `a=1;b=2`, `a=1&b=2`, or `a: 1,b: 2`. */
function beforeNext(text: string): string {
  const at = text.search(/[;&,][A-Za-z][\w.-]{0,40}[=:]/)
  return at < 0 ? text : text.slice(0, at)
}

/** Where the closing quote is: not at one that belongs to the value. */
function quotedEnd(line: string, quote: string): number {
  let at = line.indexOf(quote)
  while (at >= 0 && isEscaped(line, { at, quote })) at = line.indexOf(quote, at + 1)
  return at < 0 ? endOf(line, quote) : at
}

function isEscaped(line: string, { at, quote }: { at: number; quote: string }): boolean {
  let begin = at
  while (begin > 0 && line[begin - 1] === "\\") begin--
  return quote.length === 2 ? (at - begin) % 4 === 2 : quote !== "`" && (at - begin) % 2 === 1
}

/** Without what ends a sentence or a bracket rather than the value. */
function trimmed(text: string): string {
  let end = text.length
  while (end > 0 && "),.;:]}>".includes(text[end - 1]!)) end--
  return text.slice(0, end)
}

function quoteAt(text: string, at: number): string {
  if (text[at] === "\\" && /["']/.test(text[at + 1] ?? "")) return text.slice(at, at + 2)
  return /["'`]/.test(text[at] ?? "") ? text[at]! : ""
}

function endOf(text: string, mark: string): number {
  const at = text.indexOf(mark)
  return at < 0 ? text.length : at
}

const placeholder =
  /^(?:\$\{|\$\(|\$[A-Za-z_]\w*$|<|\{\{|%[A-Z_]+%$|\*+$|\.{2,}|x{3,}$|your[-_ ]|change[-_ ]?(?:me|it)$|\[(?:redacted|secret|hidden|\.)|process\.env|os\.environ|import\.meta|undefined$|null$|none$|true$|false$|string[;,?]?$)/i

/** What people write where a secret would stand. */
export function isPlaceholder(text: string): boolean {
  return placeholder.test(text)
}

const standIn =
  /pass(?:w|phrase|code)|secret|token|key|credential|auth|bearer|your|example|sample|placeholder|dummy|default|here$|value|required|optional|missing|invalid|incorrect|mismatch|empty|string|text|plain|hidden|redacted|masked|encrypt|hash|undefined|unknown|boolean|number|integer|object|buffer|varchar|input|field|label|prompt|generat|response|request|argument|param|config|setting|option|env/i

/** Letters only that name or describe a secret, as forms, types, messages and code have them. */
export function isStandIn(text: string): boolean {
  return /^[A-Za-z]+(?:[-_.][A-Za-z]+)*$/.test(text) && standIn.test(text)
}

/** A name made of words, as code has it: `userName`, `user_name`. */
export function isWords(text: string): boolean {
  return /^[a-z]+(?:[A-Z][a-z]+)+$|^[A-Za-z]+(?:[-_.][A-Za-z]+)+$/.test(text)
}

/** Letters only, without being a name or a description of anything. */
export function isLetters(text: string, unitsMin: number): boolean {
  return text.length >= unitsMin && /^[A-Za-z]+$/.test(text) && !isStandIn(text) && !isWords(text)
}

/** A file by its path and ending. */
export function isFile(text: string): boolean {
  return /^[\w.@-]{0,40}(?:\/[\w.@-]{1,40}){0,9}\.[a-z][a-z0-9]{1,4}$/.test(text)
}

/** A call or a path instead of a value. */
export function isCall({ text, isQuoted }: Pick<Value, "text" | "isQuoted">): boolean {
  if (/^(?:\.{0,2}\/|~\/|file:)/.test(text)) return true
  return !isQuoted && /^[A-Za-z_$][\w$]{0,64}(?:\??\.[A-Za-z_$][\w$]{0,64}){0,8}[([]/.test(text)
}

/** Names with dots between them, as code has it. */
export function isDotted({ text, isQuoted }: Value): boolean {
  if (isQuoted || text.replace(/\D/g, "").length > 2) return false
  return /^[A-Za-z_$][\w$]{0,64}(?:\??\.[A-Za-z_$][\w$]{0,64}){1,8}$/.test(text)
}

export function isMixed(text: string): boolean {
  return /\d/.test(text) && /[A-Za-z]/.test(text)
}

/** A hash or a UUID: names of things, and no secret unless a name says so. */
export function isIdentity(text: string): boolean {
  return /^(?:sha\d{1,3}[-:])?(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64})$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(
    text,
  )
}
