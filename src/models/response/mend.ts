/**
 * Returns the value itself if it is as expected, another value that stands for it, or undefined to remove the field.
 */
export type Mend = (value: unknown, change: Change) => unknown

export interface Change {
  isChanged: boolean
}

export type Fields = Record<string, unknown>

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null
}

/** No answer has as many tokens: a larger count is wrong. */
export const tokensMax = 1_000_000_000

/**
 * The count for a count that is wrong. However a package adds or subtracts other counts, the sum is not valid either.
 */
const wrongCount = Number.MIN_SAFE_INTEGER

export function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value <= tokensMax
}

export const text: Mend = (value) => (isNothing(value) || typeof value === "string" ? value : undefined)

export const number: Mend = (value) => (isNothing(value) || typeof value === "number" ? value : undefined)

/** A count that is only a detail of another: a wrong one is removed. */
export const detail: Mend = (value) => (isNothing(value) || isCount(value) ? value : undefined)

/** A count that makes all counts of the answer wrong if it is wrong. */
export const count: Mend = (value) => (isNothing(value) || isCount(value) ? value : wrongCount)

/** The same, for a package that needs the count. */
export const neededCount: Mend = (value) => (isCount(value) ? value : wrongCount)

/** Metadata that no call of Stemma asks for and that nothing reads. */
export const unused: Mend = (value) => (isNothing(value) ? value : undefined)

/** A value of this type, or else the standard value. */
export function needed(type: "string" | "number", standard: unknown): Mend {
  return (value) => (typeof value === type ? value : standard)
}

/** A text, or else the standard text, unless there is no value. */
export function textOr(standard: string): Mend {
  return (value) => (isNothing(value) || typeof value === "string" ? value : standard)
}

/** Keeps a value that passes the check. */
export function valid(check: (value: unknown) => boolean): Mend {
  return (value) => (isNothing(value) || check(value) ? value : undefined)
}

/** Mends the named fields of an object in place and leaves the others. A value that is not an object is removed. */
export function fields(mends: Record<string, Mend>): Mend {
  const entries = Object.entries(mends)
  return (value, change) => {
    if (!isFields(value)) return isNothing(value) ? value : undefined
    for (const [name, mend] of entries) {
      const before = value[name]
      const after = mend(before, change)
      if (after === before) continue
      change.isChanged = true
      if (after === undefined) delete value[name]
      else value[name] = after
    }
    return value
  }
}

/** Like `fields`, for a package that needs the object. */
export function neededFields(mends: Record<string, Mend>): Mend {
  const mend = fields(mends)
  return (value, change) => mend(isFields(value) ? value : {}, change)
}

/** Mends each object of a list in place. */
export function each(mend: Mend): Mend {
  return (value, change) => {
    if (Array.isArray(value)) for (const one of value) mend(one, change)
    return value
  }
}
