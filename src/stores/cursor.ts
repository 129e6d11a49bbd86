import { parseJson, StemmaError } from "../protocol/index.ts"
import { invalidPosition } from "./refusals.ts"

/**
 * A cursor contains the id of its store, so that a cursor of another store is recognised. A cursor that is newer than
 * the store is recognised too: the store was restored from a backup.
 */
export function encodeCursor(storeID: string, version: number): string {
  return `${storeID}.${version.toString(36)}`
}

/** Returns the version in a cursor of this store, and 0 without a cursor. `invalid` for a cursor of another store. */
export function decodeCursor(storeID: string, cursor: string | undefined, newest: number): number {
  if (cursor === undefined) return 0
  const match = /^([0-9a-z]{1,32})\.([0-9a-z]{1,11})$/.exec(cursor)
  const version = match ? Number.parseInt(match[2]!, 36) : Number.NaN
  if (!match || match[1] !== storeID || !(version <= newest)) {
    throw new StemmaError(
      "invalid",
      "The cursor belongs to another store, or is newer than this store, which happens after a restore from a backup. Start again without a cursor.",
      { details: { cursor } },
    )
  }
  return version
}

/** Encodes the position of a page. `kind` names the listing, so that a cursor of another listing is recognised. */
export function encodePage(kind: string, values: (string | number)[]): string {
  return Buffer.from(JSON.stringify([kind, ...values])).toString("base64url")
}

/** Returns the values that `encodePage` encoded. `invalid` for a cursor of another listing. */
export function decodePage(kind: string, cursor: string): (string | number)[] {
  try {
    const value = parseJson(Buffer.from(cursor, "base64url").toString("utf8"))
    if (Array.isArray(value) && value[0] === kind) return value.slice(1) as (string | number)[]
  } catch {
    // The error below also covers a cursor that is not JSON.
  }
  throw new StemmaError(
    "invalid",
    "The page cursor belongs to another listing. Start again without a cursor.",
    {
      details: { cursor },
    },
  )
}

/** Returns the limit, or the standard limit if absent. `invalid` outside 1 to `max`. */
export function checkLimit(limit: number | undefined, bounds: { standard: number; max: number }): number {
  if (limit === undefined) return bounds.standard
  if (Number.isInteger(limit) && limit >= 1 && limit <= bounds.max) return limit
  throw new StemmaError(
    "invalid",
    `The limit is ${limit}, but must be a whole number from 1 to ${bounds.max}. Use a smaller limit and read further pages.`,
    {
      details: { limit },
    },
  )
}

/** Returns the position. `invalid` unless it is a whole number from 0 on. */
export function checkPosition(position: number | undefined): number | undefined {
  if (position === undefined || (Number.isSafeInteger(position) && position >= 0)) return position
  throw invalidPosition(position)
}

/** Returns the time. `invalid` unless it is a finite number. */
export function checkTime(timeMs: number): number {
  if (Number.isFinite(timeMs)) return timeMs
  throw new StemmaError(
    "invalid",
    `The time bound is ${timeMs}, but must be a number of milliseconds. Pass a number, or leave the bound out.`,
    {
      details: { timeMs: String(timeMs) },
    },
  )
}
