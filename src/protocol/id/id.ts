import { ulid } from "ulid"
import { z } from "zod"
import { type IDKind, idPattern, idPrefix } from "./id-prefix.ts"

function idSchema(kind: IDKind) {
  return z
    .string()
    .regex(idPattern(kind), `expected a ${kind} id such as ${idPrefix[kind]}_01jd0c7q5x3v9k2m4n6p8r0s1t`)
}

export const SessionID = idSchema("session")
export const MessageID = idSchema("message")
export const PartID = idSchema("part")
export const SegmentID = idSchema("segment")
export const PermissionID = idSchema("permission")

/** The source of time for everything that must be reproducible in a test. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds since any moment, which never go back; `performance.now()` if absent. */
  monotonic?(): number
}

export const systemClock: Clock = { now: () => Date.now() }

export function monotonicMs(clock: Clock): number {
  return clock.monotonic ? clock.monotonic() : performance.now()
}

const pool = new Uint8Array(1024)
let unused = 0

/**
 * A number in [0, 1) from the system's secure random source. Reads 1,024 bytes at a time: one call for each number is
 * slow.
 */
export function secureRandom(): number {
  if (unused === 0) {
    crypto.getRandomValues(pool)
    unused = pool.length
  }
  unused -= 1
  return pool[unused]! / 256
}

/** A new id. `random` returns a number in [0, 1); without it the system's secure source is used. */
export function createID(kind: IDKind, nowMs: number, random: () => number = secureRandom): string {
  return `${idPrefix[kind]}_${ulid(nowMs, random).toLowerCase()}`
}
