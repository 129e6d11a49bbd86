import { decodeCursor } from "../../stores/cursor.ts"

/** The version inside a cursor, to be compared with the versions of rows. */
export function cursorVersion(cursor: string): number {
  return decodeCursor(cursor.slice(0, cursor.lastIndexOf(".")), cursor, Number.MAX_SAFE_INTEGER)
}
