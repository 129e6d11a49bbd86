import type { Span } from "../../../session/history/spans.ts"
import type { Database } from "../connection/database.ts"
import { encodeID } from "../rows/id-codec.ts"

interface Link {
  parent: number | undefined
  /** The parent's messages up to here come first; the segment's own begin here. */
  base: number
  /** The commit that made the segment: of the parent's notes, only older ones count. */
  version: number
}

/** The pointer to a history: a segment and how many messages of it count. */
export interface Head {
  segment: number
  count: number
}

/**
 * How histories hang together. A segment's link never changes, so it is read once and kept; a history's spans are found
 * by walking back only as far as a page needs, whatever the depth of forks.
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

  /** A segment made in a transaction that failed, or removed, must not be remembered. */
  forget(key: number): void {
    this.#links.delete(key)
  }

  forgetAll(): void {
    this.#links.clear()
  }

  create(input: { id: string; session: number; parent?: Head; version: number; created: number }): number {
    const parent = input.parent ? this.#lastOf(input.parent) : undefined
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
   * The last segment that counts for the history: the one that holds its last message, or a later one that says which
   * notes count: it has some, or was made before some of its parent's.
   */
  #lastOf(head: Head): number | undefined {
    let segment: number | undefined = head.count > 0 ? head.segment : undefined
    while (segment !== undefined) {
      const link = this.link(segment)
      if (head.count > link.base) return segment
      if (head.count === link.base && (this.#hasNotes(segment) || this.#hasOlderLink(link))) return segment
      segment = link.parent
    }
    return undefined
  }

  #hasNotes(segment: number): boolean {
    return this.#db.get("SELECT 1 FROM notes WHERE segment = ? LIMIT 1", segment) !== undefined
  }

  #hasOlderLink({ parent, version }: Link): boolean {
    if (parent === undefined) return false
    const newer = "SELECT 1 FROM notes WHERE segment = ? AND version > ? LIMIT 1"
    return this.#db.get(newer, parent, version) !== undefined
  }

  /** The segment that holds a position of a history; none for a negative position. */
  owner(head: Head, position: number): number | undefined {
    if (position < 0) return undefined
    let segment: number | undefined = head.segment
    while (segment !== undefined) {
      const link = this.link(segment)
      if (position >= link.base) return segment
      segment = link.parent
    }
    return undefined
  }

  /** Whether the history includes that message. */
  includes(head: Head, segment: number, position: number): boolean {
    return position < head.count && this.owner(head, position) === segment
  }

  /** The spans of a history that cover [from, to), the last first. */
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

  /** The same, in order. */
  spans(head: Head, from: number, to: number): Span<number>[] {
    return [...this.spansBack(head, from, to)].reverse()
  }

  /**
   * The segments whose notes a history shows, the last first, with the bounds within which they count: a note stands
   * where and when it was written.
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
