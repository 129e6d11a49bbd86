import type { TextSpan } from "../../text-span.ts"
import { isPlaceholder } from "../named-value.ts"

/** Words that stand for a password in examples and manuals. */
const standIn =
  /^(?:(?:your|my|the|some|new|old|user|db|root|admin|a)?[-_ ]?(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|value|string|text)s?(?:[-_ ]?here)?|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:PASS(?:WORD|WD|PHRASE)?|PWD|PW|SECRET|TOKEN|KEY)|x+|\*+|\.+|null|none|nil|undefined|true|false|env|stdin|prompt|required|optional)$/i

/**
 * Whether a text that stands where a password belongs is one: any text, except a placeholder, a variable or a call.
 * `quote` is the quote before it, `after` the rest of its line.
 */
export function isGivenPassword(
  text: string,
  {
    quote = "",
    after = "",
    isWordAllowed = true,
  }: { quote?: string; after?: string; isWordAllowed?: boolean } = {},
): boolean {
  if (text.trim() === "" || standIn.test(text.trim()) || isPlaceholder(text, { quote, after })) return false
  // Variables of shells, templates, Windows and SQL.
  if (
    /^[$%:?@]\w*$|^[$@:?]\{?[\w.[\]'>-]+\}?$|^\{\{?[^{}]*\}?\}$|^%\w+%$|^<[^<>]*>?$|^\[[^[\]]*\]$/.test(text)
  )
    return false
  if (/\$\{|\$\(|<\?|\{\{|<%/.test(text) && quote !== "'") return false
  return isWordAllowed || !/^[A-Za-z]+$/.test(text)
}

/** A value in quotes, also escaped ones, or a bare one up to a space. */
export interface GivenValue extends TextSpan {
  text: string
  quote: string
}

const openingQuote = /\\{0,3}["']/y
const bareValue = /(?:[^\s"'\x60\\;|&<>]|\\\\|\\[^\s\\nrt"'\x60])+/y

/** The value that begins at `at`. Undefined if there is none on this line. */
export function givenValueAt(text: string, at: number, unitsMax = 256): GivenValue | undefined {
  openingQuote.lastIndex = at
  const quote = openingQuote.exec(text)?.[0] ?? ""
  const start = at + quote.length
  if (quote === "") {
    bareValue.lastIndex = at
    const found = bareValue.exec(text.slice(0, at + unitsMax))?.[0]
    return found === undefined ? undefined : { text: found, quote, start, end: start + found.length }
  }
  const near = text.slice(start, start + unitsMax)
  const end = near.indexOf(quote)
  if (end <= 0 || near.slice(0, end).includes("\n")) return undefined
  return { text: near.slice(0, end), quote, start, end: start + end }
}
