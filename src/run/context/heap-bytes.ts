const objectBytes = 40
const arrayBytes = 48
const stringBytes = 24
const slotBytes = 8

const twoByteCharacter = /[\u0100-\uffff]/

/**
 * About how much of V8's heap a JSON value uses. Counts a string each time that it occurs, and a number as a slot of its
 * object.
 */
export function heapBytes(value: unknown): number {
  if (typeof value === "string") return stringBytes + textBytes(value)
  if (typeof value !== "object" || value === null) return 0
  if (Array.isArray(value)) {
    let sum = arrayBytes
    for (const element of value) sum += slotBytes + heapBytes(element)
    return sum
  }
  let sum = objectBytes
  for (const key in value) sum += slotBytes + heapBytes((value as Record<string, unknown>)[key])
  return sum
}

/** V8 stores a text in one byte for each unit unless a character needs two. */
function textBytes(text: string): number {
  return twoByteCharacter.test(text) ? text.length * 2 : text.length
}
