/**
 * Waits for the work. If the work has not ended within `graceMs` after an abort, throws the signal's reason and ignores
 * the work's later result or error.
 */
export async function withGrace<T>(work: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  const abandoned = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    timer = setTimeout(() => abandoned.reject(signal.reason), graceMs)
  }
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  work.catch(() => {})
  abandoned.promise.catch(() => {})
  try {
    return await Promise.race([work, abandoned.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", stop)
  }
}
