import type { NewSession, Session } from "../../../protocol/index.ts"
import { toPico } from "../../../session/usage/cost.ts"
import { addTokens } from "../../../session/usage/tokens.ts"
import type { OpOf } from "../../commit.ts"
import {
  keyTaken,
  messageTaken,
  moveWhileOpen,
  noLeftTail,
  noPart,
  notImporting,
  segmentTaken,
  sessionTaken,
  shareTaken,
} from "../../refusals.ts"
import type { Value } from "../connection/database.ts"
import { findLocation, locateMessage } from "../read/locate.ts"
import type { Head } from "../read/segments.ts"
import { decodeID, encodeID } from "../rows/id-codec.ts"
import { packTokens, parseStored, unpackTokens } from "../rows/message-rows.ts"
import {
  insertSession,
  patchColumns,
  patchData,
  readSessionData,
  type SessionData,
  shareKey,
  writeSessionData,
} from "../rows/session-rows.ts"
import { appendTo } from "./apply-message.ts"
import { type CommitWrite, markChanged, requirePublished } from "./commit-write.ts"
import type { OpenTail } from "./open-tail.ts"

interface SessionToCreate {
  session: NewSession
  segment: string
  importing: boolean
  epoch: number
  forkedFrom?: Session["forkedFrom"]
  base?: Head
}

export function createSession(write: CommitWrite, op: OpOf<"session.create">): void {
  addSession(write, { session: op.session, segment: op.segment, importing: op.importing === true, epoch: 0 })
}

function addSession(write: CommitWrite, making: SessionToCreate): OpenTail {
  const { db, dictionary, segments } = write
  const { session } = making
  refuseTaken(write, session.id, making.segment)
  refuseTakenKey(write, session.agent, session.key)
  refuseTakenShare(write, session.share)
  const parent =
    session.parentID === undefined ? null : requirePublished(write.tails.get(session.parentID)).key
  const key = insertSession(db, dictionary, {
    session,
    parent,
    importing: making.importing,
    version: write.version,
    epoch: making.epoch,
    forkedFrom: making.forkedFrom,
  })
  const segment = segments.create({
    id: making.segment,
    session: key,
    parent: making.base,
    version: write.version,
    created: write.nowMs,
  })
  const count = making.base?.count ?? 0
  db.run("UPDATE sessions SET segment = ?, count = ? WHERE key = ?", segment, count, key)
  if (making.epoch > 0)
    db.run("INSERT INTO epochs (session, version, keep) VALUES (?, ?, 0)", key, write.version)
  if (!making.importing) queueTitle(write, key)
  const tail: OpenTail = {
    key,
    id: session.id,
    seq: 0,
    fence: 0,
    expires: 0,
    importing: making.importing,
    segment,
    count,
    updated: session.time.updated,
    hasRevertMark: false,
    open: undefined,
    checkedIn: 0,
  }
  write.tails.add(tail)
  write.changed.push(tail)
  write.created ??= new Set()
  write.created.add(session.id)
  return tail
}

function queueTitle(write: CommitWrite, key: number): void {
  write.db.run("INSERT OR IGNORE INTO untitled (session) VALUES (?)", key)
  write.needsIndexing = true
}

function refuseTaken(write: CommitWrite, sessionID: string, segmentID: string): void {
  const id = encodeID(sessionID)
  const taken = write.db.get(
    "SELECT 1 FROM sessions WHERE id = ? UNION ALL SELECT 1 FROM removed WHERE id = ?",
    id,
    id,
  )
  if (taken) {
    throw sessionTaken(sessionID)
  }
  if (write.db.get("SELECT 1 FROM segments WHERE id = ?", encodeID(segmentID))) {
    throw segmentTaken(segmentID)
  }
}

function refuseTakenKey(
  write: CommitWrite,
  agent: string | undefined,
  key: string | undefined,
  own?: number,
): void {
  if (key === undefined) return
  const agentKey = agent === undefined ? 0 : (write.dictionary.find(agent) ?? -1)
  const row = write.db.get(
    "SELECT key, id FROM sessions WHERE name = ? AND ifnull(agent, 0) = ?",
    key,
    agentKey,
  )
  if (row === undefined || row[0] === own) return
  throw keyTaken(key, decodeID("session", row[1]))
}

function refuseTakenShare(write: CommitWrite, share: Session["share"] | null, own?: number): void {
  const hash = shareKey(share)
  const row = hash && write.db.get("SELECT key, id FROM sessions WHERE share = ?", hash)
  if (row && row[0] !== own) throw shareTaken(decodeID("session", row[1]))
}

