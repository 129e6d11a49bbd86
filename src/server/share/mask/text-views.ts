import type { TextSpan } from "./text-span.ts"

/** A text as it reads with encodings taken away. Its UTF-16 units, as looking at each of them is much faster than in a string. */
export interface View {
  units: Uint16Array
  /** Where a stretch of it comes from: the whole of each escape of which it has a part. */
  origin(span: TextSpan): TextSpan
}

/** How a text may be encoded. */
export interface Encoding {
  /** What its escapes begin with, ASCII only. */
  signs: string
  /** The escape that begins there. Looks at no more than a few units, or at what no other call looks at: time stays linear. */
  escapeAt(units: Uint16Array, at: number): Escape | undefined
}

export interface Escape {
  end: number
  /** The code point that it stands for; undefined if it stands for nothing. */
  code: number | undefined
}

export function viewOf(text: string): View {
  const bytes = new Uint8Array(text.length * 2)
  Buffer.from(bytes.buffer).write(text, "utf16le")
  return { units: new Uint16Array(bytes.buffer), origin: (span) => span }
}

/** JSON in JSON, an address in an address: one in the other, and no further. */
const layersMax = 2

/** The text itself, and each way in which it reads with some of the encodings taken away, one from the other. */
export function* viewsOf(text: string, encodings: readonly Encoding[]): Generator<View> {
  const seen = [viewOf(text)]
  yield seen[0]!
  let layer = seen
  for (let depth = 0; depth < layersMax; depth++) {
    const next: View[] = []
    for (const view of layer) {
      for (const encoding of encodings) {
        const inner = decoded(view, encoding)
        // Which of two encodings is taken away first often makes no difference.
        if (!inner || next.some((other) => isSame(inner.units, other.units))) continue
        next.push(inner)
        yield inner
      }
    }
    layer = next
  }
}

function isSame(a: Uint16Array, b: Uint16Array): boolean {
  return a.length === b.length && bytesOf(a).equals(bytesOf(b))
}

