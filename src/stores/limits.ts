/** Bounds that all drivers keep alike. */

export const pageLimit = { standard: 50, max: 1000 }
export const searchLimit = { standard: 50, max: 200 }
export const changesLimit = { standard: 1000, max: 10_000 }

/** Relevance is judged among this many of the newest parts that match. */
export const rankedPartsMax = 1000

/** How many of the sessions that keep messages a removal names. */
export const keptSessionsMax = 20

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs

/** After how long `collect` takes what might still have been in use. */
export const collectAge = {
  blobMs: hourMs,
  importMs: dayMs,
  /** How long a taken inbox item is remembered, so that the same one sent again is known. */
  takenMs: dayMs,
  /** How long a removed session is remembered, so that replicas hear of it. */
  removedMs: 30 * dayMs,
}
