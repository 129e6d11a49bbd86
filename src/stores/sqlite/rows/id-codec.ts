import { type IDKind, idPrefix } from "../../../protocol/index.ts"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const digit = new Int8Array(128).fill(-1)
for (let i = 0; i < alphabet.length; i++) digit[alphabet.charCodeAt(i)] = i

const digitCodes = Uint8Array.from(alphabet, (one) => one.charCodeAt(0))

const prefixLength = 4
const ulidLength = 26

/** The digits of the id that is being decoded. Appending them to a string one by one takes three times as long. */
const scratch = Buffer.from("xxx_".padEnd(prefixLength + ulidLength))

/**
 * Encodes an id for storage and lookup: 16 bytes without the prefix for an id that Stemma created, the text for any
 * other id.
 */
export function encodeID(id: string): Uint8Array | string {
  if (id.length !== prefixLength + ulidLength || id.charCodeAt(3) !== 95) return id
  const bytes = Buffer.allocUnsafe(16)
  let buffer = 0
  let bits = 0
  let at = 0
  for (let i = prefixLength; i < id.length; i++) {
    const code = id.charCodeAt(i)
    const value = code < 128 ? digit[code]! : -1
    if (value < 0 || (i === prefixLength && value > 7)) return id
    // The first of the 26 digits holds three bits, each other digit five: 128 bits.
    buffer = (buffer << 5) | value
    bits += i === prefixLength ? 3 : 5
    if (bits >= 8) {
      bits -= 8
      bytes[at++] = buffer >>> bits
      buffer &= (1 << bits) - 1
    }
  }
  return bytes
}

/** Returns the id that `encodeID` encoded. */
export function decodeID(kind: IDKind, stored: unknown): string {
  if (typeof stored === "string") return stored
  const bytes = stored as Uint8Array
  const prefix = idPrefix[kind]
  for (let i = 0; i < prefix.length; i++) scratch[i] = prefix.charCodeAt(i)
  let buffer = 0
  // Two leading zero bits make 130 bits, which are 26 digits of five bits.
  let bits = 2
  let at = prefixLength
  for (let i = 0; i < 16; i++) {
    buffer = (buffer << 8) | bytes[i]!
    bits += 8
    while (bits >= 5) {
      bits -= 5
      scratch[at++] = digitCodes[buffer >>> bits]!
      buffer &= (1 << bits) - 1
    }
  }
  return scratch.toString("latin1")
}
