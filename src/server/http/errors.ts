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

/** A refusal that has a status of its own. */
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

/** What a caller is told of a failure. Of one that nobody foresaw: nothing but that it happened. */
export function errorAnswer(error: unknown): ErrorAnswer {
  if (!StemmaError.is(error)) {
    const message = "Something went wrong in the server. Its log says what."
    return { status: 500, body: { code: "internal", message }, headers: {} }
  }
  const status = error instanceof HttpError ? error.status : statuses[error.code]
  const headers: Record<string, string> = error instanceof HttpError ? { ...error.headers } : {}
  if (status === 503) headers["retry-after"] ??= "1"
  const { code, message, details } = error
  return { status, body: { code, message, ...(details && { details: plain(details) }) }, headers }
}

/** Details may hold anything; only what JSON can say is sent. */
function plain(details: Record<string, unknown>): Record<string, unknown> {
  try {
    return JSON.parse(JSON.stringify(details)) as Record<string, unknown>
  } catch {
    return {}
  }
}
