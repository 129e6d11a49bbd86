/** Bounds that are the same in all drivers. */

export const pageLimit = { standard: 50, max: 1000 }
export const searchLimit = { standard: 50, max: 200 }
export const changesLimit = { standard: 1000, max: 10_000 }

/** Search by relevance ranks this many of the newest parts that match. */
export const rankedPartsMax = 1000

/** How many of the sessions that keep shared messages the result of a removal lists. */
export const keptSessionsMax = 20

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** Minimum ages: `collect` leaves younger data alone, because it may still be in use. */
export const collectAge = {
  blobMs: hourMs,
  importMs: dayMs,
  /** How long a taken inbox item is remembered, so that the same item sent again is a duplicate. */
  takenMs: dayMs,
  /** How long a removed session is remembered, so that replicas learn of the removal. */
  removedMs: 30 * dayMs,
}
