import { StemmaError } from "../protocol/error/error.ts"
import type { ErrorCode } from "../protocol/error/error-code.ts"
import { errorCodes } from "../protocol/error/error-codes.ts"

interface ErrorShape {
  code: ErrorCode
  message: string
  details?: Record<string, unknown>
}

/**
 * The error that an answer contains. A status without an error body says nothing about the session or the caller: a
 * proxy also answers with such a status while the server behind it restarts.
 */
export async function errorOf(response: Response): Promise<StemmaError> {
  const { status } = response
  const retryAfterMs = retryAfter(response.headers.get("retry-after"))
  const more = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  const body = parseJson(await response.text().catch(() => ""))
  if (isErrorShape(body)) return toError(body, more)
  return new StemmaError(
    "unavailable",
    `The answer has status ${status} and does not come from Stemma. Check the address, and that the server runs.`,
    { details: more },
  )
}

/**
 * A `slow` route sends its headers before it knows the result, so the body of an answer with status 200 may be an
 * error.
 */
export function throwIfError(body: unknown): void {
  if (isErrorShape(body)) throw toError(body, {})
}

export function toError(shape: ErrorShape, more: Record<string, unknown>): StemmaError {
  const details = { ...shape.details, ...more }
  return new StemmaError(
    shape.code,
    shape.message,
    Object.keys(details).length === 0 ? undefined : { details },
  )
}

export function isErrorShape(value: unknown): value is ErrorShape {
  if (typeof value !== "object" || value === null) return false
  const { code, message, details } = value as Record<string, unknown>
  const isPlain = details === undefined || (typeof details === "object" && details !== null)
  return errorCodes.some((known) => known === code) && typeof message === "string" && isPlain
}

/** How long the server asks the client to wait before the next request. */
export function retryAfterOf(error: unknown): number | undefined {
  const delayMs = StemmaError.is(error) ? error.details?.retryAfterMs : undefined
  return typeof delayMs === "number" ? delayMs : undefined
}

/** True if a retry may help: the request itself is fine. */
export function isTemporary(error: unknown): boolean {
  return StemmaError.is(error, "unavailable") || StemmaError.is(error, "internal")
}

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - Date.now())
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
