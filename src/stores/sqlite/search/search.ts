import type { PartBody, SearchKind } from "../../../protocol/index.ts"
import {
  type CandidateToken,
  candidateTokens,
  matchText,
  parseQuery,
  type SearchTerms,
  scoreMatch,
  searchText,
  snippet,
  type TextMatch,
} from "../../../session/search/index.ts"
import { checkLimit, decodePage, encodePage } from "../../cursor.ts"
import { rankedPartsMax, searchLimit } from "../../limits.ts"
import type { SearchHit, SearchPage, SearchQuery } from "../../store.ts"
import type { Database } from "../connection/database.ts"
import { SessionFilter } from "../read/reachable.ts"
import { type Reader, readSealedParts } from "../read/read-messages.ts"
import { decodeID } from "../rows/id-codec.ts"
import { decodePart, longKind, roleOf } from "../rows/message-rows.ts"
import { type Expression, expressionFor } from "./prefix-terms.ts"

/** For a broad prefix, this many of the newest parts are read before the index is queried. */
const broadPartsMax = 5000

/** Where a page ended: in the titles, in the parts by key, or in the ranked list by index. */
type Phase = "titles" | "parts" | "ranked"

const newest = Number.MAX_SAFE_INTEGER

interface Search {
  reader: Reader
  query: SearchQuery
  terms: SearchTerms
  tokens: CandidateToken[]
  filter: SessionFilter
}

/** Searches titles and parts. The index gives candidates; the text itself decides whether a candidate matches. */
export function searchStore(reader: Reader, query: SearchQuery): SearchPage {
  const limit = checkLimit(query.limit, searchLimit)
  const terms = parseQuery(query.text)
  const kind = `search.${query.order ?? "newest"}`
  const [phase, at] = (query.cursor === undefined ? ["titles", newest] : decodePage(kind, query.cursor)) as [
    Phase,
    number,
  ]
  const tokens = candidateTokens(terms)
  const search: Search = { reader, query, terms, tokens, filter: new SessionFilter(reader, query) }
  const hits: SearchHit[] = []
  const next = fillPage(search, { hits, limit, phase, at })
  return next ? { hits, next: encodePage(kind, next) } : { hits }
}

/** Adds hits up to the limit. Returns where the next page begins, or undefined on the last page. */
function fillPage(
  search: Search,
  page: { hits: SearchHit[]; limit: number; phase: Phase; at: number },
): [Phase, number] | undefined {
  const { hits, limit, phase } = page
  let at = page.at
  if (phase === "titles") {
    for (const { key, hit } of titleHits(search, at)) {
      if (hits.length === limit) return ["titles", at]
      hits.push(hit)
      at = key
    }
  }
  const room = limit - hits.length
  if (search.query.order === "relevance") {
    const ranked = rankedParts(search)
    const start = phase === "ranked" ? at : 0
    for (const found of ranked.slice(start, start + room)) hits.push(partHit(search, found))
    return ranked.length > start + room ? ["ranked", start + room] : undefined
  }
  at = phase === "parts" ? at : newest
  for (const found of matchingParts(search, at)) {
    if (hits.length === limit) return ["parts", at]
    hits.push(partHit(search, found))
    at = found.key
  }
  return undefined
}

function wants(search: Search, kind: SearchKind): boolean {
  return search.query.kinds === undefined || search.query.kinds.includes(kind)
}

function* titleHits(search: Search, before: number): Generator<{ key: number; hit: SearchHit }> {
  if (!wants(search, "title")) return
  const { reader, terms } = search
  const indexed = reader.db.all(
    "SELECT rowid FROM title_index WHERE title_index MATCH ? AND rowid < ?",
    expressionFor(reader.db, "title_terms", search.tokens).text,
    before,
  )
  const waiting = reader.db.all("SELECT session FROM untitled WHERE session < ?", before)
  const keys = new Set([...indexed, ...waiting].map(([key]) => key as number))
  for (const key of [...keys].sort((a, b) => b - a)) {
    const row = reader.db.get("SELECT id, title FROM sessions WHERE key = ? AND importing = 0", key)
    if (row === undefined || !search.filter.selects(key)) continue
    const title = row[1] as string
    const match = matchText(terms, title)
    if (!match) continue
    yield {
      key,
      hit: {
        kind: "title",
        sessionID: decodeID("session", row[0]),
        forks: 0,
        ...snippet(title, match.marks),
      },
    }
  }
}

interface FoundPart {
  key: number
  segment: number
  position: number
  id: unknown
  kind: SearchKind
  text: string
  match: TextMatch
  /** The key of the session that the hit names, and how many sessions have the message. */
  named: number
  sharing: number
}

