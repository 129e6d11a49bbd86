/**
 * Ends the process when its parent is gone, and in any case after a while, so that no test leaves a process behind. A
 * script that is done calls `process.disconnect()`.
 */
export function dieWithParent(limitMs = 120_000): void {
  process.once("disconnect", () => process.exit())
  setTimeout(() => process.exit(1), limitMs).unref()
}
