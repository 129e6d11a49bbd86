import type {
  HistoryItem,
  InboxItem,
  Part,
  PermissionRequest,
  Session,
  Todo,
} from "../../../protocol/index.ts"
import { checkLimit, checkPosition, checkTime, decodePage, encodePage } from "../../cursor.ts"
import { pageLimit } from "../../limits.ts"
import { noMessage, permissionQueryTooBroad } from "../../refusals.ts"
import type { HistoryPage, HistoryQuery, Page, PermissionQuery, SessionQuery } from "../../store.ts"
import {
  grownBody,
  newestVersion,
  type PlainMessage,
  type PlainNote,
  type PlainSession,
  type PlainState,
  sessionInfo,
  shareName,
} from "../model.ts"
import { notesOf } from "../operations/note.ts"
import { findTail, findVisible } from "./find.ts"
import { copyJson } from "./json.ts"

export function readSession(state: PlainState, sessionID: string): Session {
  return copyJson(sessionInfo(findVisible(state, sessionID)))
}

export function readTodos(state: PlainState, sessionID: string): Todo[] {
  return copyJson(findVisible(state, sessionID).todos)
}

export function readPermissions(state: PlainState, query: PermissionQuery): PermissionRequest[] {
  const { sessionID, permissionID, open = false } = query
  if (sessionID === undefined && permissionID === undefined && !open) throw permissionQueryTooBroad()
  const sessions =
    sessionID === undefined
      ? [...state.sessions.values()].filter(({ importing }) => !importing)
      : [findVisible(state, sessionID)]
  const found = sessions
    .flatMap(({ permissions }) => permissions)
    .filter(({ request }) => permissionID === undefined || request.id === permissionID)
    .filter(({ request }) => !open || request.reply === undefined)
    .sort((a, b) => a.serial - b.serial)
  return copyJson(found.map(({ request }) => request))
}

export function readInbox(state: PlainState, sessionID: string): InboxItem[] {
  return copyJson(findVisible(state, sessionID).inbox)
}

export function readSessions(state: PlainState, query: SessionQuery = {}): Page<Session> {
  const limit = checkLimit(query.limit, pageLimit)
  const order = query.order ?? "updated"
  for (const bound of [query.updated?.from, query.updated?.to]) if (bound !== undefined) checkTime(bound)
  const kind = `sessions.${order}`
  const sortKey = (session: PlainSession): [number, number] => [session.info.time[order], session.serial]
  const comesAfter = (a: number[], b: number[]) => b[0]! - a[0]! || b[1]! - a[1]!

  let matching = candidates(state, query).filter((session) => matches(session, query))
  if (query.cursor !== undefined) {
    const last = decodePage(kind, query.cursor) as number[]
    matching = matching.filter((session) => comesAfter(sortKey(session), last) > 0)
  }
  matching.sort((a, b) => comesAfter(sortKey(a), sortKey(b)))
  const items = matching.slice(0, limit)
  const next = matching.length > limit ? encodePage(kind, sortKey(items.at(-1)!)) : undefined
  return copyJson({ items: items.map(sessionInfo), next })
}

/** Returns the sessions that can match the query. A share secret selects at most one session without a scan. */
function candidates({ sessions, names }: PlainState, { share }: SessionQuery): PlainSession[] {
  if (share === undefined) return [...sessions.values()]
  const session = sessions.get(names.get(shareName(share)) ?? "")
  return session ? [session] : []
}

function matches({ info, importing }: PlainSession, query: SessionQuery): boolean {
  if (importing) return false
  if (query.projectID !== undefined && info.projectID !== query.projectID) return false
  if (query.directory !== undefined && info.directory !== query.directory) return false
  if (query.parentID !== undefined && (info.parentID ?? null) !== query.parentID) return false
  if (query.agent !== undefined && info.agent !== query.agent) return false
  if (query.key !== undefined && info.key !== query.key) return false
  if (query.archived !== undefined && (info.time.archived !== undefined) !== query.archived) return false
  if (query.updated?.from !== undefined && info.time.updated < query.updated.from) return false
  if (query.updated?.to !== undefined && info.time.updated >= query.updated.to) return false
  return query.title === undefined || info.title.toLowerCase().includes(query.title.toLowerCase())
}

export function readHistory(state: PlainState, sessionID: string, query: HistoryQuery = {}): HistoryPage {
  const session = findVisible(state, sessionID)
  const limit = checkLimit(query.limit, pageLimit)
  const { messages, notes } = query.left === undefined ? session : findTail(session, query.left)
  let from = checkPosition(query.from) ?? 0
  let to = Math.min(checkPosition(query.to) ?? messages.length, messages.length)
  if (query.messageID !== undefined) {
    const position = messages.findIndex((message) => message.body.id === query.messageID)
    if (position < 0) throw noMessage(sessionID, query.messageID)
    from = Math.max(from, position)
    to = Math.min(to, position + 1)
  }
  // One message more than the limit shows whether there are more.
  const found: number[] = []
  const fromStart = query.take === "start"
  for (let step = 0; step < to - from && found.length <= limit; step++) {
    const position = fromStart ? from + step : to - 1 - step
    if (hasPart(messages[position]!, query.having)) found.push(position)
  }
  const positions = found.slice(0, limit).sort((a, b) => a - b)
  const shown = new Set(positions)
  const page = { messages, notes: notes.filter((note) => shown.has(note.position)) }
  return {
    items: positions.map((position) => historyItem(sessionID, page, position)),
    count: messages.length,
    epoch: session.epoch,
    more: found.length > limit,
  }
}

function hasPart(message: PlainMessage, having: HistoryQuery["having"]): boolean {
  if (having === undefined) return true
  return message.parts.some(({ body }) =>
    having === "compaction"
      ? body.type === "compaction"
      : body.type === "step-start" && body.prune !== undefined,
  )
}

/** Returns a copy of one message with its grown text and its notes. */
function historyItem(
  sessionID: string,
  history: { messages: PlainMessage[]; notes: PlainNote[] },
  position: number,
): HistoryItem {
  const message = history.messages[position]!
  const messageID = message.body.id
  return copyJson<HistoryItem>({
    position,
    version: newestVersion(message),
    sealed: message.sealed,
    message: { ...message.body, sessionID },
    parts: message.parts.map((part): Part => ({ ...grownBody(part), sessionID, messageID })),
    notes: notesOf(history.notes, position),
  })
}
