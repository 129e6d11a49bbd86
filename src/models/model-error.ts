import type { MessageError, ModelRef } from "../protocol/index.ts"

/**
 * Why a model call failed. `auth`: the key is missing or wrong. `rate`: too many requests. `server`: the provider
 * failed. `network`: the connection failed or broke. `malformed`: the stream was cut off or could not be parsed.
 * `stalled`: the idle timeout passed. `context`: the context is too long for the model. `refused`: the provider
 * rejected the request. `aborted`: the caller aborted the call.
 */
export type ModelErrorKind =
  | "auth"
  | "rate"
  | "server"
  | "network"
  | "malformed"
  | "stalled"
  | "context"
  | "refused"
  | "aborted"

const retryable: Record<ModelErrorKind, boolean> = {
  auth: false,
  rate: true,
  server: true,
  network: true,
  malformed: true,
  stalled: true,
  context: false,
  refused: false,
  aborted: false,
}

export interface ModelErrorOptions {
  statusCode?: number
  /** How long the provider asks the caller to wait before a retry. */
  retryAfterMs?: number
  /** Request ids and rate limits only; never a cookie or a key. */
  responseHeaders?: Record<string, string>
  responseBody?: string
  /** Overrides the default of the kind. */
  isRetryable?: boolean
  cause?: unknown
}

/** `message` is a sentence for users, with secrets masked. */
export class ModelError extends Error {
  readonly kind: ModelErrorKind
  readonly isRetryable: boolean
  readonly statusCode: number | undefined
  readonly retryAfterMs: number | undefined
  readonly responseHeaders: Record<string, string> | undefined
  readonly responseBody: string | undefined

  constructor(kind: ModelErrorKind, message: string, options: ModelErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "ModelError"
    this.kind = kind
    this.isRetryable = options.isRetryable ?? retryable[kind]
    this.statusCode = options.statusCode
    this.retryAfterMs = options.retryAfterMs
    this.responseHeaders = options.responseHeaders
    this.responseBody = options.responseBody
  }

  /** The error in the form that a message or a retry part stores. */
  toMessageError(ref: ModelRef): MessageError {
    const { message, statusCode, isRetryable, responseHeaders, responseBody } = this
    switch (this.kind) {
      case "auth":
        return { name: "ProviderAuthError", data: { providerID: ref.providerID, message } }
      case "context":
        return { name: "ContextOverflowError", data: { message } }
      case "aborted":
        return { name: "MessageAbortedError", data: { message } }
      default:
        return {
          name: "APIError",
          data: {
            message,
            isRetryable,
            ...(statusCode !== undefined && { statusCode }),
            ...(responseHeaders && { responseHeaders }),
            ...(responseBody !== undefined && { responseBody }),
          },
        }
    }
  }
}
