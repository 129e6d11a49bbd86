import type { Row } from "../../../protocol/index.ts"
import { growingField } from "../../../session/replica/grow.ts"
import { checkLimit, decodeCursor, encodeCursor } from "../../cursor.ts"
import { changesLimit } from "../../limits.ts"
import { noSession } from "../../refusals.ts"
import type { Changes, Scope } from "../../store.ts"
import {
  newestVersion,
  type PlainMessage,
  type PlainSession,
  type PlainState,
  sessionInfo,
} from "../model.ts"
import { newestNotes } from "../operations/note.ts"
import { ancestors } from "./find.ts"
import { copyJson } from "./json.ts"

const rowOrder = [
  "removed",
  "session",
  "history",
  "message",
  "part",
  "piece",
  "note",
  "todos",
  "permission",
  "inbox",
]

/** A row and the serial of its session. The serial orders the sessions that one commit changed. */
interface SessionRow {
  row: Row
  serial: number
}

export function readChanges(
  state: PlainState,
  scope: Scope,
  options: { since?: string; limit?: number } = {},
): Changes {
  const limit = checkLimit(options.limit, changesLimit)
  const since = decodeCursor(state.storeID, options.since, state.version)
  const sorted = rowsInScope(state, scope, since).sort(compareRows)
  let end = Math.min(limit, sorted.length)
  while (end < sorted.length && sorted[end]!.row.version === sorted[end - 1]!.row.version) end++
  const more = end < sorted.length
  return {
    rows: sorted.slice(0, end).map(({ row }) => copyJson(row)),
    cursor: encodeCursor(state.storeID, more ? sorted[end - 1]!.row.version : state.version),
    more,
  }
}

function compareRows(a: SessionRow, b: SessionRow): number {
  return (
    a.row.version - b.row.version ||
    rowOrder.indexOf(a.row.type) - rowOrder.indexOf(b.row.type) ||
    a.serial - b.serial ||
    compareWithin(a.row, b.row)
  )
}

/** Compares rows of the same type and session. Permission requests keep the order in which they were asked. */
function compareWithin(a: Row, b: Row): number {
  if (!("position" in a) || !("position" in b)) return 0
  if (a.position !== b.position) return a.position - b.position
  if ("index" in a && "index" in b && a.index !== b.index) return a.index - b.index
  if (a.type === "piece" && b.type === "piece") return a.offset - b.offset
  return a.type === "note" && b.type === "note" ? (a.key < b.key ? -1 : 1) : 0
}

function rowsInScope(state: PlainState, scope: Scope, since: number): SessionRow[] {
  const rows: SessionRow[] = []
  for (const session of sessionsIn(state, scope)) {
    for (const row of changedRows(session, since)) rows.push({ row, serial: session.serial })
  }
  for (const { serial, version, sessionID, parentID, directory, ancestors } of state.tombstones.values()) {
    if (version <= since || !isInScope(scope, { id: sessionID, directory, ancestors })) continue
    rows.push({ row: { type: "removed", version, sessionID, parentID, directory }, serial })
  }
  return rows
}

function sessionsIn(state: PlainState, scope: Scope): PlainSession[] {
  const id = "sessionID" in scope ? scope.sessionID : "treeID" in scope ? scope.treeID : undefined
  if (id !== undefined) {
    const named = state.sessions.get(id)
    if ((!named || named.importing) && !state.tombstones.has(id)) throw noSession(id)
    if ("sessionID" in scope) return named ? [named] : []
  }
  return [...state.sessions.values()].filter(
    (session) =>
      !session.importing &&
      isInScope(scope, {
        id: session.info.id,
        directory: session.info.directory,
        ancestors: "treeID" in scope ? ancestors(state, session) : [],
      }),
  )
}

function isInScope(scope: Scope, session: { id: string; directory: string; ancestors: string[] }): boolean {
  if ("sessionID" in scope) return session.id === scope.sessionID
  if ("directory" in scope) return session.directory === scope.directory
  return session.id === scope.treeID || session.ancestors.includes(scope.treeID)
}

/**
 * Returns the rows of one session that are newer than `since`. Only permission requests are in order. Nested values are
 * not copied.
 */
export function changedRows(session: PlainSession, since: number): Row[] {
  if (session.newest <= since) return []
  const sessionID = session.info.id
  const rows: Row[] = []
  if (session.version > since) {
    rows.push({ type: "session", version: session.version, sessionID, session: sessionInfo(session) })
  }
  const moves = new Map<number, number>()
  for (const { version, keep } of session.moves) {
    if (version > since) moves.set(version, Math.min(keep, moves.get(version) ?? keep))
  }
  // One row for each move, so that a page that ends between two moves loses neither.
  for (const [version, keep] of moves) {
    rows.push({ type: "history", version, sessionID, epoch: session.epoch, keep })
  }
  // A message changes only while it is the last one, so versions never decrease along the history.
  for (let position = session.messages.length - 1; position >= session.base; position--) {
    const message = session.messages[position]!
    if (newestVersion(message) <= since) break
    rows.push(...messageRows({ sessionID, message, position }, since))
  }
  for (const { writer, at: _at, ...note } of newestNotes(session.notes)) {
    if (writer === sessionID && note.version > since) rows.push({ type: "note", sessionID, ...note })
  }
  if (session.todosVersion > since) {
    rows.push({ type: "todos", version: session.todosVersion, sessionID, todos: session.todos })
  }
  for (const { request, version } of session.permissions) {
    if (version > since) rows.push({ type: "permission", version, sessionID, request })
  }
  if (session.inboxVersion > since) {
    rows.push({ type: "inbox", version: session.inboxVersion, sessionID, items: session.inbox })
  }
  return rows
}

function messageRows(
  at: { sessionID: string; message: PlainMessage; position: number },
  since: number,
): Row[] {
  const { sessionID, message, position } = at
  const messageID = message.body.id
  const rows: Row[] = []
  if (message.version > since) {
    rows.push({
      type: "message",
      version: message.version,
      sessionID,
      position,
      sealed: message.sealed,
      parts: message.parts.length,
      message: { ...message.body, sessionID },
    })
  }
  message.parts.forEach(({ body, version, pieces }, index) => {
    if (version > since) {
      rows.push({
        type: "part",
        version,
        sessionID,
        position,
        index,
        part: { ...body, sessionID, messageID },
      })
    }
    const field = growingField(body)
    for (const piece of pieces) {
      if (piece.version <= since || field === undefined) continue
      rows.push({ type: "piece", sessionID, position, index, messageID, partID: body.id, field, ...piece })
    }
  })
  return rows
}