function bytesOf({ buffer, byteOffset, byteLength }: Uint16Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** A view with an encoding taken away; undefined if it has no escape. */
export function decoded({ units, origin }: View, { signs, escapeAt }: Encoding): View | undefined {
  const signUnits = viewOf(signs).units
  if (!signUnits.some((unit) => units.includes(unit))) return undefined
  const isSign = new Uint8Array(0x80)
  for (const unit of signUnits) isSign[unit] = 1
  // No escape is shorter than what it stands for.
  const plain = new Uint16Array(units.length)
  const breaks = new Breaks()
  let length = 0
  for (let at = 0; at < units.length; ) {
    const unit = units[at]!
    const found = unit < 0x80 && isSign[unit] === 1 ? escapeAt(units, at) : undefined
    if (!found) {
      plain[length++] = unit
      at++
      continue
    }
    const start = length
    length += put(found.code, { units: plain, at: start })
    breaks.add({ start, end: length }, { start: at, end: found.end })
    at = found.end
  }
  if (breaks.isEmpty) return undefined
  return { units: plain.subarray(0, length), origin: (span) => origin(breaks.origin(span)) }
}

/** How many units a code point took. */
function put(code: number | undefined, { units, at }: { units: Uint16Array; at: number }): number {
  if (code === undefined) return 0
  if (code <= 0xffff) {
    units[at] = code
    return 1
  }
  units[at] = 0xd7c0 + (code >> 10)
  units[at + 1] = 0xdc00 + (code & 0x3ff)
  return 2
}

/** Where a view and what it was made of drift apart: at escapes. For each, where it is in both. */
class Breaks {
  #places = new Int32Array(256)
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(view: TextSpan, origin: TextSpan): void {
    const at = this.#count++ * 4
    if (at === this.#places.length) {
      const more = new Int32Array(at * 2)
      more.set(this.#places)
      this.#places = more
    }
    this.#places[at] = view.start
    this.#places[at + 1] = view.end
    this.#places[at + 2] = origin.start
    this.#places[at + 3] = origin.end
  }

  origin({ start, end }: TextSpan): TextSpan {
    return { start: this.#unit(start).start, end: this.#unit(end - 1).end }
  }

  /** Where one unit of the view comes from. */
  #unit(at: number): TextSpan {
    const last = this.#lastUpTo(at)
    if (last < 0) return { start: at, end: at + 1 }
    const viewEnd = this.#places[last * 4 + 1]!
    const start = this.#places[last * 4 + 2]!
    const end = this.#places[last * 4 + 3]!
    return at < viewEnd ? { start, end } : { start: end + at - viewEnd, end: end + at - viewEnd + 1 }
  }

  #lastUpTo(at: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#places[middle * 4]! <= at) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

const percent = 0x25
const plus = 0x2b
const backslash = 0x5c

/** `%2F`, in UTF-8; what is none stays as it is. */
export const percents: Encoding = {
  signs: "%",
  escapeAt(units, at) {
    const first = byteAt(units, at)
    if (first < 0) return undefined
    if (first < 0x80) return { end: at + 3, code: first }
    if (first < 0xc2 || first > 0xf4) return undefined
    const more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1
    let code = first & (0x3f >> more)
    for (let byte = 1; byte <= more; byte++) {
      const next = byteAt(units, at + 3 * byte)
      if (next >> 6 !== 2) return undefined
      code = (code << 6) | (next & 0x3f)
    }
    const codeMin = more === 3 ? 0x10000 : more === 2 ? 0x800 : 0x80
    return code < codeMin || !isCharacter(code) ? undefined : { end: at + 3 * (more + 1), code }
  },
}

/** As forms are sent: a plus is a space. */
export const formFields: Encoding = {
  signs: "%+",
  escapeAt(units, at) {
    return units[at] === plus ? { end: at + 1, code: 0x20 } : percents.escapeAt(units, at)
  },
}

const controls = new Map(
  Object.entries({ b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }).map(([letter, control]) => [
    letter.charCodeAt(0),
    control.charCodeAt(0),
  ]),
)

/** `\n` and `\u0026`, and signs behind a backslash as shells and Markdown have them too. */
export const backslashes: Encoding = {
  signs: "\\",
  escapeAt(units, at) {
    const unit = units[at + 1] ?? 0
    if (unit === 0x75) {
      const code = (hexByteAt(units, at + 2) << 8) | hexByteAt(units, at + 4)
      return code < 0 ? undefined : { end: at + 6, code }
    }
    const isOther = unit >= 0x20 && unit < 0x7f && !isDigit(unit) && !isLetter(unit)
    const code = isOther ? unit : controls.get(unit)
    return code === undefined ? undefined : { end: at + 2, code }
  },
}

const named = new Map(Object.entries({ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }))
const entityUnitsMax = 10

/** `&amp;`, `&#39;` and `&#x27;`. */
export const entities: Encoding = {
  signs: "&",
  escapeAt(units, at) {
    const found = units[at + 1] === 0x23 ? numberAt(units, at + 2) : nameAt(units, at + 1)
    if (found?.code === undefined || units[found.end] !== 0x3b || !isCharacter(found.code)) return undefined
    return { end: found.end + 1, code: found.code }
  },
}

function numberAt(units: Uint16Array, at: number): Escape | undefined {
  const base = (units[at]! | 0x20) === 0x78 ? 16 : 10
  const start = base === 16 ? at + 1 : at
  let code = 0
  let end = start
  for (; end < start + entityUnitsMax; end++) {
    const digit = hexDigit(units[end])
    if (digit < 0 || digit >= base) break
    code = code * base + digit
  }
  return end === start ? undefined : { end, code }
}

function nameAt(units: Uint16Array, at: number): Escape {
  let name = ""
  let end = at
  while (name.length < entityUnitsMax && isLetter(units[end] ?? 0)) name += String.fromCharCode(units[end++]!)
  return { end, code: named.get(name)?.charCodeAt(0) }
}

/** White space between the lines of base64, as it is or escaped: it stands for nothing. */
export const wrapping: Encoding = {
  signs: " \t\n\v\f\r\\",
  escapeAt(units, at) {
    let end = at
    if (units[at] !== backslash) {
      while (isSpace(units[end]!)) end++
      return { end, code: undefined }
    }
    // Each run of backslashes is looked at once.
    if (units[at - 1] === backslash) return undefined
    while (units[end] === backslash) end++
    return isSpace(controls.get(units[end]!) ?? 0) ? { end: end + 1, code: undefined } : undefined
  },
}

function byteAt(units: Uint16Array, at: number): number {
  return units[at] === percent ? hexByteAt(units, at + 1) : -1
}

/** Negative if there are no two digits. */
function hexByteAt(units: Uint16Array, at: number): number {
  return (hexDigit(units[at]) << 4) | hexDigit(units[at + 1])
}

function hexDigit(unit = 0): number {
  if (isDigit(unit)) return unit - 0x30
  const lower = unit | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function isDigit(unit: number): boolean {
  return unit >= 0x30 && unit <= 0x39
}

function isLetter(unit: number): boolean {
  const lower = unit | 0x20
  return lower >= 0x61 && lower <= 0x7a
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d)
}

function isCharacter(code: number): boolean {
  return code < 0xd800 || (code > 0xdfff && code <= 0x10ffff)
}
