import type { SearchQuery } from "../../store.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"
import type { Reader } from "./read-messages.ts"

/**
 * Returns the visible sessions whose history or left tails include a message, in order of creation: the session that
 * wrote the message's segment, and the sessions of all segments that are based on it after the message.
 */
export function sessionsReaching(db: Database, segment: number, position: number): number[] {
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

/**
 * A filter that selects more sessions than this matches most messages, so checking each candidate is cheaper than
 * collecting all segments first.
 */
const selectedMax = 2000

/** A range of part keys, from (inclusive) to (exclusive). */
export interface KeyRange {
  from: number
  to: number
}

/** Tells which sessions the filters of a search select, and which of these sessions reach a message. */
export class SessionFilter {
  readonly #reader: Reader
  readonly #selected = new Map<number, boolean>()
  readonly #filter: { sql: string; values: number[] } | undefined
  /**
   * The segments that the selected sessions reach, and up to which position. Undefined if the search has no filter or
   * selects too many sessions.
   */
  readonly #reached: Map<number, number> | undefined

  constructor(reader: Reader, query: SearchQuery) {
    this.#reader = reader
    this.#filter = filterOf(reader, query)
    if (this.#filter) this.#reached = this.#reachedSegments(this.#filter)
  }

  /** Whether the filters of the query select the session. */
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

  /** False if no selected session can reach the message. Cheaper than `sessionsWith`, so call it first. */
  mayReach(segment: number, position: number): boolean {
    return this.#reached === undefined || position < (this.#reached.get(segment) ?? 0)
  }

  /** The key ranges of the parts that the search can find, newest first, without overlaps. */
  ranges(): KeyRange[] {
    if (this.#reached === undefined) return [{ from: 0, to: Number.MAX_SAFE_INTEGER }]
    const ranges = [...this.#reached].flatMap(([segment, below]) => this.#keysOf(segment, below))
    ranges.sort((a, b) => b.to - a.to)
    const merged: KeyRange[] = []
    for (const range of ranges) {
      const last = merged.at(-1)
      if (last && range.to >= last.from) last.from = Math.min(last.from, range.from)
      else merged.push(range)
    }
    return merged
  }

  /** Parts are created in order of position within a segment, so the first and the last part give the range. */
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

  /**
   * Returns the session that a hit names and how many sessions have the message. Undefined if no selected session has
   * it.
   */
  sessionsWith(segment: number, position: number): { named: number; sharing: number } | undefined {
    const all = sessionsReaching(this.#reader.db, segment, position)
    const selected = all.filter((key) => this.selects(key))
    if (selected.length === 0) return undefined
    const writer = this.#reader.db.get("SELECT session FROM segments WHERE key = ?", segment)?.[0] as
      | number
      | null
    const named = writer !== null && selected.includes(writer) ? writer : selected[0]!
    return { named, sharing: all.length }
  }

  /** Whether the message is in the session's present history, and not only in a left tail. */
  inHistory(session: number, segment: number, position: number): boolean {
    const row = this.#reader.db.get("SELECT segment, count FROM sessions WHERE key = ?", session)
    const [head, count] = row as [number, number]
    return this.#reader.segments.includes({ segment: head, count }, segment, position)
  }

  #reachedSegments({ sql, values }: { sql: string; values: number[] }): Map<number, number> | undefined {
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

/** Returns the filters of the query as an SQL condition on `sessions`, or undefined if it has none. */
function filterOf(reader: Reader, query: SearchQuery): { sql: string; values: number[] } | undefined {
  const conditions: [string, number][] = []
  if (query.projectID !== undefined)
    conditions.push(["project = ?", reader.dictionary.find(query.projectID) ?? -1])
  if (query.directory !== undefined)
    conditions.push(["directory = ?", reader.dictionary.find(query.directory) ?? -1])
  if (query.sessionID !== undefined) {
    const row = reader.db.get("SELECT key FROM sessions WHERE id = ?", encodeID(query.sessionID))
    conditions.push(["key = ?", (row?.[0] ?? -1) as number])
  }
  if (conditions.length === 0) return undefined
  const sql = ["importing = 0", ...conditions.map(([condition]) => condition)].join(" AND ")
  return { sql, values: conditions.map(([, value]) => value) }
}
