/**
 * Makes the runs of a property that begin after `limitMs` empty, so that the test takes no longer on a busy machine. A
 * run that has begun is always awaited; fast-check's own limit would abandon it. After a failure there is no limit, so
 * that the counterexample can shrink.
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
