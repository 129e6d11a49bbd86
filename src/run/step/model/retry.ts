import { ModelError } from "../../../models/model-error.ts"
import type { Timing } from "../../engine.ts"

/**
 * How long to wait before a failed call is tried again; undefined if it is not retried. `attempt` counts the failed
 * attempts. A delay that the provider asks for is honoured. Otherwise the delay starts at 2 s and doubles, with a
 * jitter of a quarter, up to 30 s.
 */
export function retryDelayMs(
  error: ModelError,
  attempt: number,
  options: { timing: Timing; random: () => number },
): number | undefined {
  const { timing } = options
  if (!error.isRetryable || attempt > timing.retriesMax) return undefined
  if (error.retryAfterMs !== undefined) {
    return error.retryAfterMs > timing.retryAfterMaxMs ? undefined : error.retryAfterMs
  }
  const delay = Math.min(timing.retryBaseMs * 2 ** (attempt - 1), timing.retryMaxMs)
  return Math.min(delay * (0.75 + options.random() / 2), timing.retryMaxMs)
}

/** The error for a call that is not tried again. It also says why this attempt was the last. */
export function finalError(error: ModelError, attempt: number, options: { timing: Timing }): ModelError {
  const { retriesMax, retryAfterMaxMs } = options.timing
  if (!error.isRetryable) return error
  const wait = error.retryAfterMs ?? 0
  if (attempt <= retriesMax && wait > retryAfterMaxMs) {
    return withSentence(
      error,
      `The provider asks to wait ${durationText(wait)}: send the prompt again after that.`,
    )
  }
  return attempt > 1 ? withSentence(error, `The call was tried ${attempt} times.`) : error
}

function withSentence(error: ModelError, sentence: string): ModelError {
  const { kind, message, statusCode, retryAfterMs, responseHeaders, responseBody, isRetryable } = error
  return new ModelError(kind, `${message} ${sentence}`, {
    isRetryable,
    ...(statusCode !== undefined && { statusCode }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(responseHeaders && { responseHeaders }),
    ...(responseBody !== undefined && { responseBody }),
  })
}

function durationText(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  return minutes < 180 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`
}

/** Throws the signal's reason if it is aborted meanwhile. */
export async function waitMs(ms: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  const waiting = Promise.withResolvers<void>()
  const timer = setTimeout(waiting.resolve, ms)
  const stop = () => waiting.reject(signal.reason)
  signal.addEventListener("abort", stop, { once: true })
  try {
    await waiting.promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", stop)
  }
}
