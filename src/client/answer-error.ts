import { ErrorCode, StemmaError } from "../protocol/index.ts"

interface ErrorShape {
  code: ErrorCode
  message: string
  details?: Record<string, unknown>
}

/** The error that an answer tells of. */
export async function errorOf(response: Response): Promise<StemmaError> {
  const { status } = response
  const retryAfterMs = retryAfter(response.headers.get("retry-after"))
  const more = { status, ...(retryAfterMs !== undefined && { retryAfterMs }) }
  const body = parsed(await response.text().catch(() => ""))
  if (isErrorShape(body)) return toError(body, more)
  return new StemmaError(codeOf(status), `The server answered with status ${status} and no reason.`, {
    details: more,
  })
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

/** What a status means where something between here and the server answers. */
function codeOf(status: number): ErrorCode {
  if (status === 401 || status === 403) return "denied"
  if (status === 404) return "not_found"
  if (status === 409) return "conflict"
  if (status === 501) return "unsupported"
  if (status === 408 || status === 429 || (status >= 502 && status <= 504)) return "unavailable"
  return status >= 500 ? "internal" : "invalid"
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
