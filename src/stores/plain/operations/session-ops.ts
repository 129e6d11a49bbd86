import { noTokens } from "../../../protocol/index.ts"
import { addCost } from "../../../session/usage/cost.ts"
import { addTokens } from "../../../session/usage/tokens.ts"
import type { OpOf } from "../../commit.ts"
import { keyTaken, noPart, notImporting, segmentTaken, sessionTaken, shareTaken } from "../../refusals.ts"
import type { Change } from "../change.ts"
import {
  keyName,
  namesOf,
  type PlainMessage,
  type PlainNote,
  type PlainSession,
  type PlainState,
  type SessionFields,
  shareName,
} from "../model.ts"
import { findPosition, findSession, findVisible } from "../read/find.ts"
import { copyJson } from "../read/json.ts"

export function createSession(change: Change, op: OpOf<"session.create">, options: { nowMs: number }): void {
  addSession(change, {
    info: { ...op.session, cost: 0, tokens: noTokens() },
    segment: op.segment,
    importing: op.importing ?? false,
    nowMs: options.nowMs,
  })
}

export interface SessionToCreate {
  info: SessionFields
  segment: string
  importing: boolean
  nowMs: number
  /** The messages and notes that a fork shares with its source. */
  messages?: PlainMessage[]
  notes?: PlainNote[]
}

/** Adds a new session to the state. `conflict` if its id, key, share secret or segment is taken. */
export function addSession(change: Change, start: SessionToCreate): PlainSession {
  const { state } = change
  const messages = start.messages ?? []
  checkNew(state, start)
  const session: PlainSession = {
    info: copyJson(start.info),
    version: change.version,
    newest: change.version,
    seq: 0,
    serial: change.nextSerial(),
    begun: start.nowMs,
    importing: start.importing,
    segment: start.segment,
    epoch: 0,
    messages,
    positions: new Map(messages.map((message, position) => [message.body.id, position])),
    base: messages.length,
    notes: start.notes ?? [],
    left: [],
    moves: [],
    todos: [],
    todosVersion: 0,
    permissions: [],
    inbox: [],
    inboxVersion: 0,
    taken: new Map(),
    fence: 0,
    lease: undefined,
  }
  for (const name of namesOf(session.info)) change.undo.mapSet(state.names, name, session.info.id)
  change.undo.setAdd(state.segments, start.segment)
  change.undo.mapSet(state.sessions, session.info.id, session)
  const changed = change.markChanged(session)
  changed.created = true
  changed.sessionRow = true
  return session
}

function checkNew(state: PlainState, start: SessionToCreate): void {
  const { id, parentID } = start.info
  if (state.sessions.has(id) || state.tombstones.has(id)) throw sessionTaken(id)
  checkNames(state, start.info)
  checkSegment(state, start.segment)
  if (parentID !== undefined) findVisible(state, parentID)
}

export function checkSegment(state: PlainState, segment: string): void {
  if (!state.segments.has(segment)) return
  throw segmentTaken(segment)
}

function checkNames(state: PlainState, info: SessionFields): void {
  const key = keyName(info)
  const secret = info.share?.secret
  const keyOwner = key === undefined ? undefined : state.names.get(key)
  if (keyOwner !== undefined && keyOwner !== info.id) throw keyTaken(info.key!, keyOwner)
  const shareOwner = secret === undefined ? undefined : state.names.get(shareName(secret))
  if (shareOwner !== undefined && shareOwner !== info.id) throw shareTaken(shareOwner)
}

export function publishSession(change: Change, op: OpOf<"session.publish">): void {
  const session = findSession(change.state, op.sessionID)
  if (!session.importing) throw notImporting(op.sessionID)
  const changed = change.markChanged(session)
  changed.published = true
  change.undo.set(session, "importing", false)
  change.moveHistory(session, 0)
  // A replica whose cursor is already past these rows never saw them, so they count as changed now.
  if (session.todosVersion > 0) {
    changed.todos = true
    change.undo.set(session, "todosVersion", change.version)
  }
  for (const permission of session.permissions) {
    changed.permissions.add(permission.request.id)
    change.undo.set(permission, "version", change.version)
  }
}

export function patchSession(change: Change, op: OpOf<"session.patch">): void {
  const session = findSession(change.state, op.sessionID)
  const { time, ...fields } = op.set ?? {}
  const info = merge(session.info, fields)
  if (time) info.time = merge(session.info.time, time)
  if (op.add?.cost !== undefined) info.cost = addCost(info.cost, op.add.cost)
  if (op.add?.tokens) info.tokens = addTokens(info.tokens, op.add.tokens)
  if (fields.revert) checkRevertMark(session, fields.revert)
  checkNames(change.state, info)
  moveNames(change, session, info)
  change.changeInfo(session)
  change.undo.set(session, "info", info)
}

/** Returns the fields with the patch applied. `null` removes a field. */
function merge<T extends object>(fields: T, patch: object): T {
  const merged = { ...fields } as Record<string, unknown>
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else if (value !== undefined) merged[name] = value
  }
  return merged as T
}

function checkRevertMark(session: PlainSession, mark: { messageID: string; partID?: string }): void {
  const message = session.messages[findPosition(session, mark.messageID)]!
  if (mark.partID === undefined || message.parts.some((part) => part.body.id === mark.partID)) return
  throw noPart(mark.messageID, mark.partID)
}

function moveNames({ state, undo }: Change, session: PlainSession, info: SessionFields): void {
  const before = namesOf(session.info)
  const after = namesOf(info)
  for (const name of before) if (!after.includes(name)) undo.mapDelete(state.names, name)
  for (const name of after) if (!before.includes(name)) undo.mapSet(state.names, name, info.id)
}

export function putTodos(change: Change, op: OpOf<"todos.put">): void {
  const session = findSession(change.state, op.sessionID)
  change.markChanged(session).todos = true
  change.undo.set(session, "todos", op.todos)
  change.undo.set(session, "todosVersion", change.version)
}

export function putPermission(change: Change, { request }: OpOf<"permission.put">): void {
  const session = findSession(change.state, request.sessionID)
  change.markChanged(session).permissions.add(request.id)
  const known = session.permissions.find((permission) => permission.request.id === request.id)
  if (!known) {
    const serial = change.nextSerial()
    change.undo.push(session.permissions, { request, version: change.version, serial })
    return
  }
  change.undo.set(known, "request", request)
  change.undo.set(known, "version", change.version)
}
