import { StemmaError } from "../../src/protocol/index.ts"

/**
 * The outcome of a call: its value, or the code of its error. Cursors are left out, because each store has its own.
 */
export type Answer<T> = { value: T } | { error: string; details: Record<string, unknown> }

/** The error details that callers use, and that all drivers therefore return alike. */
const sharedDetails = ["length", "expiresAt"]

export async function answerOf<T>(call: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { value: await call() }
  } catch (error) {
    if (!StemmaError.is(error))
      throw new Error("A call failed with another error than a StemmaError.", { cause: error })
    if (error.code === "internal" || error.code === "unavailable") {
      throw new Error(`A call failed with ${error.code}: ${error.message}`, { cause: error })
    }
    const details = Object.entries(error.details ?? {}).filter(([name]) => sharedDetails.includes(name))
    return { error: error.code, details: Object.fromEntries(details) }
  }
}

/** A JSON value without cursors: the part on which two stores must agree. */
export function comparable(value: unknown): unknown {
  if (value === undefined) return undefined
  return JSON.parse(
    JSON.stringify(value, (key, inner: unknown) => (key === "cursor" || key === "next" ? undefined : inner)),
  )
}

/** The first difference between two JSON values, in words; undefined if they are equal. */
export function difference(expected: unknown, actual: unknown, path = ""): string | undefined {
  if (Object.is(expected, actual)) return undefined
  const bothObjects =
    typeof expected === "object" && expected !== null && typeof actual === "object" && actual !== null
  if (!bothObjects || Array.isArray(expected) !== Array.isArray(actual)) {
    return `${path || "the answer"}: expected ${short(expected)}, got ${short(actual)}`
  }
  const left = expected as Record<string, unknown>
  const right = actual as Record<string, unknown>
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    const found = difference(left[key], right[key], path ? `${path}.${key}` : key)
    if (found) return found
  }
  return undefined
}

function short(value: unknown): string {
  const text = value === undefined ? "nothing" : JSON.stringify(value)
  return text.length > 300 ? `${text.slice(0, 300)}...` : text
}
