import { StemmaError } from "../protocol/index.ts"
import { notAPosition } from "./refusals.ts"

/** A cursor contains the id of its store, so that a cursor of another store is refused. */
export function encodeCursor(storeID: string, version: number): string {
  return `${storeID}.${version.toString(36)}`
}

/** The version in a cursor of this store; 0 without a cursor. */
export function decodeCursor(storeID: string, cursor: string | undefined, newest: number): number {
  if (cursor === undefined) return 0
  const match = /^([0-9a-z]{1,32})\.([0-9a-z]{1,11})$/.exec(cursor)
  const version = match ? Number.parseInt(match[2]!, 36) : Number.NaN
  if (!match || match[1] !== storeID || !(version <= newest)) {
    throw new StemmaError(
      "invalid",
      "The cursor is not one of this store, or is newer than the store (restored from a copy?). Start again without a cursor.",
      { details: { cursor } },
    )
  }
  return version
}

/** The cursor of a page. `kind` names the listing, so that a cursor of another listing is refused. */
export function encodePage(kind: string, values: (string | number)[]): string {
  return Buffer.from(JSON.stringify([kind, ...values])).toString("base64url")
}

export function decodePage(kind: string, cursor: string): (string | number)[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"))
    if (Array.isArray(value) && value[0] === kind) return value.slice(1) as (string | number)[]
  } catch {
    // The error below is thrown.
  }
  throw new StemmaError(
    "invalid",
    "The page cursor is not one of this listing. Start again without a cursor.",
    {
      details: { cursor },
    },
  )
}

/** Returns the limit, or throws `invalid` if it is out of bounds. */
export function checkLimit(limit: number | undefined, bounds: { standard: number; max: number }): number {
  if (limit === undefined) return bounds.standard
  if (Number.isInteger(limit) && limit >= 1 && limit <= bounds.max) return limit
  throw new StemmaError(
    "invalid",
    `The limit must be a whole number from 1 to ${bounds.max}. Ask for less, and page on.`,
    {
      details: { limit },
    },
  )
}

/** Returns the position in a history, or throws `invalid`. */
export function checkPosition(position: number | undefined): number | undefined {
  if (position === undefined || (Number.isSafeInteger(position) && position >= 0)) return position
  throw notAPosition(position)
}

/** Returns the bound in time, or throws `invalid`. */
export function checkTime(timeMs: number): number {
  if (Number.isFinite(timeMs)) return timeMs
  throw new StemmaError(
    "invalid",
    "A bound in time must be a number of milliseconds. Give one, or leave it out.",
    {
      details: { timeMs: String(timeMs) },
    },
  )
}
