import type { Clock } from "../../../protocol/index.ts"
import { noSession } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import type { Segments } from "../read/segments.ts"
import type { Names } from "../rows/dictionary.ts"
import type { OpenTail, OpenTails } from "./open-tail.ts"

export interface Applier {
  db: Database
  names: Names
  segments: Segments
  tails: OpenTails
  clock: Clock
}

/** What the operations of one commit work with. */
export interface CommitWrite extends Omit<Applier, "clock"> {
  nowMs: number
  version: number
  /** The sessions that this commit touched. */
  touched: OpenTail[]
  /** Those that it made. */
  made: Set<string> | undefined
  /** True once something was written that the text index should hear of. */
  sealed: boolean
}

/** The tail of a session that this commit changes. */
export function touch(write: CommitWrite, sessionID: string): OpenTail {
  const tail = write.tails.get(sessionID)
  if (!write.touched.includes(tail)) write.touched.push(tail)
  return tail
}

/** Refuses what is still being imported, unless this commit is part of the import. */
export function published(tail: OpenTail): OpenTail {
  if (tail.importing) throw noSession(tail.id)
  return tail
}
