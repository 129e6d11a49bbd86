import type { SearchQuery } from "../../store.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import type { Reader } from "./read-messages.ts"

/**
 * The visible sessions that reach a message, in order of creation: the writer of its segment, and those of all segments
 * that are based on it beyond the message.
 */
export function sharers(db: Database, segment: number, position: number): number[] {
  return db
    .all(
      `WITH RECURSIVE based (key, above) AS (
         SELECT ?, ? UNION ALL
         SELECT g.key, -1 FROM segments g JOIN based ON g.parent = based.key WHERE g.base > based.above)
       SELECT DISTINCT s.key FROM based JOIN segments g ON g.key = based.key JOIN sessions s ON s.key = g.session
        WHERE s.importing = 0 ORDER BY s.key`,
      segment,
      position,
    )
    .map(([key]) => key as number)
}

/** A filter that selects more sessions than this has matches nearly everywhere: looking at each candidate is cheaper. */
const selectedMax = 2000

/** Keys of parts, from (inclusive) to (exclusive). */
export interface KeyRange {
  from: number
  to: number
}

/** Which sessions a search selects, and which of them reach a message. */
export class Sharing {
  readonly #reader: Reader
  readonly #selected = new Map<number, boolean>()
  readonly #filter: { sql: string; values: number[] } | undefined
  /** The segments that selected sessions reach, and how far each counts; undefined if that is too many. */
  readonly #within: Map<number, number> | undefined

  constructor(reader: Reader, query: SearchQuery) {
    this.#reader = reader
    this.#filter = filterOf(reader, query)
    if (this.#filter) this.#within = this.#reach(this.#filter)
  }

  /** Whether the query's filters select a session. */
  selects(key: number): boolean {
    if (this.#filter === undefined) return true
    let selected = this.#selected.get(key)
    if (selected === undefined) {
      const { sql, values } = this.#filter
      selected =
        this.#reader.db.get(`SELECT 1 FROM sessions WHERE key = ? AND ${sql}`, key, ...values) !== undefined
      this.#selected.set(key, selected)
    }
    return selected
  }

  /** False if certainly no selected session reaches the message: cheap, to be asked first. */
  mayReach(segment: number, position: number): boolean {
    return this.#within === undefined || position < (this.#within.get(segment) ?? 0)
  }

  /** Where the parts lie that the search can find, the newest first and none overlapping. */
  ranges(): KeyRange[] {
    if (this.#within === undefined) return [{ from: 0, to: Number.MAX_SAFE_INTEGER }]
    const ranges = [...this.#within].flatMap(([segment, below]) => this.#keysOf(segment, below))
    ranges.sort((a, b) => b.to - a.to)
    const merged: KeyRange[] = []
    for (const range of ranges) {
      const last = merged.at(-1)
      if (last && range.to >= last.from) last.from = Math.min(last.from, range.from)
      else merged.push(range)
    }
    return merged
  }

  /** Parts are made in order of position within a segment, so its first and last tell the range. */
  #keysOf(segment: number, below: number): KeyRange[] {
    const find = (order: string) =>
      this.#reader.db.get(
        `SELECT key FROM parts WHERE segment = ? AND position < ? ORDER BY position ${order}, place ${order} LIMIT 1`,
        segment,
        below,
      )?.[0] as number | undefined
    const first = find("ASC")
    const last = find("DESC")
    return first === undefined || last === undefined ? [] : [{ from: first, to: last + 1 }]
  }

  /** The session to name for a message and how many sessions have it, if a selected one does. */
  of(segment: number, position: number): { named: number; sharing: number } | undefined {
    const all = sharers(this.#reader.db, segment, position)
    const selected = all.filter((key) => this.selects(key))
    if (selected.length === 0) return undefined
    const writer = this.#reader.db.get("SELECT session FROM segments WHERE key = ?", segment)?.[0] as
      | number
      | null
    const named = writer !== null && selected.includes(writer) ? writer : selected[0]!
    return { named, sharing: all.length }
  }

  /** Whether the message is in the session's present history, not only in a tail that a revert left. */
  inHistory(session: number, segment: number, position: number): boolean {
    const row = this.#reader.db.get("SELECT segment, count FROM sessions WHERE key = ?", session)
    const [head, count] = row as [number, number]
    return this.#reader.segments.includes({ segment: head, count }, segment, position)
  }

  #reach({ sql, values }: { sql: string; values: number[] }): Map<number, number> | undefined {
    const { db, segments } = this.#reader
    const sessions = db.all(`SELECT key FROM sessions WHERE ${sql} LIMIT ?`, ...values, selectedMax + 1)
    if (sessions.length > selectedMax) return undefined
    const reach = new Map<number, number>()
    for (const [session] of sessions as [number][]) {
      for (const [own] of db.all("SELECT key FROM segments WHERE session = ?", session) as [number][]) {
        let segment: number | undefined = own
        let upper = Number.MAX_SAFE_INTEGER
        while (segment !== undefined && (reach.get(segment) ?? 0) < upper) {
          reach.set(segment, upper)
          const link = segments.link(segment)
          upper = link.base
          segment = link.parent
        }
      }
    }
    return reach
  }
}

/** The query's filters as SQL over `sessions`, or undefined if it has none. */
function filterOf(reader: Reader, query: SearchQuery): { sql: string; values: number[] } | undefined {
  const conditions: [string, number][] = []
  if (query.projectID !== undefined)
    conditions.push(["project = ?", reader.names.find(query.projectID) ?? -1])
  if (query.directory !== undefined)
    conditions.push(["directory = ?", reader.names.find(query.directory) ?? -1])
  if (query.sessionID !== undefined) {
    const row = reader.db.get("SELECT key FROM sessions WHERE id = ?", encodeID(query.sessionID))
    conditions.push(["key = ?", (row?.[0] ?? -1) as number])
  }
  if (conditions.length === 0) return undefined
  const sql = ["importing = 0", ...conditions.map(([condition]) => condition)].join(" AND ")
  return { sql, values: conditions.map(([, value]) => value) }
}
