import { type ErrorCode, StemmaError } from "../../../protocol/index.ts"
import type { ErrorAnswer } from "../../http/errors.ts"

const names: Record<ErrorCode, string> = {
  invalid: "BadRequest",
  denied: "ForbiddenError",
  not_found: "NotFoundError",
  conflict: "ConflictError",
  internal: "UnknownError",
  unsupported: "UnknownError",
  unavailable: "ServiceUnavailableError",
}

const kinds: Record<string, string> = { path: "Params", query: "Query", body: "Body" }

/** An error that has its own name and fields in the OpenCode client. */
export interface NamedFailure {
  name: "SessionBusyError" | "PermissionNotFoundError"
  fields: Record<string, string>
}

/** The same error with another name for the OpenCode client. */
export function withWireName(error: unknown, failure: { code: ErrorCode } & NamedFailure): unknown {
  if (!StemmaError.is(error, failure.code)) return error
  const { name, fields } = failure
  return new StemmaError(error.code, error.message, { details: { failure: { name, fields } }, cause: error })
}

/** A conflict means that another process writes the session, which the OpenCode client calls busy. */
export async function withBusyError<T>(sessionID: string, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    throw withWireName(error, { code: "conflict", name: "SessionBusyError", fields: { sessionID } })
  })
}

/**
 * An error in the shape of the OpenCode client. It reads `data.message` and `name`; some of its types have `_tag`
 * instead.
 */
export function errorBody({ status, body }: ErrorAnswer): Record<string, unknown> {
  const { code, message, details } = body
  const failure = details?.failure as NamedFailure | undefined
  const name = failure?.name ?? (status === 401 ? "UnauthorizedError" : names[code])
  const kind = kindOf(details)
  return {
    name,
    _tag: name,
    ...failure?.fields,
    data: { message, ...(kind !== undefined && { kind }) },
    code,
    message,
  }
}

/** Which part of the request is wrong, by the OpenCode client's names. */
function kindOf(details: Record<string, unknown> | undefined): string | undefined {
  const issues = details?.issues
  if (!Array.isArray(issues)) return undefined
  const path = (issues[0] as { path?: unknown } | undefined)?.path
  return Array.isArray(path) ? kinds[String(path[0])] : undefined
}

/** Throws the error of a search as `unavailable`. */
export function throwUnavailable(error: unknown): never {
  if (StemmaError.is(error)) throw error
  const isLate = (error as Error).name === "TimeoutError"
  const message = isLate
    ? "The search took too long and was stopped. Search a smaller directory."
    : (error as Error).message
  throw new StemmaError("unavailable", message, { cause: error })
}
