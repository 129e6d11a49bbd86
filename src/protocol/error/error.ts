import type { z } from "zod"
import type { ErrorCode } from "./error-code.ts"

const marker = Symbol.for("stemma.error")

/** The only error class of Stemma. `message` is a sentence that says what is wrong and what to do. */
export class StemmaError extends Error {
  readonly code: ErrorCode
  readonly details: Record<string, unknown> | undefined
  readonly [marker] = true

  constructor(
    code: ErrorCode,
    message: string,
    options?: { details?: Record<string, unknown>; cause?: unknown },
  ) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause })
    this.name = "StemmaError"
    this.code = code
    this.details = options?.details
  }

  /** True for a StemmaError of any copy of this package. With `code`, true only for an error with that code. */
  static is(value: unknown, code?: ErrorCode): value is StemmaError {
    return (
      typeof value === "object" &&
      value !== null &&
      (value as Record<symbol, unknown>)[marker] === true &&
      (code === undefined || (value as StemmaError).code === code)
    )
  }
}

/**
 * Parses `value` with zod. Throws `invalid`, naming the first wrong field, when the value does not match the schema.
 */
export function parseOrInvalid<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  const path = issue?.path.map(String).join(".")
  throw new StemmaError(
    "invalid",
    `${what} is not valid${path ? ` at ${path}` : ""}: ${issue?.message ?? "unknown"}`,
    { details: { issues: result.error.issues.slice(0, 10) } },
  )
}
