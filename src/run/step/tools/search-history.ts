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

/** After this many hits in the range, the search stops and reports the words as too common. */
const hitsMax = 1000
const pageLimit = 200
/** The most pages of hits that are read to reach the range. */
const pagesMax = 50
/** If no message has all the words, at most this many of them are searched one by one. */
const singleWordsMax = 6
/** A few hits of a descendant show whether it is worth searching that session. */
const belowLimit = 3

const kinds: SearchKind[] = ["text", "reasoning", "tool", "file", "other"]

/** Searches for all the words, then for single words. Sessions without a hit are left out of the result. */
export async function searchHistories(search: HistorySearch): Promise<Omit<Recalled, "unsearched">> {
  const terms = parseQuery(search.text)
  const found = await searchEach(search, (history) => findAllWords(search, history, search.text))
  if (found.length > 0 || terms.length === 1) return { hasAll: true, found }
  const words = terms.slice(0, singleWordsMax).map(queryText)
  return {
    hasAll: false,
    found: await searchEach(search, (history) => findSomeWords(search, history, words)),
  }
}

async function searchEach(
  search: HistorySearch,
  find: (history: VisibleHistory) => Promise<FoundMessages>,
): Promise<RecalledFrom[]> {
  const found: RecalledFrom[] = []
  for (const history of search.histories) {
    search.signal.throwIfAborted()
    const { messages, isCommon } = await find(history)
    const limit = history.below ? belowLimit : search.limit
    const shown = await readFound(search, history, { messages, limit })
    if (shown.hits.length === 0) continue
    found.push({ ...shown, isCommon, ...(history.below && { below: history.below }) })
  }
  return found
}

/** A message with its hits. */
interface FoundMessage {
  position: number
  score: number
  hits: SearchHit[]
}

interface FoundMessages {
  /** In the order in which they are shown. */
  messages: FoundMessage[]
  isCommon: boolean
}

/** Messages with all the words, newest first. */
async function findAllWords(
  search: HistorySearch,
  history: VisibleHistory,
  text: string,
): Promise<FoundMessages> {
  const { hits, isCommon } = await scan(search, history, { text, max: hitsMax })
  return { messages: byMessage([hits]), isCommon }
}

/** Messages with some of the words, best score first. A rare word scores higher than a common one. */
async function findSomeWords(
  search: HistorySearch,
  history: VisibleHistory,
  words: readonly string[],
): Promise<FoundMessages> {
  const lists: SearchHit[][] = []
  for (const text of words) lists.push((await scan(search, history, { text, max: pageLimit })).hits)
  return { messages: byMessage(lists).sort((a, b) => b.score - a.score), isCommon: false }
}

/**
 * Groups one list of hits per word by message, newest message first. Order is position, not the store's order of hits.
 */
function byMessage(lists: readonly SearchHit[][]): FoundMessage[] {
  const messages = new Map<number, FoundMessage>()
  for (const hits of lists) {
    const seen = new Set<number>()
    for (const hit of hits) {
      const position = hit.position!
      const message = messages.get(position) ?? { position, score: 0, hits: [] }
      if (!seen.has(position)) message.score += 1 / hits.length
      seen.add(position)
      message.hits.push(hit)
      messages.set(position, message)
    }
  }
  return [...messages.values()].sort((a, b) => b.position - a.position)
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

/** Reads messages up to `limit`. `more` is an upper bound: hidden messages among the rest are not left out. */
async function readFound(
  { store, signal }: HistorySearch,
  { sessionID, visibleItem, turnFrom }: VisibleHistory,
  { messages, limit }: { messages: readonly FoundMessage[]; limit: number },
): Promise<Pick<RecalledFrom, "hits" | "more">> {
  const shown: RecalledFrom["hits"] = []
  let at = 0
  for (; at < messages.length && shown.length < limit; at++) {
    signal.throwIfAborted()
    const { position, hits } = messages[at]!
    const { items } = await store.history(sessionID, { from: position, to: position + 1, limit: 1 })
    const item = items[0] && visibleItem(items[0])
    if (!item) continue
    const isCurrentTurn = turnFrom !== undefined && position >= turnFrom
    const useful = hits.filter(
      ({ messageID, partID }) => messageID === item.message.id && isUseful(item, { partID, isCurrentTurn }),
    )
    const partIDs = [...new Set(useful.map((hit) => hit.partID!))]
    if (partIDs.length > 0) shown.push({ item, partIDs })
  }
  return { hits: shown, more: messages.length - at }
}

/**
 * False for hits that tell the model nothing new. Summaries and output of `recall` repeat other messages, which are
 * found themselves. The text of the current turn, such as the question, is in the model's context.
 */
function isUseful(item: HistoryItem, found: { partID: string | undefined; isCurrentTurn: boolean }): boolean {
  const part = item.parts.find(({ id }) => id === found.partID)
  if (part === undefined || part.type === "compaction") return false
  if (part.type === "tool") return part.tool !== "recall"
  return !found.isCurrentTurn
}

function queryText({ kind, text, prefix }: SearchTerm): string {
  return `${kind === "word" ? text : `"${text}"`}${prefix ? "*" : ""}`
}
