/**
 * Character classes for search. The numbers are ordered so that `letter` to `mark` are the characters of words. `dense`
 * characters belong to scripts that are written without spaces between words.
 */
export const separator = 1
export const joiner = 2
export const space = 3
export const letter = 4
export const upper = 5
export const digit = 6
export const mark = 7
export const dense = 8

const joiners = "./\\-_:@#"

/**
 * Chinese, Japanese and Korean first, then Thai, Lao, Burmese and Khmer. Marks such as 々 and ー are included, ・ is not.
 */
const denseRanges: readonly (readonly [number, number])[] = [
  [0x1100, 0x11ff],
  [0x2e80, 0x2fd5],
  [0x3005, 0x3007],
  [0x3021, 0x302f],
  [0x3031, 0x303c],
  [0x3041, 0x3096],
  [0x3099, 0x309f],
  [0x30a1, 0x30fa],
  [0x30fc, 0x318e],
  [0x31a0, 0x31bf],
  [0x31f0, 0x31ff],
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xa960, 0xa97c],
  [0xac00, 0xd7fb],
  [0xf900, 0xfaff],
  [0xff66, 0xffdc],
  [0x1aff0, 0x1b16f],
  [0x20000, 0x3ffff],
  [0x0e01, 0x0e3a],
  [0x0e40, 0x0eff],
  [0x1000, 0x109f],
  [0x1780, 0x17d3],
]

/** A cache that is filled on demand: building it completely costs more than most searches. */
const classes = new Uint8Array(0x20000)

/** The class of a code point. A lone surrogate is a separator. */
export function classOf(codePoint: number): number {
  if (codePoint >= classes.length) return classify(codePoint)
  const known = classes[codePoint]!
  if (known !== 0) return known
  const found = classify(codePoint)
  classes[codePoint] = found
  return found
}

export function isWord(characterClass: number): boolean {
  return characterClass >= letter && characterClass <= mark
}

/** The class of the character that begins at `at`; `separator` at the end of the text. */
export function classAt(text: string, at: number): number {
  return at < text.length ? classOf(text.codePointAt(at)!) : separator
}

/** The class of the character that ends at `at`; `separator` at the start of the text. */
export function classBefore(text: string, at: number): number {
  return at > 0 ? classOf(text.codePointAt(at - unitsBefore(text, at))!) : separator
}

/** How many UTF-16 units the character has that begins at `at`. */
export function unitsAt(text: string, at: number): 1 | 2 {
  return isHigh(text.charCodeAt(at)) && isLow(text.charCodeAt(at + 1)) ? 2 : 1
}

/** How many UTF-16 units the character has that ends at `at`. */
export function unitsBefore(text: string, at: number): 1 | 2 {
  return isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2)) ? 2 : 1
}

/** The offset, or the offset before it if it would split a surrogate pair. */
export function wholeCharacter(text: string, at: number): number {
  return isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at - 1 : at
}

function isHigh(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800
}

function isLow(unit: number): boolean {
  return (unit & 0xfc00) === 0xdc00
}

function classify(codePoint: number): number {
  for (const [first, last] of denseRanges) if (codePoint >= first && codePoint <= last) return dense
  const character = String.fromCodePoint(codePoint)
  if (joiners.includes(character)) return joiner
  if (/\s/.test(character)) return space
  if (/[\p{Lu}\p{Lt}]/u.test(character)) return upper
  if (/\p{L}/u.test(character)) return letter
  if (/\p{N}/u.test(character)) return digit
  if (/[\p{Mn}\p{Mc}]/u.test(character) && !/\p{Variation_Selector}/u.test(character)) return mark
  return separator
}
