/**
 * Makes the runs of a property that begin after `limitMs` empty, so that a busy machine takes no longer; one that has begun
 * is never left alone, as fast-check would with its own limit. After a failure there is no limit: it is made smaller.
 */
export function timedRuns<T extends unknown[]>(
  limitMs: number,
  run: (...values: T) => Promise<void>,
): { run: (...values: T) => Promise<void>; count: () => number } {
  const end = performance.now() + limitMs
  let count = 0
  let hasFailed = false
  return {
    count: () => count,
    async run(...values) {
      if (!hasFailed && performance.now() > end) return
      count++
      try {
        await run(...values)
      } catch (error) {
        hasFailed = true
        throw error
      }
    },
  }
}
