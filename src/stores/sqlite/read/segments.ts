import type { Span } from "../../../session/history/spans.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"

interface Link {
  parent: number | undefined
  /** The segment's own messages start at this position; the messages before it are the parent's. */
  base: number
  /**
   * The version of the commit that created the segment. Newer notes of the parent are not visible through this segment.
   */
  version: number
}

/** A history: its last segment and how many messages the history has. */
export interface Head {
  segment: number
  count: number
}

/**
 * Caches the links between segments. A link never changes, so it is read once. The spans of a history are found by
 * walking the links back only as far as a page needs, however deep forks are nested.
 */
export class Segments {
  readonly #db: Database
  readonly #links = new Map<number, Link>()

  constructor(db: Database) {
    this.#db = db
  }

  link(key: number): Link {
    const known = this.#links.get(key)
    if (known !== undefined) return known
    const row = this.#db.get("SELECT parent, base, version FROM segments WHERE key = ?", key)
    const link: Link = {
      parent: (row?.[0] ?? undefined) as number | undefined,
      base: (row?.[1] ?? 0) as number,
      version: (row?.[2] ?? 0) as number,
    }
    if (this.#links.size > 50_000) this.#links.clear()
    if (row !== undefined) this.#links.set(key, link)
    return link
  }

  /** Drops all links, after a rollback or after segments were removed. */
  forgetAll(): void {
    this.#links.clear()
  }

  /** Inserts a new segment and returns its key. */
  create(input: { id: string; session: number; parent?: Head; version: number; created: number }): number {
    const parent = input.parent ? this.#parentFor(input.parent) : undefined
    const base = input.parent?.count ?? 0
    return this.#db.insert(
      "INSERT INTO segments (id, session, parent, base, version, created) VALUES (?, ?, ?, ?, ?, ?)",
      encodeID(input.id),
      input.session,
      parent ?? null,
      base,
      input.version,
      input.created,
    )
  }

  /**
   * Returns the parent for a new segment that shares this history: the segment with the last shared message, or a later
   * segment that decides which notes are visible, because it has notes or because its parent has newer notes.
   */
  #parentFor(head: Head): number | undefined {
    let segment: number | undefined = head.count > 0 ? head.segment : undefined
    while (segment !== undefined) {
      const link = this.link(segment)
      if (head.count > link.base) return segment
      if (head.count === link.base && (this.#hasNotes(segment) || this.#parentHasNewerNotes(link)))
        return segment
      segment = link.parent
    }
    return undefined
  }

  #hasNotes(segment: number): boolean {
    return this.#db.get("SELECT 1 FROM notes WHERE segment = ? LIMIT 1", segment) !== undefined
  }

  #parentHasNewerNotes({ parent, version }: Link): boolean {
    if (parent === undefined) return false
    const newer = "SELECT 1 FROM notes WHERE segment = ? AND version > ? LIMIT 1"
    return this.#db.get(newer, parent, version) !== undefined
  }

  /** Returns the segment that holds a position of a history; undefined for a negative position. */
  segmentAt(head: Head, position: number): number | undefined {
    if (position < 0) return undefined
    let segment: number | undefined = head.segment
    while (segment !== undefined) {
      const link = this.link(segment)
      if (position >= link.base) return segment
      segment = link.parent
    }
    return undefined
  }

  /** Whether the history includes the message at this location. */
  includes(head: Head, segment: number, position: number): boolean {
    return position < head.count && this.segmentAt(head, position) === segment
  }

  /** Yields the spans of a history that cover [from, to), the last span first. */
  *spansBack(head: Head, from: number, to: number): Generator<Span<number>> {
    let upper = Math.min(to, head.count)
    let segment: number | undefined = head.segment
    while (segment !== undefined && upper > from) {
      const link = this.link(segment)
      if (link.base < upper) {
        yield { segment, from: Math.max(link.base, from), to: upper }
        upper = link.base
      }
      segment = link.parent
    }
  }

  /** Returns the spans of a history that cover [from, to), in order. */
  spans(head: Head, from: number, to: number): Span<number>[] {
    return [...this.spansBack(head, from, to)].reverse()
  }

  /**
   * Yields the segments whose notes a history shows, the last segment first. Only notes with `at` up to `atMax` and a
   * version up to `versionMax` are visible.
   */
  *notesBack(head: Head, from: number): Generator<{ segment: number; atMax: number; versionMax: number }> {
    let atMax = head.count
    let versionMax = Number.MAX_SAFE_INTEGER
    let segment: number | undefined = head.segment
    while (segment !== undefined && atMax > from) {
      yield { segment, atMax, versionMax }
      const link = this.link(segment)
      atMax = Math.min(atMax, link.base)
      versionMax = Math.min(versionMax, link.version)
      segment = link.parent
    }
  }
}
