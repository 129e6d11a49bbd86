import { occurrencesOf, type TextSpan } from "../text-span.ts"
import {
  backslashes,
  decoded,
  type Encoding,
  entities,
  formFields,
  percents,
  viewOf,
  viewsOf,
  wrapping,
} from "../text-views.ts"

const secretName =
  /key|token|secret|passw|passphrase|pwd|credential|(?:^|_)(?:pass|pat|creds?|pw)(?:_|$)|auth(?!or(?!iz))|cookie|session_?id|dsn|database_?url|connection_?string|webhook|private|signature|license/i
const noSecretName =
  /keyboard|keymap|keytimeout|keychain$|monkey|tokenizer|_sock$|^(?:old)?pwd$|^private_?network/i
/** Shorter values are too common to search for. */
const unitsMin = 8
/** The search compares this many units first. */
const gramUnits = 4

/** The values of environment variables whose name says that they are secret. */
export function environmentSecrets(env: Record<string, string | undefined>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined &&
    value.trim().length >= unitsMin &&
    secretName.test(name) &&
    !noSecretName.test(name)
      ? [value.trim()]
      : [],
  )
}

/** A prepared search for secrets, used for many texts. */
export interface SecretSearch {
  /** Very short values, which are searched only literally. */
  short: readonly string[]
  /** Finds the values themselves. */
  inText: Finder
  /** Finds the values in base64 and hex, with any bytes around them. */
  inBytes: Finder
  encodings: readonly Encoding[]
}

type Finder = (units: Uint16Array) => TextSpan[]

/** Undefined if there is nothing to search for. */
export function secretSearch(values: Iterable<string>): SecretSearch | undefined {
  const known = new Set<string>()
  for (const value of values) {
    if (value.length >= unitsMin || /\d/.test(value)) known.add(value)
  }
  if (known.size === 0) return undefined
  const texts = [...known].flatMap((value) => [value, ...linesOf(value)])
  return {
    short: texts.filter((text) => text.length < gramUnits),
    inText: finderOf(texts.filter((text) => text.length >= gramUnits).map(literalNeedle)),
    inBytes: finderOf([...known].flatMap((value) => [...base64Needles(value), ...hexNeedles(value)])),
    encodings: [
      backslashes,
      percents,
      entities,
      ...(texts.some((text) => text.includes(" ")) ? [formFields] : []),
    ],
  }
}

/** Finds the values as they are, and inside JSON, URLs, HTML, base64 and hex. */
export function valueSpans(text: string, known: SecretSearch | undefined): TextSpan[] {
  if (!known) return []
  const spans = known.short.flatMap((value) => occurrencesOf(value, text))
  for (const view of viewsOf(text, known.encodings)) {
    for (const span of known.inText(view.units)) spans.push(view.origin(span))
    const unwrapped = decoded(view, wrapping) ?? view
    for (const span of known.inBytes(unwrapped.units)) spans.push(unwrapped.origin(span))
  }
  return spans
}

function linesOf(value: string): string[] {
  return value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= 16) : []
}

interface Needle {
  units: Uint16Array
  /** Whether the base64 digit before or after also contains bits of the value. */
  isCutBefore: boolean
  isCutAfter: boolean
}

function literalNeedle(text: string): Needle {
  return { units: viewOf(text).units, isCutBefore: false, isCutAfter: false }
}

/** A value has another form inside JSON that is encoded as a whole. */
function base64Needles(value: string): Needle[] {
  const forms = new Set([value, JSON.stringify(value).slice(1, -1)])
  return [...forms].flatMap((form) => [0, 1, 2].flatMap((shift) => shiftedBase64(Buffer.from(form), shift)))
}

/**
 * The base64 of a value depends on the number of bytes before it, modulo three. Digits that also depend on neighbouring
 * bytes are left out.
 */
function shiftedBase64(bytes: Buffer, shift: number): Needle[] {
  const bits = (shift + bytes.length) * 8
  const text = Buffer.concat([Buffer.alloc(shift), bytes])
    .toString("base64")
    .slice(shift === 0 ? 0 : shift + 1, Math.floor(bits / 6))
  if (text.length < unitsMin) return []
  const ends = { isCutBefore: shift > 0, isCutAfter: bits % 6 > 0 }
  const inUrl = text.replaceAll("+", "-").replaceAll("/", "_")
  return [...new Set([text, inUrl])].map((form) => ({ ...literalNeedle(form), ...ends }))
}

function hexNeedles(value: string): Needle[] {
  const hex = Buffer.from(value).toString("hex")
  return hex.length < 2 * unitsMin ? [] : [...new Set([hex, hex.toUpperCase()])].map(literalNeedle)
}

const gramsMax = 0x10000

/** A rolling hash of the last four units. */
function gramAfter(gram: number, unit: number): number {
  return ((gram << 4) ^ (Math.imul(unit, 0x9e3779b1) >>> 16)) & (gramsMax - 1)
}

/** Searches for all needles at once. Almost everywhere, one hash lookup shows that no needle begins there. */
function finderOf(needles: readonly Needle[]): Finder {
  const byGram = new Map<number, Needle[]>()
  const isGram = new Uint8Array(gramsMax)
  for (const one of needles) {
    const gram = one.units.subarray(0, gramUnits).reduce(gramAfter, 0)
    byGram.set(gram, [...(byGram.get(gram) ?? []), one])
    isGram[gram] = 1
  }
  return (units) => {
    const spans: TextSpan[] = []
    let last: TextSpan | undefined
    let gram = 0
    for (let at = 0; at < units.length; at++) {
      gram = gramAfter(gram, units[at]!)
      if (isGram[gram] === 0) continue
      const start = at + 1 - gramUnits
      for (const one of byGram.get(gram)!) {
        if (!isAt(one, { units, start })) continue
        const span = withPartialDigits(one, { units, start })
        if (last && span.start >= last.start && span.start < last.end) {
          last.end = Math.max(last.end, span.end)
        } else {
          spans.push(span)
          last = span
        }
      }
    }
    return spans
  }
}

interface Position {
  units: Uint16Array
  start: number
}

function isAt({ units: wanted }: Needle, { units, start }: Position): boolean {
  for (let at = 0; at < wanted.length; at++) if (units[start + at] !== wanted[at]) return false
  return true
}

/** Adds the digits that contain only some bits of the value, and the padding. */
function withPartialDigits(
  { units: found, isCutBefore, isCutAfter }: Needle,
  { units, start }: Position,
): TextSpan {
  let end = start + found.length
  if (isCutAfter && isBase64(units[end])) {
    end++
    while (units[end] === 0x3d && end < start + found.length + 3) end++
  }
  return { start: isCutBefore && isBase64(units[start - 1]) ? start - 1 : start, end }
}

function isBase64(unit: number | undefined): boolean {
  return unit !== undefined && /[\w+/-]/.test(String.fromCharCode(unit))
}
