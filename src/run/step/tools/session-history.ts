import { maskDeep } from "../../../config/secrets/environment.ts"
import type { HistoryItem, Session } from "../../../protocol/index.ts"
import { type RevertMark, trimStart, visibleItems } from "../../../session/index.ts"
import type { Store } from "../../../stores/store.ts"
import type { BelowSession, HistoryRange, RecalledPage, SessionHistory } from "../../../tools/tool.ts"
import { findSession } from "../../api/find-session.ts"
import type { HistoryMemo, MemoContextOptions } from "../../context/history-memo.ts"
import { findMessage } from "../../schedule/waiters.ts"
import { searchHistories } from "./search-history.ts"

/** How many levels of descendants count. */
const levelsMax = 4
/** Each session takes a search of its own. */
const sessionsSearchedMax = 20
const childrenListedMax = 200

/** The history that a tool may read. The contract is in tools/tool.ts. */
export function sessionHistory(options: {
  store: Store
  sessionID: string
  signal: AbortSignal
  /** Masks secrets. Must get whole texts, since half a secret is not recognised. */
  mask: (text: string) => string
  /** Where the part of the history begins that the model is shown now. */
  shown: () => ShownPositions
}): SessionHistory {
  const { store, sessionID, signal, mask } = options
  const find = async (id: string = sessionID): Promise<VisibleHistory> => {
    if (id !== sessionID) return visibleHistory(options, await sessionBelow(store, id, sessionID))
    return { ...(await visibleHistory(options, await store.session(id))), turnFrom: options.shown().turnFrom }
  }
  return {
    async page(range) {
      const history = await find(range.sessionID)
      const items = await readRange(store, history, range)
      const shownFrom = history.sessionID === sessionID ? options.shown().from : undefined
      return { items, end: history.end, shownFrom }
    },
    async search(query) {
      const histories = [await find(query.sessionID)]
      const isWide = query.sessionID === undefined && query.from === undefined && query.to === undefined
      const { sessions, more } = isWide ? await sessionsBelow(store, sessionID) : { sessions: [], more: 0 }
      for (const session of sessions) {
        histories.push({ ...(await visibleHistory(options, session)), below: belowOf(session, mask) })
      }
      return { ...(await searchHistories({ ...query, store, signal, histories })), unsearched: more }
    },
    async children(limit) {
      const { items } = await store.sessions({ parentID: sessionID, limit })
      return items.map((session) => belowOf(session, mask))
    },
  }
}

interface ShownPositions {
  /** The first position that the model is shown in full. */
  from?: number
  /** The first such position of the current turn. */
  turnFrom?: number
}

export function shownPositions(memo: HistoryMemo, { maxHistory }: MemoContextOptions): ShownPositions {
  const items = memo.sealed
  const from = items[trimStart(items, { maxHistory, from: memo.base.start })]?.position
  const prompt = items.findLast(({ message }) => message.role === "user")
  return { from, turnFrom: from === undefined ? undefined : Math.max(from, prompt?.position ?? from) }
}

/** A session's history without messages that are open or hidden by a revert. */
export interface VisibleHistory {
  sessionID: string
  /** Positions below this one are visible. */
  end: number
  /** The visible parts of an item, with secrets masked; undefined if the item is hidden. */
  visibleItem(item: HistoryItem): HistoryItem | undefined
  below?: BelowSession
  /** The first position of the current turn, which the model is shown anyway. */
  turnFrom?: number
}

async function visibleHistory(
  { store, mask }: { store: Store; mask: (text: string) => string },
  session: Session,
): Promise<VisibleHistory> {
  const last = (await store.history(session.id, { take: "end", limit: 1 })).items[0]
  const sealedEnd = last === undefined ? 0 : last.position + (last.sealed ? 1 : 0)
  const mark: RevertMark | undefined = session.revert
  const marked = mark && (await findMessage(store, session.id, mark.messageID))
  const visibleItem = (item: HistoryItem) => {
    const [visible] = visibleItems([item], mark, { ...(marked && { position: marked.position }) })
    return visible?.sealed ? maskDeep(withoutIgnoredText(visible), mask) : undefined
  }
  const markEnd = marked ? marked.position + (visibleItem(marked) ? 1 : 0) : sealedEnd
  return { sessionID: session.id, end: Math.min(sealedEnd, markEnd), visibleItem }
}

/** `ignored` text is shown to people only, never to a model. */
function withoutIgnoredText(item: HistoryItem): HistoryItem {
  const isIgnored = (part: HistoryItem["parts"][number]) => part.type === "text" && part.ignored === true
  return item.parts.some(isIgnored) ? { ...item, parts: item.parts.filter((part) => !isIgnored(part)) } : item
}

async function readRange(
  store: Store,
  { sessionID, end, visibleItem }: VisibleHistory,
  { from, to, limit }: HistoryRange,
): Promise<RecalledPage["items"]> {
  const below = Math.min(to ?? end, end)
  if (below <= (from ?? 0)) return []
  const { items } = await store.history(sessionID, {
    to: below,
    limit,
    take: from === undefined ? "end" : "start",
    ...(from !== undefined && { from }),
  })
  return items.flatMap((item) => visibleItem(item) ?? [])
}

function belowOf({ id, title }: Session, mask: (text: string) => string): BelowSession {
  return { id, title: mask(title) }
}

/** Throws the same error for an unknown session and for one that is no descendant, so that a tool learns neither. */
async function sessionBelow(store: Store, id: string, ancestorID: string): Promise<Session> {
  const found = await findSession(store, id)
  let at = found
  for (let level = 0; at?.parentID !== undefined && level < levelsMax; level++) {
    if (at.parentID === ancestorID) return found!
    at = await findSession(store, at.parentID)
  }
  throw new Error("This session has no child with that id. Leave `session` out to look at this session.")
}

/** The descendants of a session: nearest level first, last used first. `more` counts those above the limit. */
async function sessionsBelow(
  store: Store,
  sessionID: string,
): Promise<{ sessions: Session[]; more: number }> {
  const sessions: Session[] = []
  let parents = [sessionID]
  let more = 0
  for (let level = 0; level < levelsMax && parents.length > 0 && more === 0; level++) {
    const found: Session[] = []
    for (const parentID of parents) {
      const { items } = await store.sessions({ parentID, limit: childrenListedMax })
      found.push(...items)
    }
    const room = sessionsSearchedMax - sessions.length
    sessions.push(...found.slice(0, room))
    more = Math.max(0, found.length - room)
    parents = found.map(({ id }) => id)
  }
  return { sessions, more }
}
