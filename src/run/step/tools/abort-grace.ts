/**
 * What the work gives, unless the signal is aborted and it does not end soon after: then it is given up with the signal's
 * reason, and whatever it does later concerns nobody.
 */
export async function withGrace<T>(work: Promise<T>, signal: AbortSignal, graceMs: number): Promise<T> {
  const given = Promise.withResolvers<never>()
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    timer = setTimeout(() => given.reject(signal.reason), graceMs)
  }
  if (signal.aborted) stop()
  else signal.addEventListener("abort", stop, { once: true })
  work.catch(() => {})
  given.promise.catch(() => {})
  try {
    return await Promise.race([work, given.promise])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener("abort", stop)
  }
}
