import { ErrorCode, StemmaError } from "../protocol/index.ts"

interface ErrorShape {
  code: ErrorCode
  message: string
  details?: Record<string, unknown>
}

/**
 * The error that an answer tells of. A status alone says nothing of the session or the caller: a proxy gives it too while
 * the server behind it is replaced.
 */
export async function errorOf(response: Response): Promise<StemmaError> {
  const { status } = response
  const retryAfterMs = retryAfter(response.headers.get("retry-after"))
  const more = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  const body = parsed(await response.text().catch(() => ""))
  if (isErrorShape(body)) return toError(body, more)
  return new StemmaError(
    "unavailable",
    `The answer has status ${status} and is none of Stemma's. See whether the address is right and the server runs.`,
    { details: more },
  )
}

/** A body that came after the headers said that all is well may be an error too. */
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
  return ErrorCode.safeParse(code).success && typeof message === "string" && isPlain
}

/** How long a server that is busy wants to be left alone. */
export function retryAfterOf(error: unknown): number | undefined {
  const told = StemmaError.is(error) ? error.details?.retryAfterMs : undefined
  return typeof told === "number" ? told : undefined
}

/** True if asking again may help: nothing is wrong with the request. */
export function isPassing(error: unknown): boolean {
  return StemmaError.is(error, "unavailable") || StemmaError.is(error, "internal")
}

function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined
  if (/^\d+$/.test(header)) return Number(header) * 1000
  const atMs = Date.parse(header)
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - Date.now())
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
