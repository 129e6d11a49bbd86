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
    const inside = line.slice(0, endOf(line, quote))
    return inside === "" ? undefined : { text: inside, isQuoted: true, start, end: start + inside.length }
  }
  const bare = trimmed(/^[^\s"'`\\]+/.exec(line)?.[0] ?? "")
  return bare === "" ? undefined : { text: bare, isQuoted: false, start, end: start + bare.length }
}

/** The whole of a value of which only the beginning was looked at. */
export function wholeValue(text: string, value: Value): Span {
  if (value.end - value.start < judgedUnits - 8) return value
  const quoteUnits = value.isQuoted ? (text[value.start - 2] === "\\" ? 2 : 1) : 0
  return valueAt(text, value.start - quoteUnits, valueUnitsMax) ?? value
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
  /^(?:\$\{|\$\(|\$[A-Za-z_]\w*$|<|\{\{|%[A-Z_]+%$|\*+$|\.{2,}|x{3,}$|your[-_ ]|\[(?:redacted|secret|hidden|\.)|process\.env|os\.environ|import\.meta|undefined$|null$|none$|true$|false$|string$)/i

/** What people write where a secret would stand. */
export function isPlaceholder(text: string): boolean {
  return placeholder.test(text)
}

/** A call or a path instead of a value. */
export function isCall({ text, isQuoted }: Value): boolean {
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