export function publishSession(write: CommitWrite, op: OpOf<"session.publish">): void {
  const tail = markChanged(write, op.sessionID)
  if (!tail.importing) throw notImporting(tail.id)
  tail.importing = false
  write.db.run(
    "UPDATE sessions SET importing = 0, epoch = 1, version = ? WHERE key = ?",
    write.version,
    tail.key,
  )
  write.db.run("INSERT INTO epochs (session, version, keep) VALUES (?, ?, 0)", tail.key, write.version)
  write.db.run("UPDATE todos SET version = ? WHERE session = ?", write.version, tail.key)
  write.db.run("UPDATE permissions SET version = ? WHERE session = ?", write.version, tail.key)
  queueTitle(write, tail.key)
}

export function patchSession(write: CommitWrite, op: OpOf<"session.patch">): void {
  const tail = markChanged(write, op.sessionID)
  const { db, dictionary } = write
  const set = op.set ?? {}
  if (set.revert) checkRevertMark(write, tail, set.revert)
  const columns: [string, Value][] = patchColumns(set, dictionary)
  if (set.agent !== undefined || set.key !== undefined) checkKeyAfterPatch(write, tail, set)
  if (set.share) refuseTakenShare(write, set.share, tail.key)
  if (op.add) columns.push(...addUsage(write, tail, op.add))
  columns.push(["version", write.version])
  if (set.title !== undefined && !tail.importing) queueTitle(write, tail.key)
  const assignments = columns.map(([name]) => `${name} = ?`).join(", ")
  db.run(`UPDATE sessions SET ${assignments} WHERE key = ?`, ...columns.map(([, value]) => value), tail.key)
  const data = patchData(() => readSessionData(db, tail.key), set)
  if (data) writeSessionData(db, tail.key, data)
  if (set.time?.updated !== undefined) tail.updated = set.time.updated
  if (set.revert !== undefined) tail.hasRevertMark = set.revert !== null
}

function checkRevertMark(write: CommitWrite, tail: OpenTail, mark: NonNullable<SessionData["revert"]>): void {
  const { segment, position } = locateMessage(write, tail, mark.messageID)
  if (mark.partID === undefined) return
  const part = write.db.get(
    "SELECT 1 FROM parts WHERE segment = ? AND position = ? AND id = ?",
    segment,
    position,
    encodeID(mark.partID),
  )
  if (!part) throw noPart(mark.messageID, mark.partID)
}

function checkKeyAfterPatch(
  write: CommitWrite,
  tail: OpenTail,
  set: { agent?: string | null; key?: string | null },
): void {
  const row = write.db.get("SELECT agent, name FROM sessions WHERE key = ?", tail.key)!
  const presentAgent = row[0] === null ? undefined : write.dictionary.text(row[0] as number)
  const agent = set.agent === undefined ? presentAgent : (set.agent ?? undefined)
  const key = set.key === undefined ? ((row[1] ?? undefined) as string | undefined) : (set.key ?? undefined)
  refuseTakenKey(write, agent, key, tail.key)
}

function addUsage(
  write: CommitWrite,
  tail: OpenTail,
  add: NonNullable<OpOf<"session.patch">["add"]>,
): [string, Value][] {
  const row = write.db.get("SELECT cost, tokens FROM sessions WHERE key = ?", tail.key)!
  const columns: [string, Value][] = []
  if (add.cost !== undefined) columns.push(["cost", String(BigInt(row[0] as string) + toPico(add.cost))])
  if (add.tokens) {
    const tokens = unpackTokens(parseStored(row[1], `Session ${tail.id}`) as number[])
    columns.push(["tokens", JSON.stringify(packTokens(addTokens(tokens, add.tokens)))])
  }
  return columns
}

