import type { Clock } from "../../src/protocol/index.ts"

/** A clock that moves only when a test moves it. */
export interface ManualClock extends Clock {
  advance(ms: number): void
}

export function manualClock(startMs = 1_800_000_000_000): ManualClock {
  let now = startMs
  return {
    now: () => now,
    advance(ms) {
      now += ms
    },
  }
}
