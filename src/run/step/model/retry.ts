import { ModelError } from "../../../models/model-error.ts"
import type { Timing } from "../../engine.ts"

/**
 * How long to wait before a failed call is tried again; undefined if it is not. `attempt` counts the tries that failed.
 * What the provider asks for is honoured; else 2 s, doubling, with up to a quarter less or more, at most 30 s.
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

/** The error that ends the answer when a call is not tried again: beside what failed it says why that was the last try. */
export function givenUp(error: ModelError, attempt: number, options: { timing: Timing }): ModelError {
  const { retriesMax, retryAfterMaxMs } = options.timing
  if (!error.isRetryable) return error
  const wait = error.retryAfterMs ?? 0
  if (attempt <= retriesMax && wait > retryAfterMaxMs) {
    return saying(error, `The provider asks to wait ${durationText(wait)}: send the prompt again after that.`)
  }
  return attempt > 1 ? saying(error, `It was tried ${attempt} times.`) : error
}

function saying(error: ModelError, sentence: string): ModelError {
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

/** Waits, or throws the signal's reason. */
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
