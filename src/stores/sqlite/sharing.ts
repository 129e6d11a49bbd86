import type { SearchQuery } from "../store.ts"
import type { Database } from "./database.ts"
import { encodeID } from "./id-codec.ts"
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

/** Which sessions a search selects, and which of them reach a message. */
export class Sharing {
  readonly #reader: Reader
  readonly #selected = new Map<number, boolean>()
  /** By segment: whether a selected session reaches anything of it. */
  readonly #reaching = new Map<number, boolean>()
  readonly #filter: ((row: { id: unknown; project: number; directory: number }) => boolean) | undefined
  /** For a search within one session: its segments and how far each counts. */
  readonly #within: Map<number, number> | undefined

  constructor(reader: Reader, query: SearchQuery) {
    this.#reader = reader
    const { sessionID, projectID, directory } = query
    if (sessionID === undefined && projectID === undefined && directory === undefined) return
    const project = projectID === undefined ? undefined : (reader.names.find(projectID) ?? -1)
    const folder = directory === undefined ? undefined : (reader.names.find(directory) ?? -1)
    const session =
      sessionID === undefined
        ? undefined
        : ((reader.db.get("SELECT key FROM sessions WHERE id = ?", encodeID(sessionID))?.[0] ?? -1) as number)
    this.#filter = (row) =>
      (session === undefined || row.id === session) &&
      (project === undefined || row.project === project) &&
      (folder === undefined || row.directory === folder)
    if (session !== undefined) this.#within = this.#reachOf(session)
  }

  /** Whether the query's filters select a session. */
  selects(key: number): boolean {
    if (this.#filter === undefined) return true
    let selected = this.#selected.get(key)
    if (selected === undefined) {
      const row = this.#reader.db.get("SELECT project, directory FROM sessions WHERE key = ?", key)
      selected =
        row !== undefined && this.#filter({ id: key, project: row[0] as number, directory: row[1] as number })
      this.#selected.set(key, selected)
    }
    return selected
  }

  /** False if certainly no selected session reaches the message: cheap, to be asked first. */
  mayReach(segment: number, position: number): boolean {
    if (this.#within !== undefined) return position < (this.#within.get(segment) ?? 0)
    if (this.#filter === undefined) return true
    let reaches = this.#reaching.get(segment)
    if (reaches === undefined) {
      reaches = sharers(this.#reader.db, segment, -1).some((key) => this.selects(key))
      this.#reaching.set(segment, reaches)
    }
    return reaches
  }

  /** Between which keys the parts lie that a search within one session can find. */
  keys(): { from: number; to: number } {
    if (this.#within === undefined) return { from: 0, to: Number.MAX_SAFE_INTEGER }
    let from = Number.MAX_SAFE_INTEGER
    let to = 0
    for (const segment of this.#within.keys()) {
      const [least, most] = this.#keysOf(segment, this.#within.get(segment)!)
      from = Math.min(from, least)
      to = Math.max(to, most + 1)
    }
    return { from, to }
  }

  /** Parts are made in order of position within a segment, so its first and last tell the range. */
  #keysOf(segment: number, below: number): [number, number] {
    const find = (order: string) =>
      this.#reader.db.get(
        `SELECT key FROM parts WHERE segment = ? AND position < ? ORDER BY position ${order}, place ${order} LIMIT 1`,
        segment,
        below,
      )?.[0] as number | undefined
    return [find("ASC") ?? Number.MAX_SAFE_INTEGER, find("DESC") ?? -1]
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

  #reachOf(session: number): Map<number, number> {
    const reach = new Map<number, number>()
    for (const [own] of this.#reader.db.all("SELECT key FROM segments WHERE session = ?", session) as [
      number,
    ][]) {
      let segment: number | undefined = own
      let upper = Number.MAX_SAFE_INTEGER
      while (segment !== undefined) {
        reach.set(segment, Math.max(reach.get(segment) ?? 0, upper))
        const link = this.#reader.segments.link(segment)
        upper = link.base
        segment = link.parent
      }
    }
    return reach
  }
}
