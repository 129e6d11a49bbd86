import type { SearchKind } from "../../../protocol/index.ts"
import {
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
import {
  type PlainMessage,
  type PlainPart,
  type PlainSession,
  type PlainState,
  reachedLists,
} from "../model.ts"
import { sessionsInOrder } from "./find.ts"

/** The sort key of a hit: titles first, then by score, then newest first. */
type HitOrder = [rank: number, score: number, serial: number]

interface Found {
  order: HitOrder
  hit: () => SearchHit
}

/** Searches without an index: reads all titles and all parts. */
export function searchSessions(state: PlainState, query: SearchQuery): SearchPage {
  const limit = checkLimit(query.limit, searchLimit)
  const terms = parseQuery(query.text)
  const order = query.order ?? "newest"
  const kind = `search.${order}`
  const after = query.cursor === undefined ? undefined : (decodePage(kind, query.cursor) as HitOrder)

  const found = [...foundTitles(state, query, terms), ...foundParts(state, query, terms)]
  const rest = after ? found.filter(({ order }) => compareHits(order, after) > 0) : found
  const page = rest.slice(0, limit)
  const hits = page.map(({ hit }) => hit())
  return rest.length > limit ? { hits, next: encodePage(kind, page.at(-1)!.order) } : { hits }
}

function compareHits(a: HitOrder, b: HitOrder): number {
  return b[0] - a[0] || b[1] - a[1] || b[2] - a[2]
}

function foundTitles(state: PlainState, query: SearchQuery, terms: SearchTerms): Found[] {
  if (!wantsKind(query, "title")) return []
  const found: Found[] = []
  for (const session of visible(state).reverse()) {
    const { id, title } = session.info
    const match = isSelected(session, query) ? matchText(terms, title) : undefined
    if (!match) continue
    const hit = (): SearchHit => ({ kind: "title", sessionID: id, forks: 0, ...snippet(title, match.marks) })
    found.push({ order: [1, 0, session.serial], hit })
  }
  return found
}

/** A part of a sealed message that may match. */
interface Candidate {
  part: PlainPart
  message: PlainMessage
  position: number
}

function foundParts(state: PlainState, query: SearchQuery, terms: SearchTerms): Found[] {
  const sessions = visible(state)
  const byRelevance = query.order === "relevance"
  const found: Found[] = []
  for (const candidate of newestParts(sessions)) {
    const searched = searchText(candidate.part.body)
    if (!searched || !wantsKind(query, searched.kind)) continue
    const match = matchText(terms, searched.text)
    const sharing = match ? sessions.filter((session) => reaches(session, candidate) !== undefined) : []
    const selected = sharing.filter((session) => isSelected(session, query))
    if (!match || selected.length === 0) continue
    const { role } = candidate.message.body
    const score = byRelevance ? scoreMatch(terms, match, { ...searched, role }) : 0
    const hit = () => partHit(candidate, { ...searched, match, selected, forks: sharing.length - 1 })
    found.push({ order: [0, score, candidate.part.serial], hit })
    if (byRelevance && found.length === rankedPartsMax) break
  }
  return byRelevance ? found.sort((a, b) => compareHits(a.order, b.order)) : found
}

function partHit(
  { part, message, position }: Candidate,
  found: { kind: SearchKind; text: string; match: TextMatch; selected: PlainSession[]; forks: number },
): SearchHit {
  const named = found.selected.find((session) => session.info.id === message.writer) ?? found.selected[0]!
  return {
    kind: found.kind,
    sessionID: named.info.id,
    forks: found.forks,
    ...(reaches(named, { message, position }) === "left" ? { left: true } : {}),
    messageID: message.body.id,
    partID: part.body.id,
    position,
    role: message.body.role,
    ...snippet(found.text, found.match.marks),
  }
}

function visible(state: PlainState): PlainSession[] {
  return sessionsInOrder(state).filter((session) => !session.importing)
}

function wantsKind(query: SearchQuery, kind: SearchKind): boolean {
  return query.kinds === undefined || query.kinds.includes(kind)
}

function isSelected({ info }: PlainSession, query: SearchQuery): boolean {
  return (
    (query.sessionID === undefined || info.id === query.sessionID) &&
    (query.projectID === undefined || info.projectID === query.projectID) &&
    (query.directory === undefined || info.directory === query.directory)
  )
}

/** Returns the parts of all sealed messages, newest first. A message that several sessions share is included once. */
function newestParts(sessions: PlainSession[]): Candidate[] {
  const seen = new Set<string>()
  const parts: Candidate[] = []
  for (const messages of sessions.flatMap(reachedLists)) {
    messages.forEach((message, position) => {
      if (!message.sealed || seen.has(message.origin)) return
      seen.add(message.origin)
      for (const part of message.parts) parts.push({ part, message, position })
    })
  }
  return parts.sort((a, b) => b.part.serial - a.part.serial)
}

/** Returns how a session reaches a message. A shared message has the same position in every history. */
export function reaches(
  session: PlainSession,
  { message, position }: { message: { origin: string }; position: number },
): "history" | "left" | undefined {
  if (session.messages[position]?.origin === message.origin) return "history"
  return session.left.some((tail) => tail.messages[position]?.origin === message.origin) ? "left" : undefined
}
