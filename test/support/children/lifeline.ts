/**
 * Ends the process when the one that started it is gone, and in any case after a while: no test leaves one behind.
 * A script that is done calls `process.disconnect()`.
 */
export function dieWithParent(limitMs = 120_000): void {
  process.once("disconnect", () => process.exit())
  setTimeout(() => process.exit(1), limitMs).unref()
}
