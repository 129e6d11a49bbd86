import type { Clock } from "../../../protocol/index.ts"
import { noSession } from "../../refusals.ts"
import type { Database } from "../connection/database.ts"
import type { Segments } from "../read/segments.ts"
import type { Dictionary } from "../rows/dictionary.ts"
import type { OpenTail, OpenTails } from "./open-tail.ts"

/** What a store keeps between commits and needs to apply one. */
export interface CommitContext {
  db: Database
  dictionary: Dictionary
  segments: Segments
  tails: OpenTails
  clock: Clock
}

/** The state of one commit while its operations are applied. */
export interface CommitWrite extends Omit<CommitContext, "clock"> {
  nowMs: number
  version: number
  /** The sessions that this commit changed. The commit increments the `seq` of each. */
  changed: OpenTail[]
  /** The ids of the sessions that this commit created. */
  created: Set<string> | undefined
  /** True if the commit wrote text or titles that the search index does not have yet. */
  needsIndexing: boolean
}

/** Returns the tail of a session and records that this commit changes the session. */
export function markChanged(write: CommitWrite, sessionID: string): OpenTail {
  const tail = write.tails.get(sessionID)
  if (!write.changed.includes(tail)) write.changed.push(tail)
  return tail
}

/** Fails with `not_found` if the session is still being imported. */
export function requirePublished(tail: OpenTail): OpenTail {
  if (tail.importing) throw noSession(tail.id)
  return tail
}
