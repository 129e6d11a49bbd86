import { decodeEntities } from "./html-entities.ts"

export type HtmlToken =
  | { type: "text"; text: string }
  | { type: "open"; name: string; attributes: ReadonlyMap<string, string> }
  | { type: "close"; name: string }

/** Elements whose content is not HTML; it reaches to their own end tag, whatever is in it. */
const rawNames = ["script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp"]

const attributesMax = 100
const attributeCharactersMax = 4_000

/**
 * What a browser would see in a page, in order. Every text is HTML to it: what is malformed becomes text or is left out, as
 * browsers do. Takes time in proportion to the text.
 */
export function* htmlTokens(html: string): Generator<HtmlToken> {
  let at = 0
  let textStart = 0
  while (at < html.length) {
    const start = html.indexOf("<", at)
    if (start < 0) break
    const found = tokenAt(html, start)
    if (found === undefined) {
      at = start + 1
      continue
    }
    if (start > textStart) yield { type: "text", text: decodeEntities(html.slice(textStart, start)) }
    if (found.token) yield found.token
    at = found.end
    if (found.token?.type === "open" && rawNames.includes(found.token.name)) {
      const end = rawEnd(html, { name: found.token.name, from: at })
      yield { type: "text", text: decodeEntities(html.slice(at, end)) }
      at = end
    }
    textStart = at
  }
  if (textStart < html.length) yield { type: "text", text: decodeEntities(html.slice(textStart)) }
}

interface Found {
  /** Absent for a comment and the like. */
  token?: HtmlToken
  end: number
}

/** What begins with the `<` at `start`; undefined if that is mere text. */
function tokenAt(html: string, start: number): Found | undefined {
  const next = html[start + 1] ?? ""
  if (html.startsWith("<!--", start)) return { end: endAfter(html, { mark: "-->", from: start + 4 }) }
  if (next === "!" || next === "?") return { end: endAfter(html, { mark: ">", from: start + 2 }) }
  const isClose = next === "/"
  const nameStart = isClose ? start + 2 : start + 1
  if (!/[a-z]/i.test(html[nameStart] ?? "")) {
    return isClose ? { end: endAfter(html, { mark: ">", from: nameStart }) } : undefined
  }
  const nameEnd = skip(html, { what: /[^\s/>]*/y, from: nameStart })
  const name = html.slice(nameStart, Math.min(nameEnd, nameStart + 40)).toLowerCase()
  if (isClose) return { token: { type: "close", name }, end: endAfter(html, { mark: ">", from: nameEnd }) }
  return openTag(html, { name, from: nameEnd })
}

function openTag(html: string, { name, from }: { name: string; from: number }): Found {
  const attributes = new Map<string, string>()
  let at = skip(html, { what: /[\s/]*/y, from })
  while (at < html.length && html[at] !== ">") {
    const keyEnd = skip(html, { what: /[^\s/>][^\s/>=]*/y, from: at })
    const key = html.slice(at, Math.min(keyEnd, at + 40)).toLowerCase()
    const value = attributeValue(html, keyEnd)
    if (attributes.size < attributesMax && !attributes.has(key)) {
      attributes.set(
        key,
        decodeEntities(html.slice(value.start, Math.min(value.end, value.start + attributeCharactersMax))),
      )
    }
    at = skip(html, { what: /[\s/]*/y, from: value.next })
  }
  // A tag that never ends is none.
  if (at >= html.length) return { end: html.length }
  return { token: { type: "open", name, attributes }, end: at + 1 }
}

function attributeValue(html: string, keyEnd: number): { start: number; end: number; next: number } {
  const equals = skip(html, { what: /\s*/y, from: keyEnd })
  if (html[equals] !== "=") return { start: keyEnd, end: keyEnd, next: keyEnd }
  const start = skip(html, { what: /\s*/y, from: equals + 1 })
  const quote = html[start]
  if (quote === '"' || quote === "'") {
    const end = html.indexOf(quote, start + 1)
    if (end < 0) return { start: html.length, end: html.length, next: html.length }
    return { start: start + 1, end, next: end + 1 }
  }
  const end = skip(html, { what: /[^\s>]*/y, from: start })
  return { start, end, next: end }
}

function rawEnd(html: string, { name, from }: { name: string; from: number }): number {
  const end = new RegExp(`</${name}(?=[\\s/>])`, "gi")
  end.lastIndex = from
  return end.exec(html)?.index ?? html.length
}

function endAfter(html: string, { mark, from }: { mark: string; from: number }): number {
  const found = html.indexOf(mark, from)
  return found < 0 ? html.length : found + mark.length
}

/** Where the text that `what`, a sticky pattern, matches at `from` ends. */
function skip(html: string, { what, from }: { what: RegExp; from: number }): number {
  what.lastIndex = from
  return what.test(html) ? what.lastIndex : from
}
