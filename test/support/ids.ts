import { createID, type IDKind, idPrefix } from "../../src/protocol/index.ts"

export interface Ids {
  next(kind: IDKind): string
}

/**
 * Ids that are the same in every run: most are ULIDs as Stemma makes them, some have shapes of other programs, which a
 * store must return unchanged (a name with a hyphen, capitals, 26 letters that are not a ULID).
 */
export function sampleIds(): Ids {
  let count = 0
  return {
    next(kind) {
      count++
      if (count % 11 === 3) return `${idPrefix[kind]}-${count}`
      if (count % 23 === 5)
        return `${idPrefix[kind]}_01JD0C7Q5X3V9K2M4N6P8R${count.toString().padStart(4, "0")}`
      if (count % 29 === 7)
        return `${idPrefix[kind]}_zzzzzzzzzzzzzzzzzzzzzz${count.toString().padStart(4, "0")}`
      return plainId(kind, count)
    },
  }
}

/** The ULID of a number; `space` separates the ids of several writers. */
export function plainId(kind: IDKind, count: number, space = 0): string {
  let digit = 0
  const digits = [...`${space.toString(32).padStart(6, "0")}${count.toString(32).padStart(10, "0")}`]
  return createID(
    kind,
    1_700_000_000_000 + count,
    () => (Number.parseInt(digits[digit++] ?? "0", 32) + 0.5) / 32,
  )
}
