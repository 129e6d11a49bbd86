import { setFlagsFromString } from "node:v8"

/**
 * Makes V8 collect garbage earlier than by default, for a process that runs for days: see docs/decisions/server-memory.md.
 * Only a program may do this. A library must not change the settings of its process.
 */
export function keepHeapSmall(): void {
  // The space for new objects stays as it is. By default V8 lets it grow to 134 MB and keeps it while the server works.
  setFlagsFromString("--semi-space-growth-factor=1")
  // Old objects are collected when their space has grown by this much since the last collection; by default up to 300.
  setFlagsFromString("--heap-growing-percent=60")
  // The compiler in the middle needs up to 30 MB at a time, which stays with `malloc`. The last one makes code as fast.
  setFlagsFromString("--no-maglev")
}
