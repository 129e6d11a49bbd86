import { maskDeep } from "../../../config/secrets/environment.ts"
import type { HistoryItem, Session } from "../../../protocol/index.ts"
import { type RevertMark, trimStart, visibleItems } from "../../../session/index.ts"
import type { Store } from "../../../stores/store.ts"
import type { BelowSession, HistoryRange, RecalledPage, SessionHistory } from "../../../tools/tool.ts"
import { findSession } from "../../api/find-session.ts"
import type { HistoryMemo, MemoContextOptions } from "../../context/history-memo.ts"
import { findMessage } from "../../schedule/waiters.ts"
import { searchHistories } from "./search-history.ts"

/** A child of a child of a child, and so on. */
const levelsMax = 4
/** To search them takes a search each. */
const searchedMax = 20
const listedMax = 200

/** What a tool may know of the past: see the contract in tools/tool.ts. */
export function sessionHistory(options: {
  store: Store
  sessionID: string
  signal: AbortSignal
  /** Takes secrets out: from whole texts, since half a secret is not known for one. */
  mask: (text: string) => string
  /** Where what the model is shown of the session begins. */
  shown: () => ShownPlaces
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

/** Positions from which on the model is shown messages as they are. */
interface ShownPlaces {
  from?: number
  /** The same for those of the present turn. */
  turnFrom?: number
}

export function shownPlaces(memo: HistoryMemo, { maxHistory }: MemoContextOptions): ShownPlaces {
  const items = memo.sealed
  const from = items[trimStart(items, { maxHistory, from: memo.base.start })]?.position
  const prompt = items.findLast(({ message }) => message.role === "user")
  return { from, turnFrom: from === undefined ? undefined : Math.max(from, prompt?.position ?? from) }
}

/** A session's history as far as neither a revert hides it nor it is still open. */
export interface VisibleHistory {
  sessionID: string
  /** Positions below it are visible. */
  end: number
  /** What is visible of an item. */
  see(item: HistoryItem): HistoryItem | undefined
  below?: BelowSession
  /** From here on it is the present turn, which is shown. */
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
  const see = (item: HistoryItem) => {
    const [visible] = visibleItems([item], mark, { ...(marked && { position: marked.position }) })
    return visible?.sealed ? maskDeep(withoutAsides(visible), mask) : undefined
  }
  const markEnd = marked ? marked.position + (see(marked) ? 1 : 0) : sealedEnd
  return { sessionID: session.id, end: Math.min(sealedEnd, markEnd), see }
}

/** Text that is shown to people is not for the model, now or later. */
function withoutAsides(item: HistoryItem): HistoryItem {
  const isAside = (part: HistoryItem["parts"][number]) => part.type === "text" && part.ignored === true
  return item.parts.some(isAside) ? { ...item, parts: item.parts.filter((part) => !isAside(part)) } : item
}

async function readRange(
  store: Store,
  { sessionID, end, see }: VisibleHistory,
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
  return items.flatMap((item) => see(item) ?? [])
}

function belowOf({ id, title }: Session, mask: (text: string) => string): BelowSession {
  return { id, title: mask(title) }
}

/** Whether it does not exist or is none of this session's business makes no difference to whoever asks. */
async function sessionBelow(store: Store, id: string, ancestorID: string): Promise<Session> {
  const found = await findSession(store, id)
  let at = found
  for (let level = 0; at?.parentID !== undefined && level < levelsMax; level++) {
    if (at.parentID === ancestorID) return found!
    at = await findSession(store, at.parentID)
  }
  throw new Error("This session has no child with that id. Leave `session` out to look at this session.")
}

/** The sessions below one, the nearest first and of those the last used; `more` are too many. */
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
      const { items } = await store.sessions({ parentID, limit: listedMax })
      found.push(...items)
    }
    const room = searchedMax - sessions.length
    sessions.push(...found.slice(0, room))
    more = Math.max(0, found.length - room)
    parents = found.map(({ id }) => id)
  }
  return { sessions, more }
}
