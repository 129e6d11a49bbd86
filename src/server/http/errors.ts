import { type ErrorCode, StemmaError } from "../../protocol/index.ts"

const statuses: Record<ErrorCode, number> = {
  invalid: 400,
  denied: 403,
  not_found: 404,
  conflict: 409,
  internal: 500,
  unsupported: 501,
  unavailable: 503,
}

export function statusOf(code: ErrorCode): number {
  return statuses[code]
}

/** An error with its own HTTP status. */
export class HttpError extends StemmaError {
  readonly status: number
  readonly headers: Record<string, string>

  constructor(
    status: number,
    message: string,
    options?: { code?: ErrorCode; headers?: Record<string, string>; details?: Record<string, unknown> },
  ) {
    super(options?.code ?? "invalid", message, options?.details ? { details: options.details } : {})
    this.status = status
    this.headers = options?.headers ?? {}
  }
}

export interface ErrorBody {
  code: ErrorCode
  message: string
  details?: Record<string, unknown>
}

export interface ErrorAnswer {
  status: number
  body: ErrorBody
  headers: Record<string, string>
}

/** The status and body of an error. For an unexpected error the body has no details, because they may be private. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (!StemmaError.is(error)) {
    const message = "The server failed with an internal error. Its log has the details."
    return { status: 500, body: { code: "internal", message }, headers: {} }
  }
  const status = error instanceof HttpError ? error.status : statuses[error.code]
  const headers: Record<string, string> = error instanceof HttpError ? { ...error.headers } : {}
  if (status === 503) headers["retry-after"] ??= "1"
  const { code, message, details } = error
  return { status, body: { code, message, ...(details && { details: jsonOnly(details) }) }, headers }
}

/** Details may be any value; the answer has only what JSON can represent. */
function jsonOnly(details: Record<string, unknown>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(details)) as Record<string, unknown>
  } catch {
    return {}
  }
}
