import type { ModelRef } from "../../protocol/index.ts"
import type { Mask } from "../adapter/mask-secrets.ts"
import { ModelError, type ModelErrorKind, type ModelErrorOptions } from "../model-error.ts"
import { retryAfterMs } from "./retry-after.ts"

/** The call that failed. */
export interface FailedCall {
  ref: ModelRef
  mask: Mask
  /** Where the key comes from, for the error text: `OPENAI_API_KEY`. */
  keyName?: string
  /** Headers of the response whose stream failed. */
  responseHeaders?: Record<string, string>
}

const bodyCharactersMax = 2048
const detailCharactersMax = 500
/** Longer error bodies are cut before they are parsed or masked. */
const readCharactersMax = 64 * 1024

const usefulHeader = /^(retry-after(-ms)?|x-request-id|request-id|x-ratelimit-.+)$/

/**
 * Error texts for a context that is too long: OpenAI, Anthropic, Google, Ollama, vLLM, llama.cpp, LM Studio and others.
 */
const contextWording = [
  /context_length_exceeded/i,
  /exceed_context_size/i,
  /maximum (context|prompt|model) length/i,
  /max(imum)? context (length|size)/i,
  /context[ _](length|window|size|limit)s?\b.{0,40}exceed/i,
  /exceed\w*.{0,60}context[ _](length|window|size|limit)/i,
  /prompt is too long/i,
  /input is too long/i,
  /prompt too long/i,
  /input token count.{0,40}exceeds/i,
  /(input|prompt) (length|tokens?).{0,60}exceed/i,
  /exceed\w* (the )?(model('s)? )?(maximum )?(number of )?(input )?token(s)? (limit|allowed)/i,
  /exceeded model token limit/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /tokens to keep from the initial prompt is greater than the context length/i,
  /too large for model with \d+ maximum/i,
]

const networkCode =
  /^(E(CONN|HOST|NET|PIPE|TIMEDOUT|AI_|PROTO|ADDR)\w*|ENOTFOUND|UND_ERR_\w+|CERT_\w+|DEPTH_ZERO\w*|SELF_SIGNED\w*|ERR_TLS\w*|ERR_SSL\w*|UNABLE_TO\w*)$/

/**
 * Converts a thrown value, or an error event in the stream, to a ModelError with secrets masked. The cause is dropped,
 * because it holds the request.
 */
export function classifyError(error: unknown, call: FailedCall): ModelError {
  const own = modelErrorIn(error)
  if (own) return own
  const network = networkFailure(error)
  if (network !== undefined) {
    return new ModelError(
      "network",
      sentence(call, `The connection to ${call.ref.providerID} failed: ${network}`),
    )
  }
  const facts = factsOf(error)
  const status = facts.status
  if (status !== undefined && (status < 200 || status >= 300)) return statusError({ ...facts, status }, call)
  if (isContextWording(facts)) return statusError({ ...facts, status: 400 }, call)
  if (facts.isProviders) return statusError({ ...facts, status: statusFromWords(facts) }, call)
  if (refusedByPackage.has(facts.name) || /invalid header (value|name)|ByteString/.test(facts.message)) {
    return new ModelError(
      "refused",
      sentence(call, `${nameOf(call)} cannot take this request: ${facts.message}`),
    )
  }
  if (/ended without a finish reason/.test(facts.message)) return cutOff(call)
  return new ModelError(
    "malformed",
    sentence(call, `The answer of ${nameOf(call)} made no sense: ${facts.message}`),
  )
}

/** The ModelError that a provider's package has put into an error of its own, such as that of a bounded body. */
function modelErrorIn(error: unknown): ModelError | undefined {
  let current: unknown = error
  for (let depth = 0; depth < 6 && current instanceof Error; depth++) {
    if (current instanceof ModelError) return current
    current = current.cause
  }
  return undefined
}

/** The stream ended before the model had finished. */
export function cutOff({ ref }: { ref: ModelRef }): ModelError {
  return new ModelError(
    "malformed",
    `The answer of ${ref.providerID}/${ref.modelID} was cut off before its end.`,
  )
}

/** Errors that a provider's package throws before it sends a request that cannot work. */
const refusedByPackage: ReadonlySet<string> = new Set([
  "AI_UnsupportedFunctionalityError",
  "AI_InvalidPromptError",
  "AI_InvalidArgumentError",
  "AI_LoadAPIKeyError",
  "AI_NoSuchModelError",
])

interface Facts {
  name: string
  message: string
  status: number | undefined
  /** Codes and types such as `rate_limit_error`, joined by spaces. */
  words: string
  headers: Record<string, string>
  body: string
  data: unknown
  /** True if the provider sent this error in its stream. */
  isProviders: boolean
}

function factsOf(error: unknown): Facts {
  const value = recordOf(error)
  const data = value.data ?? error
  const inner = recordOf(recordOf(data).error ?? data)
  const responseBody =
    typeof value.responseBody === "string" ? value.responseBody.slice(0, readCharactersMax) : undefined
  const answered = responseBody === undefined ? undefined : reasonIn(responseBody)
  const name = error instanceof Error ? error.name : ""
  return {
    name,
    message:
      answered ?? textOf(value.message) ?? textOf(inner.message) ?? textOf(error) ?? "no reason was given",
    status: statusOf(value.statusCode) ?? statusOf(value.code) ?? statusOf(value.status),
    words: [value.code, value.type, value.status, inner.code, inner.type, inner.status]
      .filter((word) => typeof word === "string")
      .join(" "),
    headers: recordOf(value.responseHeaders) as Record<string, string>,
    body: responseBody ?? (error instanceof Error ? "" : jsonOf(data).slice(0, readCharactersMax)),
    data: responseBody === undefined ? data : parsed(responseBody),
    isProviders: typeof error === "string" || (value === error && !(error instanceof Error)),
  }
}

function statusError(facts: Facts & { status: number }, call: FailedCall): ModelError {
  const kind = kindOf(facts)
  const headers = { ...call.responseHeaders, ...facts.headers }
  const wait = retryAfterMs({ headers, body: facts.data, nowMs: Date.now() })
  const kept = usefulHeaders(headers, call.mask)
  const options: ModelErrorOptions = {
    statusCode: facts.status,
    ...(wait !== undefined && { retryAfterMs: wait }),
    ...(Object.keys(kept).length > 0 && { responseHeaders: kept }),
    ...(facts.body !== "" && { responseBody: call.mask(facts.body).slice(0, bodyCharactersMax) }),
    ...(kind === "rate" && isOutOfMoney(facts) && { isRetryable: false }),
  }
  return new ModelError(kind, sentence(call, `${statusPhrase(kind, facts, call)}: ${facts.message}`), options)
}

function statusPhrase(kind: ModelErrorKind, { status, headers }: Facts, call: FailedCall): string {
  const provider = call.ref.providerID
  switch (kind) {
    case "auth": {
      const where = call.keyName === undefined ? "" : `, see ${call.keyName}`
      return `${provider} did not accept the key (${status}${where})`
    }
    case "rate":
      return `${provider} allows no more requests for now (${status})`
    case "context":
      return `The context is too long for ${nameOf(call)}`
    case "server":
      return `${provider} failed (${status})`
    default:
      if (status !== undefined && status >= 300 && status < 400) {
        return `${provider} points to another address, which is not followed; set its baseURL (${status} ${headers.location ?? ""})`
      }
      return `${provider} refused the request (${status})`
  }
}

function kindOf(facts: Facts & { status: number }): ModelErrorKind {
  const { status } = facts
  if (status === 401 || status === 403) return "auth"
  if (status === 429) return "rate"
  if (status === 413) return "context"
  if (status === 408 || status === 409 || status >= 500) return isContextWording(facts) ? "context" : "server"
  if ((status === 400 || status === 422) && isContextWording(facts)) return "context"
  // Google answers a wrong key with 400.
  if (
    status === 400 &&
    /api[ _]key[ _](not valid|invalid)|API_KEY_INVALID/i.test(facts.message + facts.body)
  ) {
    return "auth"
  }
  return "refused"
}

function isContextWording({ words, message, body }: Facts): boolean {
  const shown = 4 * bodyCharactersMax
  const text = `${words}\n${message.slice(0, shown)}\n${body.slice(0, shown)}`
  return contextWording.some((pattern) => pattern.test(text))
}

function isOutOfMoney({ words, message, body }: Facts): boolean {
  return /insufficient_quota|credit balance is too low/i.test(`${words} ${message} ${body}`)
}

/** The HTTP status that fits an error inside a stream; 500 if its words do not tell. */
function statusFromWords({ words, message }: Facts): number {
  const text = words === "" ? message : words
  if (/rate.?limit|too many|quota|RESOURCE_EXHAUSTED/i.test(text)) return 429
  if (/overload/i.test(text)) return 529
  if (/authentication|UNAUTHENTICATED|invalid.?api.?key/i.test(text)) return 401
  if (/permission/i.test(text)) return 403
  if (/invalid.?request|bad.?request|INVALID_ARGUMENT|not.?found/i.test(text)) return 400
  return 500
}

/** Why the connection failed or broke; undefined if the error is not a network error. */
function networkFailure(error: unknown): string | undefined {
  let current: unknown = error
  for (let depth = 0; depth < 6 && current instanceof Error; depth++) {
    const code = (current as { code?: unknown }).code
    if (typeof code === "string" && networkCode.test(code))
      return `${current.message || "no details"} (${code})`
    // undici throws this when the response body ends early.
    if (current instanceof TypeError && current.message === "terminated") return "it was closed in the middle"
    if (current instanceof TypeError && current.message === "fetch failed" && current.cause === undefined) {
      return "no details"
    }
    if (current instanceof AggregateError && current.errors.length > 0) current = current.errors[0]
    else current = current.cause
  }
  return undefined
}

function usefulHeaders(headers: Record<string, string>, mask: Mask): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (usefulHeader.test(name.toLowerCase())) kept[name.toLowerCase()] = mask(String(value)).slice(0, 200)
  }
  return kept
}

