import { decodeCursor } from "../../stores/cursor.ts"

/** The version that a cursor names: what a subscriber was given is compared with the versions of rows. */
export function versionOf(cursor: string): number {
  return decodeCursor(cursor.slice(0, cursor.lastIndexOf(".")), cursor, Number.MAX_SAFE_INTEGER)
}
