import type { Tombstone } from "../../plain/index.ts"
import { removedName } from "../core.ts"
import { parseGoodLines } from "../format/lines.ts"
import type { Files } from "./files.ts"

/** Reads the tombstones of removed sessions. */
export function readTombstones(files: Files): Tombstone[] {
  const lines = parseGoodLines(files.read(removedName), { file: removedName })
  return lines.map((line) => line.value as unknown as Tombstone)
}