function nameOf({ ref }: FailedCall): string {
  return `${ref.providerID}/${ref.modelID}`
}

/** One line with secrets masked, cut to 500 characters, that ends with a full stop. */
function sentence(call: FailedCall, text: string): string {
  const line = call.mask(text.slice(0, readCharactersMax)).replace(/\s+/g, " ").trim()
  const cut = line.length > detailCharactersMax ? `${line.slice(0, detailCharactersMax)}…` : line
  return /[.!?…]$/.test(cut) ? cut : `${cut}.`
}

/** The error message in a response body, in the forms that servers use; undefined for an HTML page. */
function reasonIn(body: string): string | undefined {
  const whole = parsed(body)
  if (whole === undefined)
    return body.trimStart().startsWith("<") ? undefined : textOf(body.slice(0, bodyCharactersMax))
  const { error, message, detail } = recordOf(Array.isArray(whole) ? whole[0] : whole)
  return textOf(recordOf(error).message) ?? textOf(error) ?? textOf(message) ?? textOf(detail)
}

function statusOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value
  return typeof number === "number" && number >= 100 && number < 600 ? number : undefined
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined
}

function jsonOf(value: unknown): string {
  try {
    return typeof value === "string" ? value : (JSON.stringify(value) ?? "")
  } catch {
    return ""
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