export function forkSession(write: CommitWrite, op: OpOf<"session.fork">): void {
  const { db, dictionary } = write
  const source = requirePublished(write.tails.get(op.sourceID))
  const data = readSessionData(db, source.key)
  const head =
    op.left === undefined ? visibleHead(write, source, data) : leftHead(write, source, data, op.left)
  if (op.messageID !== undefined) {
    head.count = Math.min(
      head.count,
      locateMessage(write, { ...head, count: head.fullCount, id: source.id }, op.messageID).position,
    )
  }
  const row = db.get("SELECT project, directory, agent FROM sessions WHERE key = ?", source.key)!
  const inherited = {
    projectID: dictionary.text(row[0] as number),
    directory: dictionary.text(row[1] as number),
    agent: row[2] === null ? undefined : dictionary.text(row[2] as number),
    model: data.model,
    permission: data.permission,
    maxHistory: data.maxHistory,
  }
  const forkedFrom: Session["forkedFrom"] = { sessionID: source.id }
  if (op.messageID !== undefined) forkedFrom.messageID = op.messageID
  const tail = addSession(write, {
    session: { ...inherited, ...definedFields(op.session) } as NewSession,
    segment: op.segment,
    importing: false,
    epoch: 1,
    forkedFrom,
    base: { segment: head.segment, count: head.count },
  })
  if (op.tail) appendSealed(write, tail, op.tail)
}

/** Drops fields that are explicitly undefined, so that they do not hide inherited values. */
function definedFields<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/**
 * The history that a fork may share: sealed messages that the source's revert mark does not hide. `fullCount` includes
 * the hidden and open messages.
 */
function visibleHead(write: CommitWrite, source: OpenTail, data: SessionData): Head & { fullCount: number } {
  let count = source.open ? source.count - 1 : source.count
  if (data.revert) count = Math.min(count, locateMessage(write, source, data.revert.messageID).position)
  return { segment: source.segment, count, fullCount: source.count }
}

function leftHead(
  write: CommitWrite,
  source: OpenTail,
  data: SessionData,
  left: string,
): Head & { fullCount: number } {
  const tail = data.left?.find((entry) => entry.segment === left)
  const key = write.db.get("SELECT key FROM segments WHERE id = ?", encodeID(left))?.[0] as number | undefined
  if (!tail || key === undefined) {
    throw noLeftTail(source.id, left)
  }
  return { segment: key, count: tail.count, fullCount: tail.count }
}

export function moveHistory(write: CommitWrite, op: OpOf<"history.move">): void {
  const { db, segments } = write
  const tail = markChanged(write, op.sessionID)
  if (tail.open) {
    throw moveWhileOpen(tail.open.id)
  }
  const { position: keep } = locateMessage(write, tail, op.messageID)
  const data = readSessionData(db, tail.key)
  const left = decodeID("segment", db.get("SELECT id FROM segments WHERE key = ?", tail.segment)?.[0])
  if (db.get("SELECT 1 FROM segments WHERE id = ?", encodeID(op.segment))) {
    throw segmentTaken(op.segment)
  }
  const dropped = lowestDroppedNote(write, tail, keep)
  const segment = segments.create({
    id: op.segment,
    session: tail.key,
    parent: { segment: tail.segment, count: keep },
    version: write.version,
    created: write.nowMs,
  })
  const next: SessionData = {
    ...data,
    left: [...(data.left ?? []), { segment: left, keep, count: tail.count }],
  }
  delete next.revert
  writeSessionData(db, tail.key, next)
  tail.segment = segment
  tail.count = keep
  tail.hasRevertMark = false
  db.run(
    "UPDATE sessions SET segment = ?, count = ?, marked = 0, epoch = epoch + 1, version = ? WHERE key = ?",
    segment,
    keep,
    write.version,
    tail.key,
  )
  db.run(
    `INSERT INTO epochs (session, version, keep) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET keep = min(keep, excluded.keep)`,
    tail.key,
    write.version,
    Math.min(keep, dropped),
  )
  if (op.tail) appendSealed(write, tail, op.tail)
}

/**
 * Returns the lowest position with a note that was written after the kept messages. Replicas must read messages from
 * there on again.
 */
function lowestDroppedNote(write: CommitWrite, head: Head, keep: number): number {
  let lowest = keep
  for (const { segment, atMax, versionMax } of write.segments.notesBack(head, keep)) {
    const row = write.db.get(
      "SELECT min(position) FROM notes WHERE segment = ? AND at > ? AND at <= ? AND version <= ? AND position < ?",
      segment,
      keep,
      atMax,
      versionMax,
      keep,
    )
    if (typeof row?.[0] === "number") lowest = Math.min(lowest, row[0])
  }
  return lowest
}

function appendSealed(
  write: CommitWrite,
  tail: OpenTail,
  entry: NonNullable<OpOf<"history.move">["tail"]>,
): void {
  if (findLocation(write, tail, entry.message.id)) {
    throw messageTaken(tail.id, entry.message.id)
  }
  appendTo(write, tail, { ...entry, sealed: true })
}
