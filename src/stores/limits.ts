/** Limits that are the same in all drivers. */

export const pageLimit = { standard: 50, max: 1000 }
export const searchLimit = { standard: 50, max: 200 }
export const changesLimit = { standard: 1000, max: 10_000 }

/** Ordering by relevance considers this many of the newest parts that match. */
export const rankedPartsMax = 1000

/** A removal names at most this many of the sessions for which messages stay. */
export const keptSessionsMax = 20

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** The ages after which `collect` removes what might still have been in use. */
export const collectAge = {
  blobMs: hourMs,
  importMs: dayMs,
  /** How long a taken inbox item is remembered, so that a repeated admission is recognised as a duplicate. */
  takenMs: dayMs,
  /** How long a removed session is remembered, so that replicas get its `removed` row. */
  removedMs: 30 * dayMs,
}
