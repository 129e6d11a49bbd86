import type { TextSpan } from "./text-span.ts"

/** A decoded text, as UTF-16 units, because reading them is much faster than reading a string. */
export interface View {
  units: Uint16Array
  /** The range of the original text that a range of the view comes from, with every escape as a whole. */
  origin(span: TextSpan): TextSpan
}

export interface Encoding {
  /** The characters that its escapes begin with, ASCII only. */
  signs: string
  /**
   * The escape that begins there. A call reads only a few units, or units that no other call reads, so that the time
   * stays linear.
   */
  escapeAt(units: Uint16Array, at: number): Escape | undefined
}

export interface Escape {
  end: number
  /** The code point that the escape stands for. Undefined if it stands for nothing. */
  code: number | undefined
}

export function viewOf(text: string): View {
  const bytes = new Uint8Array(text.length * 2)
  Buffer.from(bytes.buffer).write(text, "utf16le")
  return { units: new Uint16Array(bytes.buffer), origin: (span) => span }
}

/** How deep encodings may be nested: JSON in JSON, a URL in a URL, and no further. */
const layersMax = 2

/** The text itself, and every text that results from decoding one encoding after another. */
export function* viewsOf(text: string, encodings: readonly Encoding[]): Generator<View> {
  const seen = [viewOf(text)]
  yield seen[0]!
  let layer = seen
  for (let depth = 0; depth < layersMax; depth++) {
    const next: View[] = []
    for (const view of layer) {
      for (const encoding of encodings) {
        const inner = decoded(view, encoding)
        // Two orders of decoding often give the same text.
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

/** The view with one encoding decoded. Undefined if it has no escape. */
export function decoded({ units, origin }: View, { signs, escapeAt }: Encoding): View | undefined {
  const signUnits = viewOf(signs).units
  if (!signUnits.some((unit) => units.includes(unit))) return undefined
  const isSign = new Uint8Array(0x80)
  for (const unit of signUnits) isSign[unit] = 1
  // No escape is shorter than its decoded form.
  const plain = new Uint16Array(units.length)
  const breaks = new EscapeMap()
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
    length += writeCodePoint(found.code, { units: plain, at: start })
    breaks.add({ start, end: length }, { start: at, end: found.end })
    at = found.end
  }
  if (breaks.isEmpty) return undefined
  return { units: plain.subarray(0, length), origin: (span) => origin(breaks.origin(span)) }
}

/** Writes a code point. Returns how many units it took. */
function writeCodePoint(code: number | undefined, { units, at }: { units: Uint16Array; at: number }): number {
  if (code === undefined) return 0
  if (code <= 0xffff) {
    units[at] = code
    return 1
  }
  units[at] = 0xd7c0 + (code >> 10)
  units[at + 1] = 0xdc00 + (code & 0x3ff)
  return 2
}

/** Maps positions of a view to positions of its source. Stores the position of each escape in both. */
class EscapeMap {
  #offsets = new Int32Array(256)
  #count = 0

  get isEmpty(): boolean {
    return this.#count === 0
  }

  add(view: TextSpan, origin: TextSpan): void {
    const at = this.#count++ * 4
    if (at === this.#offsets.length) {
      const more = new Int32Array(at * 2)
      more.set(this.#offsets)
      this.#offsets = more
    }
    this.#offsets[at] = view.start
    this.#offsets[at + 1] = view.end
    this.#offsets[at + 2] = origin.start
    this.#offsets[at + 3] = origin.end
  }

  origin({ start, end }: TextSpan): TextSpan {
    return { start: this.#unit(start).start, end: this.#unit(end - 1).end }
  }

  /** The source range of one unit of the view. */
  #unit(at: number): TextSpan {
    const last = this.#lastUpTo(at)
    if (last < 0) return { start: at, end: at + 1 }
    const viewEnd = this.#offsets[last * 4 + 1]!
    const start = this.#offsets[last * 4 + 2]!
    const end = this.#offsets[last * 4 + 3]!
    return at < viewEnd ? { start, end } : { start: end + at - viewEnd, end: end + at - viewEnd + 1 }
  }

  #lastUpTo(at: number): number {
    let low = 0
    let high = this.#count
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#offsets[middle * 4]! <= at) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

const percent = 0x25
const plus = 0x2b
const backslash = 0x5c

/** `%2F`, in UTF-8. Invalid escapes stay as they are. */
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

/** Form encoding: a plus is a space. */
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

/** `\n` and `\u0026`, and a backslash before a sign, as in shells and Markdown. */
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

/** White space between the lines of base64, plain or escaped. It stands for nothing. */
export const wrapping: Encoding = {
  signs: " \t\n\v\f\r\\",
  escapeAt(units, at) {
    let end = at
    if (units[at] !== backslash) {
      while (isSpace(units[end]!)) end++
      return { end, code: undefined }
    }
    // Each run of backslashes is read once.
    if (units[at - 1] === backslash) return undefined
    while (units[end] === backslash) end++
    return isSpace(controls.get(units[end]!) ?? 0) ? { end: end + 1, code: undefined } : undefined
  },
}

function byteAt(units: Uint16Array, at: number): number {
  return units[at] === percent ? hexByteAt(units, at + 1) : -1
}

/** Negative if there are no two hex digits. */
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
