import { isUtf8 } from "node:buffer"

/** Words, numbers and single capitals. Random text falls into many short ones. */
const pieces = /[A-Z]?[a-z]+|[A-Z]+|\d+/g
/** Random letters and digits have pieces of two units on average, identifiers of four and more. */
const pieceUnitsMax = 3.1
const piecesWithNumbersMax = 3.6

/** In text of both cases, long runs of capitals are random too. */
const piecesOfMix = /[A-Z]?[a-z]+|[A-Z]{1,3}|\d+/g

/** Whether letters and digits change so often that the text is not made of words. */
export function isRandom(text: string, { split = pieces, unitsMax = pieceUnitsMax } = {}): boolean {
  const found = text.match(split)
  if (!found) return false
  const units = found.reduce((sum, piece) => sum + piece.length, 0)
  return units / found.length <= unitsMax
}

/** Letters of both cases and digits in random order; without a digit, if the text is long. */
export function isRandomMix(text: string): boolean {
  if (count(text, /[a-z]/g) < 2 || count(text, /[A-Z]/g) < 2) return false
  // Identifiers rarely have two numbers, and those that do are made of words: `convertBase64ToUint8Array`.
  const hasNumbers = count(text, /\d+/g) >= 2 && !isOfWords(text)
  const unitsMax = hasNumbers ? piecesWithNumbersMax : pieceUnitsMax
  if (!isRandom(text, { split: piecesOfMix, unitsMax })) return false
  // Times and numbers have few letters.
  const letters = count(text, /[A-Za-z]/g)
  const digits = count(text, /\d/g)
  return (digits > 0 && letters > digits / 2) || text.length >= 32
}

/** Whether most of the text is words of four letters and more. */
function isOfWords(text: string): boolean {
  const units = text.match(/[A-Z]?[a-z]{3,}/g)?.reduce((sum, word) => sum + word.length, 0) ?? 0
  return units > 0.6 * text.length
}

/** Random, or of both cases and digits without a separator, as long as keys are. For texts that a name announces. */
export function isKeyLike(text: string): boolean {
  if (isRandom(text)) return true
  return text.split(/[_.-]/).some((part) => {
    const digits = count(part, /\d/g)
    return part.length >= 14 && (digits >= 2 || (digits === 1 && /[a-z]/.test(part) && /[A-Z]/.test(part)))
  })
}

/** Base64 that stands for readable text is no random key. */
export function isReadableBase64(text: string): boolean {
  const bytes = Buffer.from(text, "base64")
  return bytes.length >= 12 && isUtf8(bytes) && !/[^\P{C}\n\r\t]/u.test(bytes.toString())
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
