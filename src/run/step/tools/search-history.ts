import type { HistoryItem, SearchKind } from "../../../protocol/index.ts"
import { parseQuery, type SearchTerm } from "../../../session/index.ts"
import type { SearchHit, Store } from "../../../stores/store.ts"
import type { Recalled, RecalledFrom } from "../../../tools/tool.ts"
import type { VisibleHistory } from "./session-history.ts"

interface HistorySearch {
  store: Store
  signal: AbortSignal
  histories: readonly VisibleHistory[]
  text: string
  from?: number
  to?: number
  limit: number
}

/** With more hits than this in the range the words are too common. */
const hitsMax = 1000
const pageLimit = 200
/** So many pages are looked through until the range begins. */
const pagesMax = 50
/** If nothing has all the words, so many of them are looked for one by one. */
const apartMax = 6
/** Of sessions below, a few are enough to see whether it is worth looking there. */
const belowLimit = 3

const kinds: SearchKind[] = ["text", "reasoning", "tool", "file", "other"]

/** Sessions of which nothing was found are left out. */
export async function searchHistories(search: HistorySearch): Promise<Omit<Recalled, "unsearched">> {
  const terms = parseQuery(search.text)
  const found = await searchEach(search, (history) => placesOf(search, history, search.text))
  if (found.length > 0 || terms.length === 1) return { hasAll: true, found }
  const words = terms.slice(0, apartMax).map(asQuery)
  return { hasAll: false, found: await searchEach(search, (history) => placesOfSome(search, history, words)) }
}

async function searchEach(
  search: HistorySearch,
  places: (history: VisibleHistory) => Promise<Places>,
): Promise<RecalledFrom[]> {
  const found: RecalledFrom[] = []
  for (const history of search.histories) {
    search.signal.throwIfAborted()
    const all = await places(history)
    const limit = history.below ? belowLimit : search.limit
    const shown = await readPlaces(search, history, { places: all.places, limit })
    if (shown.hits.length === 0) continue
    found.push({ ...shown, isCommon: all.isCommon, ...(history.below && { below: history.below }) })
  }
  return found
}

/** The places in one message. */
interface Place {
  position: number
  score: number
  hits: SearchHit[]
}

interface Places {
  /** In the order in which they are shown. */
  places: Place[]
  isCommon: boolean
}

/** All that the session's present history has, the newest first. */
async function placesOf(search: HistorySearch, history: VisibleHistory, text: string): Promise<Places> {
  const { hits, isCommon } = await scan(search, history, { text, max: hitsMax })
  return { places: byMessage([hits]), isCommon }
}

/** What has some of the words: a rare word counts for more than a common one. */
async function placesOfSome(
  search: HistorySearch,
  history: VisibleHistory,
  words: readonly string[],
): Promise<Places> {
  const lists: SearchHit[][] = []
  for (const text of words) lists.push((await scan(search, history, { text, max: pageLimit })).hits)
  return { places: byMessage(lists).sort((a, b) => b.score - a.score), isCommon: false }
}

/** A list of hits for each word; position orders, since what a store wrote last is not always what was said last. */
function byMessage(lists: readonly SearchHit[][]): Place[] {
  const places = new Map<number, Place>()
  for (const hits of lists) {
    const seen = new Set<number>()
    for (const hit of hits) {
      const position = hit.position!
      const location = places.get(position) ?? { position, score: 0, hits: [] }
      if (!seen.has(position)) location.score += 1 / hits.length
      seen.add(position)
      location.hits.push(hit)
      places.set(position, location)
    }
  }
  return [...places.values()].sort((a, b) => b.position - a.position)
}

async function scan(
  { store, signal, from = 0, to = Number.POSITIVE_INFINITY }: HistorySearch,
  { sessionID, end }: VisibleHistory,
  { text, max }: { text: string; max: number },
): Promise<{ hits: SearchHit[]; isCommon: boolean }> {
  const hits: SearchHit[] = []
  let cursor: string | undefined
  for (let pages = 0; hits.length < max && pages < pagesMax; pages++) {
    signal.throwIfAborted()
    const query = { text, sessionID, kinds, limit: pageLimit, ...(cursor !== undefined && { cursor }) }
    const page = await store.search(query)
    for (const hit of page.hits) {
      const { position, left } = hit
      if (left || position === undefined || position < from || position >= Math.min(to, end)) continue
      hits.push(hit)
    }
    cursor = page.next
    if (cursor === undefined) break
  }
  return { hits, isCommon: cursor !== undefined }
}

/** Reads as many messages as are shown; how many more there are is known only roughly. */
async function readPlaces(
  { store, signal }: HistorySearch,
  { sessionID, see, turnFrom }: VisibleHistory,
  { places, limit }: { places: readonly Place[]; limit: number },
): Promise<Pick<RecalledFrom, "hits" | "more">> {
  const shown: RecalledFrom["hits"] = []
  let at = 0
  for (; at < places.length && shown.length < limit; at++) {
    signal.throwIfAborted()
    const { position, hits } = places[at]!
    const { items } = await store.history(sessionID, { from: position, to: position + 1, limit: 1 })
    const item = items[0] && see(items[0])
    if (!item) continue
    const isPresent = turnFrom !== undefined && position >= turnFrom
    const own = hits.filter(
      ({ messageID, partID }) => messageID === item.message.id && isNews(item, { partID, isPresent }),
    )
    const partIDs = [...new Set(own.map((hit) => hit.partID!))]
    if (partIDs.length > 0) shown.push({ item, partIDs })
  }
  return { hits: shown, more: places.length - at }
}

/**
 * A summary and what `recall` gave say again what is found where it was said first. The words of the present turn, such as
 * the very question, are before the model's eyes.
 */
function isNews(item: HistoryItem, found: { partID: string | undefined; isPresent: boolean }): boolean {
  const part = item.parts.find(({ id }) => id === found.partID)
  if (part === undefined || part.type === "compaction") return false
  if (part.type === "tool") return part.tool !== "recall"
  return !found.isPresent
}

function asQuery({ kind, text, prefix }: SearchTerm): string {
  return `${kind === "word" ? text : `"${text}"`}${prefix ? "*" : ""}`
}