/** Yields the parts that match and that a selected session reaches, newest first. */
function* matchingParts(search: Search, before: number): Generator<FoundPart> {
  const { reader, terms, filter } = search
  for (const key of candidates(search, before)) {
    const row = reader.db.get("SELECT segment, position, id, kind, data FROM parts WHERE key = ?", key)
    if (row === undefined) continue
    const [segment, position, id, kind, data] = row as [number, number, unknown, number, string]
    if (!filter.mayReach(segment, position)) continue
    const found = searchText(completePart(reader.db, { key, segment, position, id, kind, data }))
    if (found === undefined || !wants(search, found.kind)) continue
    const match = matchText(terms, found.text)
    if (match === undefined) continue
    const reached = filter.sessionsWith(segment, position)
    if (reached === undefined) continue
    yield { key, segment, position, id, ...found, match, ...reached }
  }
}

interface PartRow {
  key: number
  segment: number
  position: number
  id: unknown
  kind: number
  data: string
}

function completePart(db: Database, row: PartRow): PartBody {
  if (row.kind < longKind) return decodePart(row.id, row.kind, row.data, `Part ${row.key}`)
  return readSealedParts(db, row.segment, row.position).find(({ key }) => key === row.key)!.body
}

/** Yields the keys of parts that may match, newest first. */
function* candidates(search: Search, before: number): Generator<number> {
  const { db } = search.reader
  const ranges = search.filter.ranges()
  const first = ranges.at(-1)?.from ?? 0
  const last = Math.min(before, ranges[0]?.to ?? 0)
  const { text, broad } = expressionFor(db, "text_terms", search.tokens)
  let range = 0
  for (const key of newestFirst(db, { text, broad, from: first, to: last })) {
    while (range < ranges.length && ranges[range]!.from > key) range += 1
    if (range < ranges.length && key < ranges[range]!.to) yield key
  }
}

interface CandidateRange extends Expression {
  from: number
  to: number
}

/** Yields the keys that the index returns, and the keys of parts that are not indexed yet, newest first. */
function* newestFirst(db: Database, { text, broad, from, to }: CandidateRange): Generator<number> {
  let end = to
  if (broad) {
    for (const key of newestParts(db, from, end)) {
      yield key
      end = key
    }
  }
  const waiting = waitingParts(db, from, end)
  for (const [key] of db.each(
    "SELECT rowid FROM text_index WHERE text_index MATCH ? AND rowid >= ? AND rowid < ? ORDER BY rowid DESC",
    text,
    from,
    end,
  )) {
    while (waiting.length > 0 && waiting.at(-1)! > (key as number)) yield waiting.pop()!
    yield key as number
  }
  yield* waiting.reverse()
}

/**
 * Returns parts that are not indexed yet, oldest first. Only a read-only store has such parts here, because a search
 * indexes queued messages first.
 */
function waitingParts(db: Database, from: number, end: number): number[] {
  return db
    .all(
      `SELECT p.key FROM unindexed u CROSS JOIN parts p ON p.segment = u.segment AND p.position = u.position
        WHERE p.key >= ? AND p.key < ? ORDER BY p.key`,
      from,
      end,
    )
    .map(([key]) => key as number)
}

/** Yields the newest sealed parts, at most `broadPartsMax`. */
function* newestParts(db: Database, from: number, end: number): Generator<number> {
  for (const [key] of db.each(
    `SELECT p.key FROM parts p JOIN messages m ON m.segment = p.segment AND m.position = p.position
      WHERE p.key >= ? AND p.key < ? AND m.sealed = 1 ORDER BY p.key DESC LIMIT ?`,
    from,
    end,
    broadPartsMax,
  )) {
    yield key as number
  }
}

function rankedParts(search: Search): FoundPart[] {
  const ranked: { found: FoundPart; score: number }[] = []
  for (const found of matchingParts(search, newest)) {
    const { kind, text } = found
    const role = roleAt(search.reader, found)
    ranked.push({ found, score: scoreMatch(search.terms, found.match, { kind, text, role }) })
    if (ranked.length === rankedPartsMax) break
  }
  ranked.sort((a, b) => b.score - a.score || b.found.key - a.found.key)
  return ranked.map(({ found }) => found)
}

function roleAt(reader: Reader, location: { segment: number; position: number }): "user" | "assistant" {
  const row = reader.db.get(
    "SELECT constants FROM messages WHERE segment = ? AND position = ?",
    location.segment,
    location.position,
  )
  return roleOf(reader.dictionary.text(row?.[0] as number))
}

function partHit(search: Search, found: FoundPart): SearchHit {
  const { reader, filter } = search
  const message = reader.db.get(
    "SELECT id, constants FROM messages WHERE segment = ? AND position = ?",
    found.segment,
    found.position,
  )!
  const session = reader.db.get("SELECT id FROM sessions WHERE key = ?", found.named)
  return {
    kind: found.kind,
    sessionID: decodeID("session", session?.[0]),
    forks: found.sharing - 1,
    ...(filter.inHistory(found.named, found.segment, found.position) ? {} : { left: true }),
    messageID: decodeID("message", message[0]),
    partID: decodeID("part", found.id),
    position: found.position,
    role: roleOf(reader.dictionary.text(message[1] as number)),
    ...snippet(found.text, found.match.marks),
  }
}
